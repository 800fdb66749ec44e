"""Prompts and results of the AI handlers, independent of HTTP.

Replies in JSON are checked and requested a second time if they are invalid.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import orjson

from app.concurrency.background import Blocks
from app.core.limits import AiLimits
from app.drivers.ai.port import Message, Prompt
from app.resources.ai import chat as chatting
from app.resources.ai import diffs, output_schemas, prompts, streams
from app.resources.ai.conversation import Conversation, closing
from app.resources.ai.errors import InvalidAnswer
from app.resources.ai.json_scanner import JsonObjectScanner
from app.resources.ai.tools import TOOLS, ProjectTools

SEO_NAME = "page"


def complete(conversation: Conversation, prompt: str, instructions: str | None) -> dict[str, Any]:
    """Complete a text. Returns `{text, finishReason, usage}`."""
    with closing(conversation):
        reply = conversation.complete(prompts.copilot(prompt, instructions))
    usage = {"inputTokens": reply.input_tokens, "outputTokens": reply.output_tokens}
    return {
        "text": reply.text,
        "finishReason": reply.reason,
        "usage": usage | {"totalTokens": reply.input_tokens + reply.output_tokens},
    }


def chat(
    conversation: Conversation,
    turns: tuple[Message, ...],
    project_name: str,
    *,
    library: ProjectTools,
    limits: AiLimits,
) -> Blocks:
    """Chat about a project, whose files the model may read."""
    prompt = prompts.chat(turns, TOOLS, project_name, limits.chat_tokens)
    return chatting.stream_chat(conversation, conversation.stream(prompt), prompt, library=library, limits=limits)


def explain(
    conversation: Conversation, code: str, *, language: str | None, path: str | None, question: str | None
) -> Blocks:
    """Explain a piece of code."""
    return streams.stream_text(conversation, conversation.stream(prompts.code_explain(code, language, path, question)))


def write_commit(conversation: Conversation, diff: str, locale: str | None) -> dict[str, Any]:
    """Return a commit message for a diff. Raises InvalidAnswer."""
    with closing(conversation):
        return request_json(conversation, prompts.commit(diff, locale), output_schemas.commit_message)


def write_metadata(
    conversation: Conversation,
    content: str,
    *,
    path: str | None,
    locale: str | None,
    front_matter: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the SEO metadata of a page. Raises InvalidAnswer."""
    with closing(conversation):
        prompt = prompts.metadata(content, path, locale, front_matter)
        return request_json(conversation, prompt, output_schemas.page_metadata)


def fix_seo(
    conversation: Conversation,
    content: str,
    issues: Sequence[Mapping[str, str]],
    *,
    front_matter: Mapping[str, Any] | None,
    locale: str | None,
) -> dict[str, Any]:
    """Return a page without its SEO issues, with a diff. Raises InvalidAnswer."""
    check = output_schemas.fixed_page([issue["id"] for issue in issues])
    with closing(conversation):
        page = request_json(conversation, prompts.seo_fix(content, issues, front_matter, locale), check)
    return page | {"diff": diffs.unified(SEO_NAME, content, page["content"])}


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
