"""AI handlers with the client of the AI SDK and with Plate's completion call."""

import json
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_migrate import upgrade
from werkzeug.serving import make_server

from app.extensions import db
from app.factory import create_app
from config import Settings
from tests.clients.node import packages
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support.doubles.ai import AiDouble, say
from tests.support.servers.ports import free_port
from tests.support.world import World

HERE = Path(__file__).parent / "ai-sdk"


@dataclass
class Browser:
    """A page of a web application in a Node process."""

    base: str
    site: Site
    process: "subprocess.Popen[str]"

    def do(self, what: str, handler: str, **scenario: Any) -> Any:
        cookie = f"session_token={self.site.owner.token}"
        payload = {"do": what, "api": f"{self.base}/api/ai/{handler}", "cookie": cookie, **scenario}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{json.dumps(payload)}\n")
        self.process.stdin.flush()
        limit = threading.Timer(60, self.process.kill)
        limit.start()
        line = self.process.stdout.readline()
        limit.cancel()
        assert line, f"Node exited with {self.process.wait(60)}"
        return json.loads(line)


@pytest.fixture(scope="module")
def upstream() -> Iterator[AiDouble]:
    with AiDouble() as made:
        yield made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, upstream: AiDouble) -> Iterator[tuple[Flask, str]]:
    """Serve the application on a loopback port. Its model is the double."""
    home = tmp_path_factory.mktemp("service")
    port = free_port()
    ai = {"AI_PROVIDER": "openai", "AI_MODEL": "m", "OPENAI_BASE_URL": upstream.url, "OPENAI_API_KEY": "k"}
    app = create_app(Settings.for_tests(home, PORT=port, MAIL_DRIVER="file", RATE_LIMIT_SCALE=1000, **ai))
    with app.app_context():
        upgrade(directory=str(Path(__file__).parents[2] / "migrations"))
    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield app, f"http://127.0.0.1:{port}"
    server.shutdown()
    thread.join(30)
    server.server_close()
    with app.app_context():
        db.session.remove()
        db.engine.dispose()


@pytest.fixture(scope="module")
def browser(served: tuple[Flask, str]) -> Iterator[Browser]:
    site, command = make_site(World(served[0]), FILES), ["node", str(HERE / "client.mjs")]
    with subprocess.Popen(
        command, cwd=packages(HERE), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Browser(served[1], site, process)
        process.kill()


@pytest.fixture(autouse=True)
def fresh(upstream: AiDouble) -> None:
    upstream.fault, upstream.script = None, [say("Hel", "lo ", "🌍")]


def parts_of(seen: Any, kind: str) -> list[Any]:
    return [part for part in seen["message"]["parts"] if part["type"] == kind]


class TestChatTransport:
    def test_command_is_read_as_a_message_with_text(self, browser: Browser) -> None:
        seen = browser.do("chat", "command", text="Greet")
        assert seen["errors"] == []
        assert seen["message"]["role"] == "assistant"
        assert [(p["text"], p["state"]) for p in parts_of(seen, "text")] == [("Hello 🌍", "done")]

    def test_comments_are_read_as_data_parts(self, browser: Browser, upstream: AiDouble) -> None:
        upstream.script = [say('{"blockId": "b1", "content": "Tea", "comment": "Which?"}')]
        children = [{"id": "b1", "type": "p", "children": [{"text": "Tea"}]}]
        seen = browser.do("chat", "command", body={"ctx": {"children": children, "toolName": "comment"}})
        assert [part["data"]["status"] for part in parts_of(seen, "data-comment")] == ["streaming", "finished"]
        assert parts_of(seen, "data-comment")[0]["data"]["comment"]["comment"] == "Which?"

    def test_chat_is_read_with_tools_and_sources(self, browser: Browser, upstream: AiDouble) -> None:
        upstream.script = [
            say("Looking.", calls=[("search_files", {"query": "hello"}), ("search_files", {"query": "about"})]),
            say(calls=[("read_file", {"path": "content/about.md", "start_line": 1}), ("read_file", {"path": "no", "start_line": 1})]),
            say("Found."),
        ]  # fmt: skip
        seen = browser.do("chat", "chat", body={"projectId": browser.site.project})
        assert seen["errors"] == []
        searches, reads = parts_of(seen, "tool-search_files"), parts_of(seen, "tool-read_file")
        assert [part["state"] for part in searches] == ["output-available"] * 2
        assert searches[0]["output"]["files"][0]["path"] == "content/posts/hello.md"
        assert [part["state"] for part in reads] == ["output-available", "output-error"]
        assert reads[0]["output"]["text"] == "# About\n\nUs.\n"
        assert [part["filename"] for part in parts_of(seen, "source-document")] == ["about.md"]
        assert [part["text"] for part in parts_of(seen, "text")] == ["Looking.", "Found."]

    def test_resumed_chat_has_no_stream(self, browser: Browser) -> None:
        assert browser.do("resume", "chat", chat="c1") == {"stream": None}

    def test_code_edit_is_read_with_its_diff(self, browser: Browser, upstream: AiDouble) -> None:
        upstream.script = [say("b\n")]
        seen = browser.do("chat", "code-edit", body={"code": "a\n", "instruction": "b", "path": "x.txt"})
        data = parts_of(seen, "data-diff")[0]["data"]
        assert data == {"path": "x.txt", "diff": "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-a\n+b\n", "code": "b\n"}

    def test_explanation_is_read_as_text(self, browser: Browser) -> None:
        seen = browser.do("chat", "code-explain", body={"code": "a"})
        assert parts_of(seen, "text")[0]["text"] == "Hello 🌍"

    def test_failure_within_the_stream_is_an_error_after_the_received_text(
        self, browser: Browser, upstream: AiDouble
    ) -> None:
        upstream.fault = "error"
        seen = browser.do("chat", "command")
        assert len(seen["errors"]) == 1
        assert "ended the reply with an error" in seen["errors"][0]
        assert parts_of(seen, "text")[0]["text"] == "Hello "

    def test_failure_before_the_stream_throws_an_error(self, browser: Browser, upstream: AiDouble) -> None:
        upstream.fault = 500
        assert "The model provider responded with status 500" in browser.do("chat", "command")["failed"]

    def test_abort_ends_the_call_to_the_provider(self, browser: Browser, upstream: AiDouble) -> None:
        upstream.fault = "endless"
        browser.do("chat", "command", abortAfter=3)
        upstream.wait_closed(upstream.last, 2)


class TestPlatesCompletion:
    def test_completion_returns_the_text(self, browser: Browser) -> None:
        assert browser.do("completion", "copilot", text="Say") == {"status": 200, "text": "Hello 🌍"}

    def test_completion_failure_returns_status_and_message(self, browser: Browser, upstream: AiDouble) -> None:
        upstream.fault = 401
        own = {"apiKey": "k", "provider": "openai", "model": "m"}
        seen = browser.do("completion", "copilot", text="Say", body=own)
        assert seen == {"status": 422, "error": "The model provider does not accept this key"}
