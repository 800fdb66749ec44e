"""AI streams through a real server: events, timing and the end of the upstream call."""

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.resources.ai.streams import kinds, parts, text
from tests.serving.processes import GUNICORN, Service, running_prepared
from tests.support.doubles.ai import AiDouble, say

ASK = {"prompt": "Write about tea"}

BEFORE_COMMENT_S = 8
"""A limit below the interval of the keep-alive comments. The first failed write would end a call later."""


@pytest.fixture(scope="module")
def double() -> Iterator[AiDouble]:
    with AiDouble() as made:
        yield made


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, double: AiDouble) -> Iterator[Service]:
    """Run the server. The last test ends it. No test needs a job."""
    environment = {
        "AI_PROVIDER": "openai",
        "AI_MODEL": "m",
        "OPENAI_BASE_URL": double.url,
        "OPENAI_API_KEY": "operator",
        "SANDBOX_DRIVER": "none",
    }
    with running_prepared(tmp_path_factory.mktemp("ai"), (GUNICORN,), **environment) as service:
        yield service


@pytest.fixture(autouse=True)
def fresh(double: AiDouble) -> None:
    double.fault, double.fault_after, double.script = None, 0, [say("Hel", "lo")]
    double.asked.clear()


class Reader:
    """A signed-in client that reads a stream while it arrives."""

    def __init__(self, service: Service) -> None:
        self.port = service.port
        self.connections: list[http.client.HTTPConnection] = []
        password = (service.home / "instance" / "demo_password").read_text().strip()
        answer = self.post("/api/v1/auth/sign-in/email", {"email": "owner@demo.example.org", "password": password}, {})
        self.cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
        answer.read()

    def post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
        self.connection = self.connect()
        sent = {"Cookie": self.cookie} if headers is None else headers
        self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **sent})
        return self.connection.getresponse()

    def leave_after(
        self, path: str, body: Any, asked: Callable[[], bool], headers: dict[str, str] | None = None
    ) -> None:
        """Send a request, wait until the provider has received it, and disconnect without reading."""
        connection = self.connect()
        sent = {"Content-Type": "application/json", "Cookie": self.cookie, **(headers or {})}
        connection.request("POST", path, json.dumps(body), sent)
        wait_for(asked)
        connection.close()

    def project(self) -> str:
        user = self.get("/api/v1/auth/get-session")["user"]["id"]
        return str(self.get(f"/api/v1/project/user/{user}")[0]["project_id"])

    def get(self, path: str) -> Any:
        connection = self.connect()
        connection.request("GET", path, headers={"Cookie": self.cookie})
        result = json.loads(connection.getresponse().read())["result"]
        connection.close()
        return result

    def connect(self) -> http.client.HTTPConnection:
        made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        self.connections.append(made)
        return made

    def close(self) -> None:
        for connection in self.connections:
            connection.close()

    def ask(self) -> http.client.HTTPResponse:
        answer = self.post("/api/ai/command", ASK)
        assert answer.status == 200, answer.read()
        return answer

    def running(self) -> int:
        return int(self.get("/api/v1/ai/usage")["running"])


@pytest.fixture
def reader(service: Service) -> Iterator[Reader]:
    with contextlib.closing(Reader(service)) as made:
        yield made


def read_until(answer: http.client.HTTPResponse, wanted: bytes) -> bytes:
    read = b""
    while wanted not in read:
        piece = answer.read1(65536)
        assert piece, read
        read += piece
    return read


def wait_for(condition: Callable[[], bool], within_s: float = 120) -> None:
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


COMMIT = {"diff": "--- a/x\n+++ b/x\n"}
JSON_CALLS = [
    ("/api/ai/commit", COMMIT, {}),
    ("/api/ai/copilot", {"prompt": "The quick"}, {}),
    ("/api/ai/metadata", {"content": "# Tea"}, {}),
    ("/api/ai/seo-fix", {"content": "# Tea", "issues": [{"id": "t", "message": "No title"}]}, {}),
    ("/api/ai/code-edit", {"code": "a\n", "instruction": "b"}, {"Accept": "application/json"}),
]


class TestDisconnects:
    """Disconnects: the upstream call ends within a second in every phase."""

    @pytest.mark.parametrize(("path", "body", "headers"), [*JSON_CALLS, ("/api/ai/command", ASK, {})])
    def test_disconnect_before_the_first_token_ends_the_call(
        self, reader: Reader, double: AiDouble, path: str, body: Any, headers: dict[str, str]
    ) -> None:
        double.fault = "silent"
        reader.leave_after(path, body, lambda: len(double.asked) == 1, headers)
        double.wait_closed(double.last, BEFORE_COMMENT_S)
        wait_for(lambda: reader.running() == 0, BEFORE_COMMENT_S)

    @pytest.mark.parametrize("fault", ["endless", "stall"])
    @pytest.mark.parametrize(("path", "body", "headers"), JSON_CALLS)
    def test_disconnect_while_a_json_reply_is_collected_ends_the_call(
        self, reader: Reader, double: AiDouble, path: str, body: Any, headers: dict[str, str], fault: str
    ) -> None:
        double.script, double.fault = [say("a", "b", "c")], fault
        reader.leave_after(path, body, lambda: bool(double.asked) and double.last.sent >= 3, headers)
        double.wait_closed(double.last, BEFORE_COMMENT_S)
        wait_for(lambda: reader.running() == 0, BEFORE_COMMENT_S)

    def test_disconnect_during_a_repeated_request_ends_the_call(self, reader: Reader, double: AiDouble) -> None:
        double.script, double.fault, double.fault_after = [say("no JSON")], "silent", 1
        reader.leave_after("/api/ai/commit", COMMIT, lambda: len(double.asked) == 2)
        double.wait_closed(double.last, BEFORE_COMMENT_S)

    @pytest.mark.parametrize("fault", ["silent", "stall", "endless"])
    def test_disconnect_during_a_later_tool_round_ends_the_call(
        self, reader: Reader, double: AiDouble, fault: str
    ) -> None:
        double.script = [say("Let me look.", calls=[("search_files", {"query": "a"})]), say("a", "b", "c")]
        double.fault, double.fault_after = fault, 1
        body = {"projectId": reader.project(), "messages": [{"role": "user", "parts": [{"type": "text", "text": "?"}]}]}
        reader.leave_after("/api/ai/chat", body, lambda: len(double.asked) == 2)
        double.wait_closed(double.last, BEFORE_COMMENT_S)
        wait_for(lambda: reader.running() == 0, BEFORE_COMMENT_S)
        assert len(double.asked) == 2


class TestStream:
    def test_stream_delivers_the_first_text_before_the_last(self, reader: Reader, double: AiDouble) -> None:
        double.script = [say("one ", "two ", "three", pause_s=0.5)]
        start = time.monotonic()
        answer = reader.ask()
        first = read_until(answer, b"one ")
        first_s = time.monotonic() - start
        whole = first + answer.read()
        assert text(parts(whole)) == "one two three"
        assert first_s < time.monotonic() - start - 0.7
        assert answer.getheader("Content-Type") == "text/event-stream"
        assert answer.getheader("Content-Encoding") is None

    def test_connection_serves_the_next_request(self, reader: Reader) -> None:
        reader.ask().read()
        reader.connection.request("GET", "/healthz")
        assert reader.connection.getresponse().status == 200

    def test_disconnect_during_text_ends_the_call(self, reader: Reader, double: AiDouble) -> None:
        double.fault = "endless"
        answer = reader.ask()
        read_until(answer, b"x ")
        answer.close()
        reader.connection.close()
        double.wait_closed(double.last, BEFORE_COMMENT_S)
        assert reader.running() == 0

    def test_disconnect_during_silence_ends_the_call_before_the_next_comment(
        self, reader: Reader, double: AiDouble
    ) -> None:
        double.script, double.fault = [say("a", "b", "c")], "stall"
        answer = reader.ask()
        read_until(answer, b'"a"')
        answer.close()
        reader.connection.close()
        double.wait_closed(double.last, BEFORE_COMMENT_S)
        assert reader.running() == 0

    def test_silence_sends_comments_and_ends_with_an_error(self, reader: Reader, double: AiDouble) -> None:
        double.script, double.fault = [say("a", "b", "c")], "stall"
        answer = reader.ask()
        commented = read_until(answer, b":\n")
        assert b'"error"' not in commented
        assert kinds(parts(commented + answer.read()))[-1] == "error"

    def test_other_requests_are_served_during_streams(self, service: Service, reader: Reader, double: AiDouble) -> None:
        double.fault = "endless"
        readers = [Reader(service) for _ in range(4)]
        answers = [each.ask() for each in readers]
        for answer in answers:
            read_until(answer, b"x ")
        for _ in range(20):
            assert reader.running() == 4
        for answer in answers:
            read_until(answer, b"x ")
            answer.close()
        for each in readers:
            each.close()
        wait_for(lambda: reader.running() == 0)


class TestShutdown:
    def test_streams_end_with_an_error_part_and_the_service_within_thirty_seconds(
        self, service: Service, reader: Reader, double: AiDouble
    ) -> None:
        double.fault = "endless"
        answer = reader.ask()
        first = read_until(answer, b"x ")
        service.terminate()
        found = parts(first + answer.read())
        assert kinds(found)[-1] == "error"
        assert "restarting" in found[-1]["errorText"]
        service.process.wait(30)
        double.wait_closed(double.last, BEFORE_COMMENT_S)
