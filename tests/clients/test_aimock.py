"""AI drivers with an independent server: the npm package `@copilotkit/aimock`."""

import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.drivers.ai.anthropic import Anthropic
from app.drivers.ai.openai_compatible import OpenAiCompatible
from app.drivers.ai.port import (
    Event,
    Message,
    MessageRole,
    Model,
    ModelAccess,
    Prompt,
    Stop,
    StopReason,
    TextDelta,
    TokenUsage,
    ToolCall,
    ToolDelta,
    ToolStart,
)
from app.drivers.errors import UpstreamError, UpstreamThrottled
from app.drivers.http.client import HttpClient
from app.drivers.http.streaming import StreamTimeouts
from app.resources.ai.tools import TOOLS
from tests.clients.node import packages
from tests.support.servers.ports import free_port

HERE = Path(__file__).parent / "ai-sdk"
CLI = "node_modules/@copilotkit/aimock/dist/cli.js"
MAKERS: dict[str, Callable[[str, HttpClient], Model]] = {
    "openai": lambda base, http: OpenAiCompatible(f"{base}/v1", http=http),
    "anthropic": lambda base, http: Anthropic(base, http=http),
}


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """Return the URL of the running server."""
    folder = packages(HERE)
    port = free_port()
    command = ["node", CLI, "-p", str(port), "-f", str(HERE / "fixtures.json"), "--strict", "--log-level", "silent"]
    process = subprocess.Popen([*command, "-c", "5"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _wait(url: str, process: "subprocess.Popen[bytes]", within_s: float = 120) -> None:
    until = time.monotonic() + within_s
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not start")


@pytest.fixture(params=MAKERS)
def model(request: pytest.FixtureRequest, base: str) -> Iterator[Model]:
    http = HttpClient()
    yield MAKERS[request.param](base, http)
    http.close()


def ask(model: Model, *messages: Message) -> list[Event]:
    answer = model.stream(
        Prompt("Be brief.", messages, 200, TOOLS), ModelAccess("gpt-4o", "test-key"), timeouts=StreamTimeouts()
    )
    return [event for batch in answer.batches() for event in batch]


def user(text: str) -> Message:
    return Message(MessageRole.USER, text)


class TestAimock:
    def test_reply_yields_the_complete_text_in_pieces(self, model: Model) -> None:
        events = ask(model, user("say hello"))
        pieces = [event.text for event in events if isinstance(event, TextDelta)]
        assert "".join(pieces) == "Hello from a server we did not write. Ünïcödé 🌍"
        assert len(pieces) > 3
        assert events[-1] == Stop(StopReason.STOP)
        assert any(event.output_tokens is not None for event in events if isinstance(event, TokenUsage))

    def test_tool_call_and_tool_result_are_exchanged(self, model: Model) -> None:
        events = ask(model, user("find tea"))
        start = next(event for event in events if isinstance(event, ToolStart))
        arguments = "".join(event.text for event in events if isinstance(event, ToolDelta))
        assert (start.name, events[-1]) == ("search_files", Stop(StopReason.TOOLS))
        call = ToolCall(start.call_id, start.name, arguments)
        tool_result = Message(MessageRole.TOOL, '{"files": []}', call_id=start.call_id)
        events = ask(model, user("find tea"), Message(MessageRole.ASSISTANT, "", (call,)), tool_result)
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "It is in tea.md."

    def test_refusals_raise_driver_errors(self, model: Model) -> None:
        with pytest.raises(UpstreamThrottled):
            ask(model, user("be limited"))
        with pytest.raises(UpstreamError):
            ask(model, user("be overloaded"))
