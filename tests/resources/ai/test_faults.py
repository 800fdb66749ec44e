"""Tests of provider faults in both wire formats, for streams and JSON answers.

A fault before the first text of an answer is a status, a later one an error part. No fault becomes text.
"""

from typing import Any

import pytest

from tests.resources.ai.conftest import Limits
from tests.resources.ai.streams import kinds, of_kind, parts, text
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support.doubles.ai import AiDouble, ModelReply, say
from tests.support.world import Answer, Person, World

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

FORMATS = {
    "openai": {"X-AI-Key": "my-own-key", "X-AI-Provider": "openai", "X-AI-Model": "m"},
    "anthropic": {"X-AI-Key": "my-own-key", "X-AI-Provider": "anthropic", "X-AI-Model": "m"},
}
AS_JSON = {"Accept": "application/json"}
ASK = {"messages": [{"role": "user", "parts": [{"type": "text", "text": "Write about tea"}]}]}
EDIT = {"code": "a\n", "instruction": "change"}
STREAMS: dict[str, dict[str, Any]] = {"command": ASK, "code-edit": EDIT, "code-explain": {"code": "a\n"}, "chat": ASK}
JSONS: dict[str, dict[str, Any]] = {
    "copilot": {"prompt": "The quick"},
    "commit": {"diff": "--- a/x\n+++ b/x\n"},
    "metadata": {"content": "# Tea"},
    "seo-fix": {"content": "# Tea", "issues": [{"id": "title", "message": "No title"}]},
    "code-edit": EDIT,
}
CALLS = [*((name, False) for name in STREAMS), *((name, True) for name in JSONS)]

# Fault, status and code with the caller's own key, status with the operator's.
BEFORE: list[tuple[int | str, int, str | None, int]] = [
    (400, 422, "AI_REFUSED", 422),
    (401, 422, "AI_KEY_REJECTED", 503),
    (402, 422, "AI_OUT_OF_CREDIT", 503),
    (403, 422, "AI_KEY_REJECTED", 503),
    (404, 422, "AI_REFUSED", 422),
    (413, 422, "AI_REFUSED", 422),
    (422, 422, "AI_REFUSED", 422),
    (429, 429, "AI_RATE_LIMITED", 503),
    (302, 502, None, 502),
    (500, 502, None, 502),
    (502, 502, None, 502),
    (503, 502, None, 502),
    (529, 502, None, 502),
    ("html", 502, None, 502),
    ("json", 502, None, 502),
    ("silent", 504, None, 504),
]
# Fault and the status of a JSON answer. MID_STREAM_POSITIONS: before the first event and between the events.
MID_STREAM = [
    ("stall", 504),
    ("reset", 502),
    ("cut", 502),
    ("garbage", 502),
    ("error", 502),
    ("not-utf8", 502),
    ("huge", 502),
]
MID_STREAM_POSITIONS = (0, 1, 4)
WORDS = ("one\n", "two\n", "three\n", "four\n", "five\n")


@pytest.fixture(autouse=True)
def short_timeouts(limits: Limits) -> None:
    limits.set(first_byte_timeout_s=0.4, idle_timeout_s=0.4, operator_tokens_a_day=10**9)


class Caller:
    """Caller of one handler in one response format."""

    def __init__(self, person: Person, name: str, *, as_json: bool, project: str | None = None) -> None:
        self.person, self.name, self.as_json = person, name, as_json
        self.body = (JSONS if as_json else STREAMS)[name] | ({"projectId": project} if project else {})

    def ask(self, headers: dict[str, str]) -> Answer:
        wanted = AS_JSON if self.as_json and self.name == "code-edit" else {}
        return self.person.again().post(f"/api/ai/{self.name}", self.body, headers=headers | wanted)


@pytest.fixture(params=CALLS, ids=lambda call: f"{call[0]}-{'json' if call[1] else 'stream'}")
def caller(request: pytest.FixtureRequest, world: World, double: AiDouble) -> Caller:
    """Return a caller of each handler. Only a chat needs a project."""
    name, as_json = request.param
    if name == "chat":
        return chat_of(make_site(world, FILES))
    return Caller(world.person(), name, as_json=as_json)


def chat_of(site: Site) -> Caller:
    return Caller(site.owner, "chat", as_json=False, project=site.project)


class TestFaultBeforeReply:
    @pytest.mark.parametrize("wire", FORMATS)
    def test_fault_returns_its_status(self, caller: Caller, double: AiDouble, wire: str) -> None:
        double.fault_headers = {"Retry-After": "9", "Location": "http://127.0.0.1:1/"}
        for fault, own, code, house in BEFORE:
            double.fault = fault
            refused = caller.ask(FORMATS[wire])
            error = refused.fails(own, code)
            assert "rubbish" not in str(error), fault
            assert (refused.headers.get("Retry-After") == "9") == (fault == 429), fault
            if wire == "openai":  # The operator's provider has this format only.
                ours = caller.ask({})
                ours.fails(house)
                assert house != 503 or int(ours.headers["Retry-After"]) >= 1, fault
        assert caller.person.get("/ai/usage").ok()["running"] == 0
        assert caller.person.get("/ai/usage").ok()["budget"]["used"] == 0


class TestFaultDuringReply:
    @pytest.mark.parametrize("wire", FORMATS)
    def test_fault_is_an_error_and_not_text(self, caller: Caller, double: AiDouble, wire: str) -> None:
        double.script = [say(*WORDS)]
        for fault, status in MID_STREAM:
            for place in MID_STREAM_POSITIONS:
                double.fault, double.fault_at = fault, place
                answer = caller.ask(FORMATS[wire])
                if caller.as_json:
                    assert "rubbish" not in str(answer.fails(status)), (fault, place)
                else:
                    self.assert_ends_with_an_error(answer, (fault, place))
        assert caller.person.get("/ai/usage").ok()["running"] == 0

    @staticmethod
    def assert_ends_with_an_error(answer: Answer, case: tuple[str, int]) -> None:
        assert answer.status == 200
        stream_parts = parts(answer)
        assert kinds(stream_parts).count("error") == 1, case
        assert kinds(stream_parts)[-1] == "error", case
        assert stream_parts[-1]["errorText"], case
        assert not {"finish", "data-diff"} & set(kinds(stream_parts)), case
        assert "".join(WORDS).startswith(text(stream_parts).replace("\r", "")), case
        assert "rubbish" not in str(stream_parts), case
        assert case[1] == 4 or text(stream_parts) in ("", "one", "one\n"), case


class TestFaultDuringToolCall:
    @pytest.mark.parametrize("wire", FORMATS)
    @pytest.mark.parametrize("fault", ["cut", "reset", "stall", "garbage"])
    def test_cut_tool_call_is_not_executed(self, site: Site, double: AiDouble, wire: str, fault: str) -> None:
        """The fault follows the name and half of the arguments."""
        double.script = [say(calls=[("read_file", {"path": "content/about.md", "start_line": 1})])]
        double.fault, double.fault_at = fault, 3 if wire == "openai" else 4
        stream_parts = parts(chat_of(site).ask(FORMATS[wire]))
        assert kinds(stream_parts).count("tool-input-start") == 1
        assert kinds(stream_parts).count("tool-input-delta") == 1
        assert kinds(stream_parts)[-1] == "error"
        assert of_kind(stream_parts, "tool-output-available") == of_kind(stream_parts, "tool-input-available") == []
        assert len(double.asked) == 1

    @pytest.mark.parametrize("wire", FORMATS)
    @pytest.mark.parametrize("arguments", ['{"path": "content/ab', "[1]", "7", "{bad}", "\ud83d"])
    def test_invalid_tool_arguments_are_reported_to_the_model(
        self, site: Site, double: AiDouble, wire: str, arguments: str
    ) -> None:
        """The provider reports a complete answer."""
        turn = ModelReply(calls=[("read_file", arguments)])  # type: ignore[list-item]
        double.script = [turn, say("Sorry.")]
        stream_parts = parts(chat_of(site).ask(FORMATS[wire]))
        assert len(of_kind(stream_parts, "tool-input-error")) == 1
        assert of_kind(stream_parts, "tool-output-available") == []
        assert text(stream_parts) == "Sorry."
        assert stream_parts[-1]["finishReason"] == "stop"

    @pytest.mark.parametrize("wire", FORMATS)
    def test_fault_in_a_later_round_is_an_error_part(self, site: Site, double: AiDouble, wire: str) -> None:
        double.fault_after = 1
        for fault in (401, 429, 500, "html", "silent", "stall", "cut"):
            double.asked.clear()
            double.script = [say("Looking.", calls=[("search_files", {"query": "about"})]), say(*WORDS)]
            double.fault = fault
            stream_parts = parts(chat_of(site).ask(FORMATS[wire]))
            assert kinds(stream_parts)[-1] == "error", fault
            assert text(stream_parts).startswith("Looking."), fault
            assert len(of_kind(stream_parts, "tool-output-available")) == 1, fault
