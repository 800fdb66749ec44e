"""Tests of answers as streams of parts, without a request."""

from collections.abc import Sequence
from typing import Any

import pytest

from app.concurrency.background import Blocks
from app.drivers.ai.port import Event, Message, MessageRole, Prompt, StopReason
from app.drivers.errors import UpstreamError
from app.resources.ai import routes, streams
from app.resources.ai.conversation import Conversation, MeteredStream
from app.resources.ai.errors import AnswerTooLong, InvalidAnswer
from app.resources.ai.streams import MAX_COMMENTS
from tests.resources.ai.fakes import FakeMeter, FakeModel, conversation, text_events
from tests.resources.ai.streams import kinds, of_kind, parts, text

PROMPT = Prompt("s", (Message(MessageRole.USER, "u"),), 100)


def stream_of(
    events: Sequence[Event | Exception], meter: FakeMeter | None = None
) -> tuple[Conversation, MeteredStream]:
    talk = conversation(FakeModel(events), meter)
    return talk, talk.stream(PROMPT)


def read(blocks: Blocks) -> list[dict[str, Any]]:
    return parts(b"".join(blocks) + b"data: [DONE]\n\n")


class TestStreamText:
    def test_call_is_settled_before_the_last_frame(self) -> None:
        meter = FakeMeter()
        blocks = streams.stream_text(*stream_of(text_events("a", "b"), meter))
        seen = [(block, meter.settled) for block in blocks]
        assert [settled for block, settled in seen if b'"finish"' in block] == [1]
        assert [settled for block, settled in seen if b"text-delta" in block] == [0, 0]

    def test_empty_answer_has_no_text_part(self) -> None:
        assert kinds(read(streams.stream_text(*stream_of(text_events())))) == [
            "start",
            "start-step",
            "finish-step",
            "finish",
        ]

    def test_provider_error_is_raised_and_call_is_settled(self) -> None:
        meter = FakeMeter()
        blocks = streams.stream_text(*stream_of([*text_events("a")[:1], UpstreamError("cut")], meter))
        with pytest.raises(UpstreamError):
            list(blocks)
        assert meter.settled == len(meter.counted) == 1


class TestStreamRewrite:
    def test_text_equals_the_code_of_the_diff(self) -> None:
        result = read(
            streams.stream_rewrite(
                *stream_of(text_events("```\n", "new\nl", "ine\n", "```")), old="old\nline\n", path="a.txt"
            )
        )
        edit = of_kind(result, "data-diff")[0]["data"]
        assert text(result) == edit["code"] == "new\nline\n"
        assert edit["diff"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-old\n+new\n line\n"

    @pytest.mark.parametrize(
        ("events", "error"),
        [(text_events("half", reason=StopReason.LENGTH), AnswerTooLong), (text_events(" \n"), InvalidAnswer), (text_events(), InvalidAnswer)],
    )  # fmt: skip
    def test_incomplete_or_empty_answer_raises_without_a_diff(
        self, events: Sequence[Event], error: type[Exception]
    ) -> None:
        items: list[bytes] = []
        with pytest.raises(error):
            items.extend(streams.stream_rewrite(*stream_of(events), old="x\n", path="a"))
        assert b"data-diff" not in b"".join(items)
        with pytest.raises(error):
            routes.complete(conversation(FakeModel(events)), PROMPT, old="x\n", path="a")

    def test_complete_returns_the_same_diff(self) -> None:
        made = routes.complete(conversation(FakeModel(text_events("```\nb\n```"))), PROMPT, old="a\n", path="f")
        assert made == {"path": "f", "code": "b\n", "diff": "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"}


class TestStreamComments:
    def test_comments_are_bounded_and_refer_to_existing_blocks(self) -> None:
        good = '{"blockId": "b", "content": "Hot", "comment": "Why?"}'
        bad = [
            '{"blockId": "x", "comment": "y"}',
            '{"blockId": "b", "comment": " "}',
            '{"blockId": ["b"], "comment": "y"}',
        ]
        said = "\n".join([*bad, *[good] * (MAX_COMMENTS + 5)])
        found = of_kind(
            read(streams.stream_comments(*stream_of(text_events(said)), blocks={"b": "Hot tea"})), "data-comment"
        )
        assert len(found) == MAX_COMMENTS + 1
        assert found[0]["data"]["comment"] == {"blockId": "b", "comment": "Why?", "content": "Hot"}
        assert found[-1]["data"] == {"comment": None, "status": "finished"}
        assert len({part["id"] for part in found}) == len(found)
