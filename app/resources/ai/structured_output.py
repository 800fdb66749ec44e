"""Replies in JSON that are checked and requested a second time if they are invalid."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import orjson

from app.drivers.ai.port import Prompt
from app.resources.ai import prompts
from app.resources.ai.conversation import Conversation
from app.resources.ai.errors import InvalidAnswer
from app.resources.ai.json_scanner import JsonObjectScanner

T = TypeVar("T")


def request_json(conversation: Conversation, prompt: Prompt, check: Callable[[Mapping[str, Any]], T]) -> T:
    """Return the result of `check` for the reply. `check` raises ValueError with a message for the model.

    Raises:
        InvalidAnswer: two replies were invalid.
        AppError, DriverError: the call failed.
    """
    text = conversation.complete(prompt).text
    try:
        return check(_parsed(text))
    except ValueError as problem:
        again = prompts.repaired(prompt, text, str(problem))
    try:
        return check(_parsed(conversation.complete(again).text))
    except ValueError as problem:
        raise InvalidAnswer from problem


def _parsed(text: str) -> Mapping[str, Any]:
    """Return the object. Models without a JSON mode may add a code fence or a sentence."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        objects = JsonObjectScanner().feed(text)
        value = objects[0] if len(objects) == 1 else None
    if not isinstance(value, dict):
        raise ValueError("the answer must be one JSON object")  # noqa: TRY004 (one kind of failure for the repair round)
    return value
