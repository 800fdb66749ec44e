"""Responses to requests that gunicorn refuses itself, on a real server."""

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.service import Service

KIB = 1024
LONG_ID = "request-12345678"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "server.log"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, log: Path) -> Iterator[Service]:
    environment = {"GUNICORN_CMD_ARGS": "--access-logfile=- --access-logformat='%(r)s %(s)s %(q)s'"}
    with (
        log.open("wb") as file,
        Service(tmp_path_factory.mktemp("service"), workers=1, log=file, **environment) as service,
    ):
        yield service


class Reply:
    """A response that was read to its end."""

    def __init__(self, data: bytes) -> None:
        head, _, self.body = data.partition(b"\r\n\r\n")
        line, *rows = head.decode("latin-1").split("\r\n")
        self.status = int(line.split(" ")[1])
        self.headers = {name.lower(): value for name, _, value in (row.partition(": ") for row in rows)}

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def exchange(service: Service, data: bytes) -> Reply:
    received = b""
    with socket.create_connection(("127.0.0.1", service.port), timeout=120) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(data)
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                received += piece
    return Reply(received)


def get(service: Service, url: str = "/healthz", *headers: str, method: str = "GET") -> Reply:
    head = [f"{method} {url} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers, "", ""]
    return exchange(service, "\r\n".join(head).encode("latin-1"))


class TestAccepted:
    def test_header_of_nine_kilobytes_is_accepted(self, service: Service) -> None:
        assert get(service, "/healthz", "X-Long: " + "a" * 9 * KIB).status == 200

    def test_url_of_eight_kibibytes_is_accepted(self, service: Service) -> None:
        assert get(service, "/healthz?a=" + "b" * (8 * KIB - len("/healthz?a="))).status == 200

    def test_headers_up_to_the_limit_are_accepted(self, service: Service) -> None:
        assert get(service, "/healthz", "X-Long: " + "a" * (16 * KIB - 100)).status == 200


class TestRefused:
    @pytest.mark.parametrize(
        ("url", "headers", "status", "code"),
        [
            ("/healthz?a=" + "b" * 8 * KIB, (), 414, "URL_TOO_LONG"),
            ("/healthz?a=" + "b" * 100 * KIB, (), 414, "URL_TOO_LONG"),
            ("/healthz", ("X-Long: " + "a" * 17 * KIB,), 431, "HEADERS_TOO_LARGE"),
            ("/healthz", tuple(f"X-{n}: " + "a" * 6 * KIB for n in range(3)), 431, "HEADERS_TOO_LARGE"),
            ("/healthz", tuple(f"X-{n}: " + "a" * 8 * KIB for n in range(30)), 431, "HEADERS_TOO_LARGE"),
            ("/healthz", tuple(f"X-{n}: a" for n in range(100)), 431, "HEADERS_TOO_LARGE"),
            ("/healthz", ("Bad Header: a",), 400, "INVALID_REQUEST"),
            ("/healthz", ("Expect: the-unexpected",), 417, "EXPECTATION_FAILED"),
            ("/healthz", ("Transfer-Encoding: gzip, chunked",), 501, "UNSUPPORTED_TRANSFER_CODING"),
            ("/healthz", ("Transfer-Encoding: identity, chunked",), 501, "UNSUPPORTED_TRANSFER_CODING"),
            ("/healthz", ("Transfer-Encoding: chunked", "Content-Length: 3"), 400, "INVALID_REQUEST"),
            ("/healthz", ("Content-Length: -1",), 400, "INVALID_REQUEST"),
            ("/healthz", ("Content-Length: 1.5",), 400, "INVALID_REQUEST"),
            ("/healthz", ("Content-Length: " + "9" * 20,), 413, "TOO_LARGE"),
            ("/healthz", ("Content-Length: " + "9" * 4000, "Expect: 100-continue"), 413, "TOO_LARGE"),
            ("/healthz", ("Content-Length: " + "9" * 5000,), 400, "INVALID_REQUEST"),
        ],
    )
    def test_refused_request_returns_the_envelope(
        self, service: Service, url: str, headers: tuple[str, ...], status: int, code: str
    ) -> None:
        reply = get(service, url, *headers)
        assert (reply.status, reply.json["statusCode"], reply.json["code"]) == (status, status, code)
        assert set(reply.json) == {"statusCode", "success", "message", "errorMessage", "code"}
        assert reply.json["success"] is False
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert len(reply.headers["x-request-id"]) >= 8

    @pytest.mark.parametrize(
        ("framing", "status"),
        [
            (f"Content-Length: {10**9}", 413),
            (f"Content-Length: {10**9}\r\nExpect: 100-continue", 413),
            ("Transfer-Encoding: chunked\r\n\r\n" + "f" * 12 + "\r\n{", 400),
        ],
        ids=["length", "expect", "chunked"],
    )
    def test_connection_of_a_refused_body_is_closed(self, service: Service, framing: str, status: int) -> None:
        head = "POST /api/v1/auth/sign-in/email HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        received = b""
        with socket.create_connection(("127.0.0.1", service.port), timeout=120) as connection:
            connection.sendall(f"{head}{framing}\r\n\r\n".encode())
            while piece := connection.recv(65536):
                received += piece
        reply = Reply(received.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n"))
        assert (reply.status, reply.headers["connection"]) == (status, "close")

    def test_preview_host_refuses_a_compressed_transfer_coding(self, service: Service) -> None:
        host = f"{'0' * 32}.preview.localhost"
        data = f"POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
        assert exchange(service, data.encode()).status == 501

    def test_invalid_bytes_return_the_envelope(self, service: Service) -> None:
        reply = exchange(service, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        assert (reply.status, reply.json["code"]) == (400, "INVALID_REQUEST")

    def test_request_id_of_the_client_is_returned(self, service: Service) -> None:
        reply = get(service, "/healthz", f"X-Request-Id: {LONG_ID}", "Transfer-Encoding: gzip, chunked")
        assert reply.headers["x-request-id"] == LONG_ID

    def test_service_answers_after_refused_requests(self, service: Service) -> None:
        assert get(service).status == 200


class TestLog:
    def test_log_contains_no_preview_token(self, service: Service, log: Path) -> None:
        get(service, "/?preview_token=SECRETVALUE")
        get(service, "/?preview_token=SECRETVALUE HTTP/1.1 x")
        get(service, "/?preview_token=SECRETVALUE", "Bad Header: a")
        get(service, "/?preview_token=SECRETVALUE&a=" + "b" * 9 * KIB)
        text = log.read_text(errors="replace")
        assert "preview_token=***" in text
        assert "SECRETVALUE" not in text

    def test_log_of_refused_requests_contains_no_traceback(self, service: Service, log: Path) -> None:
        get(service, "/healthz", "Content-Length: " + "9" * 20)
        assert "Traceback" not in log.read_text(errors="replace")
