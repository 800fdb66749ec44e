"""Tests of the conversion of chat clients' messages to model messages."""

from typing import Any

import pytest

from app.core.errors import InvalidRequest
from app.drivers.ai.port import Message, MessageRole
from app.resources.ai.messages import text_of, turns


def ui(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "text": text} for text in texts]}


class TestTurns:
    def test_consecutive_messages_of_a_role_are_joined(self) -> None:
        said = [ui("system", "s"), ui("user", "a", "b"), ui("assistant", "c"), ui("assistant", "d"), ui("user", "e")]
        assert turns(said, max_characters=100) == (
            Message(MessageRole.USER, "s\n\na\nb"),
            Message(MessageRole.ASSISTANT, "c\n\nd"),
            Message(MessageRole.USER, "e"),
        )

    def test_tool_output_from_the_client_is_dropped(self) -> None:
        tool = {"type": "tool-read_file", "state": "output-available", "output": {"text": "secret"}}
        said = [ui("user", "a"), {"role": "assistant", "parts": [tool, {"type": "text", "text": "b"}]}, ui("user", "c")]
        assert "secret" not in str(turns(said, max_characters=100))

    def test_newest_messages_are_included_and_the_first_is_the_users(self) -> None:
        said = [ui("user", "a" * 10), ui("assistant", "b" * 10), ui("user", "c" * 10)]
        assert [m.text[0] for m in turns(said, max_characters=29)] == ["c"]
        assert [m.text[0] for m in turns(said, max_characters=30)] == ["a", "b", "c"]

    @pytest.mark.parametrize(
        "said",
        [
            [],
            [ui("assistant", "a")],
            [ui("user", " ")],
            [ui("user", "a"), ui("assistant", "b")],
            [ui("user", "x" * 101)],
        ],
    )
    def test_messages_without_a_final_user_message_that_fits_raise_invalid_request(
        self, said: list[dict[str, Any]]
    ) -> None:
        with pytest.raises(InvalidRequest):
            turns(said, max_characters=100)


class TestTextOf:
    @pytest.mark.parametrize(
        ("message", "text"),
        [
            ({"content": " old "}, "old"),
            ({"parts": None, "content": "old"}, "old"),
            ({"parts": [{"type": "text"}, {"type": "text", "text": 7}, {"type": "file", "url": "x"}]}, ""),
            ({}, ""),
            ({"content": ["x"]}, ""),
        ],
    )
    def test_text_is_read_from_parts_or_content(self, message: dict[str, Any], text: str) -> None:
        assert text_of(message) == text
