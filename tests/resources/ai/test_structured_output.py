"""Tests of answers in JSON of a given shape."""

from collections.abc import Mapping
from typing import Any

import pytest

from app.drivers.ai.port import Message, MessageRole, Prompt
from app.resources.ai.errors import InvalidAnswer
from app.resources.ai.handlers import request_json
from tests.resources.ai.fakes import FakeModel, conversation, text_events

PROMPT = Prompt("s", (Message(MessageRole.USER, "u"),), 100)


def small(value: Mapping[str, Any]) -> int:
    number = value.get("n")
    if not isinstance(number, int) or number > 9:
        raise ValueError("n must be a number up to 9")
    return number


class TestRequestJson:
    @pytest.mark.parametrize("said", ['{"n": 3}', ' {"n": 3}\n', '```json\n{"n": 3}\n```', 'Sure: {"n": 3}. Enjoy!'])
    def test_valid_object_is_returned_without_the_surrounding_text(self, said: str) -> None:
        model = FakeModel(text_events(said))
        assert request_json(conversation(model), PROMPT, small) == 3
        assert len(model.asked) == 1

    @pytest.mark.parametrize("said", ["", "no", "[1]", "3", "null", '{"n": 10}', '{"n": 1}{"n": 2}', '{"n": 3'])
    def test_invalid_answer_is_requested_once_more_with_the_reason(self, said: str) -> None:
        model = FakeModel(text_events(said), text_events('{"n": 3}'))
        assert request_json(conversation(model), PROMPT, small) == 3
        again = model.asked[1].messages
        assert again[1] == Message(MessageRole.ASSISTANT, said or "(nothing)")
        assert "must be" in again[2].text

    def test_second_invalid_answer_raises_invalid_answer(self) -> None:
        model = FakeModel(text_events("no"), text_events('{"n": 10}'))
        with pytest.raises(InvalidAnswer):
            request_json(conversation(model), PROMPT, small)
        assert len(model.asked) == 2
