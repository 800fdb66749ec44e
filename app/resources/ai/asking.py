"""Answers that must be JSON of a shape: asked for, checked, asked for once more, and then given up."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import orjson

from app.drivers.ai.port import Prompt
from app.resources.ai import prompts
from app.resources.ai.conversation import Conversation
from app.resources.ai.errors import InvalidAnswer
from app.resources.ai.objects import ObjectScanner

T = TypeVar("T")


def ask_for(conversation: Conversation, prompt: Prompt, check: Callable[[Mapping[str, Any]], T]) -> T:
    """What `check` makes of the model's answer; it raises ValueError, with a sentence for the model, where it does not fit.

    Raises:
        InvalidAnswer: it did not fit twice.
        AppError, DriverError: the model could not be asked, or broke off.
    """
    said = conversation.say(prompt).text
    try:
        return check(_parsed(said))
    except ValueError as problem:
        again = prompts.repaired(prompt, said, str(problem))
    try:
        return check(_parsed(conversation.say(again).text))
    except ValueError as problem:
        raise InvalidAnswer from problem


def _parsed(text: str) -> Mapping[str, Any]:
    """The object; models without a JSON mode may put a fence or a sentence around it."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = ObjectScanner().feed(text)
        value = found[0] if len(found) == 1 else None
    if not isinstance(value, dict):
        raise ValueError("the answer must be one JSON object")  # noqa: TRY004 (one kind of failure for the repair round)
    return value
