"""Tests of the chat's rounds: the messages after tool calls, and the bounds."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from app.core.limits import AiLimits
from app.drivers.ai.port import Event, Message, MessageRole, Prompt, ToolCall
from app.resources.ai.handlers import MAX_CALLS_PER_ROUND, TOOL_LIMIT_PROMPT, stream_chat
from app.resources.ai.tools import TOOLS, Document, ToolResult
from tests.resources.ai.fakes import FakeModel, calls, conversation, text_events
from tests.resources.ai.streams import kinds, of_kind, parts, text

LIMITS = AiLimits()
PROMPT = Prompt("Help.", (Message(MessageRole.USER, "Which tea?"),), LIMITS.chat_tokens, TOOLS)
READ = ("read_file", '{"path": "a.md", "start_line": 1}')


class FakeLibrary:
    """Library that returns a document for every call, or a problem."""

    def __init__(self, problem: str | None = None) -> None:
        self.used: list[ToolCall] = []
        self.problem = problem

    def use(self, call: ToolCall) -> ToolResult:
        self.used.append(call)
        if self.problem:
            return ToolResult(None, self.problem)
        path = json.loads(call.arguments)["path"]
        return ToolResult({"path": path}, document=Document(path, "text/markdown"))


def run_chat(model: FakeModel, library: FakeLibrary) -> list[dict[str, Any]]:
    """Return the parts of a chat."""
    asked = conversation(model)
    stream = stream_chat(asked, asked.stream(PROMPT), PROMPT, library=library, limits=LIMITS)  # type: ignore[arg-type]
    return parts(b"".join(stream) + b"data: [DONE]\n\n")


class TestStreamChat:
    def test_next_round_sends_tool_results_and_tools_to_the_model(self) -> None:
        model, library = FakeModel(calls(READ), text_events("Green.")), FakeLibrary()
        chat_parts = run_chat(model, library)
        assert text(chat_parts) == "Green."
        assert model.asked[1].messages[1:] == (
            Message(MessageRole.ASSISTANT, "", (ToolCall("call_0", *READ),)),
            Message(MessageRole.TOOL, '{"path":"a.md"}', call_id="call_0"),
        )
        assert model.asked[1].tools == TOOLS
        assert model.asked[1].system == "Help."

    def test_file_read_twice_is_one_source_document(self) -> None:
        other = ("read_file", '{"path": "b.md"}')
        chat_parts = run_chat(FakeModel(calls(READ, other), calls(READ), text_events("x")), FakeLibrary())
        assert [part["sourceId"] for part in of_kind(chat_parts, "source-document")] == ["a.md", "b.md"]

    def test_tool_problem_is_sent_to_model_and_reader(self) -> None:
        model = FakeModel(calls(READ), text_events("x"))
        chat_parts = run_chat(model, FakeLibrary("Not there"))
        assert [part["errorText"] for part in of_kind(chat_parts, "tool-output-error")] == ["Not there"]
        assert model.asked[1].messages[-1].text == "Not there"

    def test_invalid_tool_arguments_are_sent_back_as_empty_object(self) -> None:
        """Providers reject a history with invalid JSON."""
        model, library = FakeModel(calls(("read_file", "{broken")), text_events("x")), FakeLibrary("No JSON")
        chat_parts = run_chat(model, library)
        assert kinds(chat_parts).count("tool-input-error") == 1
        assert model.asked[1].messages[1].calls[0].arguments == "{}"

    def test_calls_per_round_are_bounded(self) -> None:
        model, library = FakeModel(calls(*[READ] * (MAX_CALLS_PER_ROUND + 3)), text_events("x")), FakeLibrary()
        chat_parts = run_chat(model, library)
        assert len(library.used) == MAX_CALLS_PER_ROUND
        assert len(of_kind(chat_parts, "tool-output-error")) == 3

    def test_rounds_are_bounded_and_last_prompt_contains_the_limit(self) -> None:
        model = FakeModel(*[calls(READ)] * (LIMITS.tool_rounds + 1))
        chat_parts = run_chat(model, FakeLibrary())
        assert len(model.asked) == LIMITS.tool_rounds + 1
        assert [TOOL_LIMIT_PROMPT in prompt.system for prompt in model.asked] == [False] * LIMITS.tool_rounds + [True]
        assert chat_parts[-1]["finishReason"] == "tool-calls"

    @pytest.mark.parametrize(
        ("answers", "limits", "reason"),
        [
            ([calls(READ, tokens=(1, 4000)), text_events("x", tokens=(1, 50))], [4096, 96], "stop"),
            ([calls(READ, tokens=(1, 4000)), text_events("x", tokens=(1, 96))], [4096, 96], "length"),
            ([calls(READ, tokens=(1, 4096))], [4096], "length"),
        ],
    )
    def test_output_limit_covers_all_rounds(
        self, answers: Sequence[Sequence[Event]], limits: list[int], reason: str
    ) -> None:
        model = FakeModel(*answers)
        chat_parts = run_chat(model, FakeLibrary())
        assert [prompt.max_tokens for prompt in model.asked] == limits
        assert chat_parts[-1]["finishReason"] == reason
