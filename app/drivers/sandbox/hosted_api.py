"""The wire format of E2B's sandbox service (its `spec/openapi.yml` and `spec/envd`): microVMs, their files, processes.

Knows neither sites nor recipes. The service's own API is reached with the operator's key, a microVM with the token
that it was made with.
"""

import base64
import ipaddress
import json
import secrets
import socket
import ssl
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from app.drivers.errors import Absent, Broken, Rejected, Throttled
from app.drivers.http import Answer, HttpClient
from app.drivers.sandbox.port import SandboxGone, SandboxUnavailable

ENVD_PORT = 49983
USER = "user"
PAGE = 100
CONNECT_TIMEOUT_S = 10
END_OF_STREAM = 0b10
GATEWAY_GONE = frozenset((404, 502))
"""How the service's gateway answers for a microVM that is not there (any more)."""


@dataclass(frozen=True)
class Machine:
    """A microVM and what opens it."""

    id: str
    envd_token: str
    traffic_token: str
    domain: str


class Api:
    """Calls for one account."""

    def __init__(self, url: str, key: str, *, domain: str | None, http: HttpClient) -> None:
        self._url, self._key, self._http = url, key, http
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        # A single machine that serves everything tells microVMs apart by the Host header alone.
        self._gateway = (parts.hostname or "", parts.port or 80) if _is_address(parts.hostname or "") else None
        self._domain = domain or (parts.hostname or "").removeprefix("api.")
        self._known: dict[str, Machine] = {}

    def create(
        self, template: str, *, timeout_s: int, metadata: Mapping[str, str], network: Mapping[str, Any]
    ) -> Machine:
        """Make a microVM; public traffic needs a token."""
        wanted = {"templateID": template, "timeout": timeout_s, "secure": True}
        wanted |= {"metadata": dict(metadata), "network": dict(network)}
        return self._remember(self._call("POST", "/sandboxes", wanted).json())

    def machine(self, machine_id: str) -> Machine:
        """The microVM with its tokens; asking extends no life. Raises SandboxGone."""
        known = self._known.get(machine_id)
        return known or self._remember(
            self._call("POST", f"/sandboxes/{quote(machine_id)}/connect", {"timeout": 1}).json()
        )

    def exists(self, machine_id: str) -> bool:
        """Whether the service still has it."""
        try:
            self._call("GET", f"/sandboxes/{quote(machine_id)}")
        except SandboxGone:
            self._known.pop(machine_id, None)
            return False
        return True

    def set_timeout(self, machine_id: str, timeout_s: int) -> None:
        """Let it live that long from now. Raises SandboxGone."""
        self._call("POST", f"/sandboxes/{quote(machine_id)}/timeout", {"timeout": timeout_s})

    def close_network(self, machine_id: str) -> None:
        """Deny every way out."""
        self._call("PUT", f"/sandboxes/{quote(machine_id)}/network", {"allow_internet_access": False})

    def kill(self, machine_id: str) -> None:
        """End it. Raises SandboxGone when there is none."""
        self._known.pop(machine_id, None)
        self._call("DELETE", f"/sandboxes/{quote(machine_id)}")

    def all_with(self, metadata: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
        """The ids of all that carry these words, each with all of its words, page by page."""
        query = {"metadata": urlencode(metadata), "limit": str(PAGE)}
        for _ in range(1000):
            answer = self._call("GET", f"/v2/sandboxes?{urlencode(query)}")
            yield from ((str(each["sandboxID"]), each.get("metadata") or {}) for each in answer.json())
            token = answer.headers.get("X-Next-Token")
            if not token:
                return
            query["nextToken"] = token

    def upload(self, machine: Machine, path: str, content: bytes) -> None:
        """Write a file, below the user's home unless the path is absolute. Raises SandboxGone, Rejected."""
        boundary = secrets.token_hex(16)
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\nContent-Type: application/octet-stream\r\n\r\n'
        body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        answer = self._envd(machine, "POST", _file(path), kind, body)
        if answer.status == 507:
            raise Rejected("The site is larger than a sandbox's disk")
        if answer.status != 200:
            raise Rejected("The file could not be written")

    def download(self, machine: Machine, path: str) -> bytes | None:
        """A file's bytes; None when it is not there. Raises SandboxGone."""
        answer = self._envd(machine, "GET", _file(path), {}, None)
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise Broken(f"The sandbox service answered {answer.status}")
        return answer.body

    def run(self, machine: Machine, command: str, environment: Mapping[str, str]) -> None:
        """Run a short shell command to its end, over Connect's streaming JSON."""
        process = {"cmd": "/bin/sh", "args": ["-c", command], "envs": dict(environment)}
        message = json.dumps({"process": process, "stdin": False}).encode()
        kind = {"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}
        answer = self._envd(
            machine, "POST", "/process.Process/Start", kind, struct.pack(">BI", 0, len(message)) + message
        )
        if answer.status != 200:
            raise Broken(f"The sandbox service answered {answer.status}")
        for flags, told in _messages(answer.body):
            end = told.get("event", {}).get("end", {})
            if (flags & END_OF_STREAM and "error" in told) or end.get("exitCode", 0) != 0:
                raise Broken("The sandbox could not start its program")

    def open(self, machine: Machine, port: int) -> tuple[socket.socket, str]:
        """A connection to a port of it, and the host name to ask for there."""
        name = _host(machine, port)
        try:
            if self._gateway is not None:
                return socket.create_connection(self._gateway, CONNECT_TIMEOUT_S), name
            usual = 443 if self._secure else 80
            place = urlsplit(f"//{name}")
            plain = socket.create_connection((place.hostname or "", place.port or usual), CONNECT_TIMEOUT_S)
            if not self._secure:
                return plain, name
            return ssl.create_default_context().wrap_socket(plain, server_hostname=place.hostname), name
        except OSError as error:
            raise Absent("The sandbox service cannot be reached") from error

    def _call(self, method: str, path: str, body: object = None) -> Answer:
        answer = self._http.send(method, self._url + path, headers={"X-API-Key": self._key}, json=body)
        if answer.status < 300:
            return answer
        if answer.status == 404:
            raise SandboxGone("The preview has ended")
        if answer.status in (401, 403):
            raise SandboxUnavailable("The sandbox service refuses this installation's key")
        if answer.status == 429:
            raise Throttled("The sandbox service has no room right now")
        raise Broken(f"The sandbox service answered {answer.status}")

    def _envd(self, machine: Machine, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Answer:
        name = _host(machine, ENVD_PORT)
        scheme = "https" if self._secure else "http"
        place = name if self._gateway is None else f"{self._gateway[0]}:{self._gateway[1]}"
        basic = base64.b64encode(f"{USER}:".encode()).decode()
        headers |= {"X-Access-Token": machine.envd_token, "Authorization": f"Basic {basic}", "Host": name}
        answer = self._http.send(method, f"{scheme}://{place}{path}", headers=headers, content=body)
        if answer.status in GATEWAY_GONE and not self.exists(machine.id):
            raise SandboxGone("The preview has ended")
        return answer

    def _remember(self, told: Any) -> Machine:
        try:
            made = Machine(
                str(told["sandboxID"]),
                str(told.get("envdAccessToken") or ""),
                str(told.get("trafficAccessToken") or ""),
                str(told.get("domain") or self._domain),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise Broken("The sandbox service answered with something else") from error
        self._known[made.id] = made
        return made


def _host(machine: Machine, port: int) -> str:
    return f"{port}-{machine.id}.{machine.domain}"


def _file(path: str) -> str:
    return f"/files?{urlencode({'path': path, 'username': USER})}"


def _messages(body: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    at = 0
    while at + 5 <= len(body):
        flags, length = struct.unpack_from(">BI", body, at)
        at += 5 + length
        yield flags, json.loads(body[at - length : at] or b"{}")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
