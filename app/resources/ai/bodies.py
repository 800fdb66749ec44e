"""Bodies of the AI handlers (contract 4.12)."""

import re
from typing import Any, NotRequired, TypedDict

from marshmallow import ValidationError, fields, validate

from app.core.limits import AiLimits
from app.core.paths import path_fault
from app.http.validation import Body, Id, text
from app.resources.ai.commanding import ToolName

CODE_CHARACTERS = 64_000
CONTENT_CHARACTERS = 64_000
DIFF_CHARACTERS = 200_000
INSTRUCTION_CHARACTERS = 8_000
MOST_MESSAGES = 500
MOST_ISSUES = 50
_LOCALE = re.compile(r"[A-Za-z]{2,3}([_-][A-Za-z0-9]{2,8}){0,3}")


def optional(most: int) -> fields.String:
    """Text that may be absent, null or empty."""
    return fields.String(load_default=None, allow_none=True, validate=validate.Length(max=most))


def _plain_path(value: str) -> None:
    fault = path_fault(value) if value else None
    if fault is not None:
        raise ValidationError(fault)


def _locale(value: str) -> None:
    if not _LOCALE.fullmatch(value):
        raise ValidationError("This is not a locale.")


class Asking(Body):
    """What every handler takes: a key of the caller's own, and a project they are a member of."""

    apiKey = optional(512)  # noqa: N815 (wire name)
    provider = optional(32)
    model = optional(80)
    projectId = Id("prj", load_default=None, allow_none=True)  # noqa: N815 (wire name)


class UiMessage(Body):
    """A message as the AI SDK's clients keep it; other parts than text are passed over."""

    id = optional(200)
    role = fields.String(required=True, validate=validate.OneOf(["system", "user", "assistant"]))
    parts = fields.List(fields.Dict(), load_default=None, allow_none=True, validate=validate.Length(max=1000))
    content = fields.Raw(load_default=None, allow_none=True)


class Context(Body):
    """What the editor shows: its nodes or Markdown, what is selected, and which tool was chosen."""

    children = fields.List(fields.Dict(), load_default=None, allow_none=True)
    markdown = fields.String(load_default=None, allow_none=True)
    selection = fields.Raw(load_default=None, allow_none=True)
    toolName = fields.String(load_default=None, allow_none=True, validate=validate.OneOf([t.value for t in ToolName]))  # noqa: N815 (wire name)


def _messages(*, required: bool) -> fields.List[Any]:
    default: dict[str, Any] = {} if required else {"load_default": None, "allow_none": True}
    most = validate.Length(max=MOST_MESSAGES)
    return fields.List(fields.Nested(UiMessage), required=required, validate=most, **default)


class Command(Asking):
    """A command of the rich-text editor."""

    messages = _messages(required=False)
    prompt = optional(INSTRUCTION_CHARACTERS * 4)
    ctx = fields.Nested(Context, load_default=None, allow_none=True)


class Complete(Asking):
    """Text to be continued."""

    prompt = text(1, AiLimits.prompt_characters)
    instructions = optional(INSTRUCTION_CHARACTERS)


class Chat(Asking):
    """A talk about a project."""

    id = optional(200)
    messages = _messages(required=True)
    projectId = Id("prj", required=True)  # noqa: N815 (wire name)


class CodeEdit(Asking):
    """Code to be changed."""

    code = text(0, CODE_CHARACTERS)
    instruction = text(1, INSTRUCTION_CHARACTERS)
    language = optional(60)
    path = fields.String(load_default=None, allow_none=True, validate=_plain_path)


class CodeExplain(Asking):
    """Code to be explained."""

    code = text(1, CODE_CHARACTERS)
    language = optional(60)
    path = fields.String(load_default=None, allow_none=True, validate=_plain_path)
    question = optional(INSTRUCTION_CHARACTERS)


class WriteCommit(Asking):
    """A diff to be described."""

    diff = text(1, DIFF_CHARACTERS)
    locale = fields.String(load_default=None, allow_none=True, validate=_locale)


class WriteMetadata(Asking):
    """A page to be described."""

    content = text(1, CONTENT_CHARACTERS)
    path = fields.String(load_default=None, allow_none=True, validate=_plain_path)
    locale = fields.String(load_default=None, allow_none=True, validate=_locale)
    front_matter = fields.Dict(load_default=None, allow_none=True)


class Issue(Body):
    """One SEO issue."""

    id = text(1, 200)
    message = text(1, 1000)


class MendSeo(Asking):
    """A page to be mended."""

    content = text(1, CONTENT_CHARACTERS)
    issues = fields.List(fields.Nested(Issue), required=True, validate=validate.Length(min=1, max=MOST_ISSUES))
    front_matter = fields.Dict(load_default=None, allow_none=True)
    locale = fields.String(load_default=None, allow_none=True, validate=_locale)


class AskingBody(TypedDict):
    """Clean values of `Asking`."""

    apiKey: str | None
    provider: str | None
    model: str | None
    projectId: str | None


class CommandBody(AskingBody):
    """Clean values of `Command`."""

    messages: list[dict[str, Any]] | None
    prompt: str | None
    ctx: dict[str, Any] | None


class CompleteBody(AskingBody):
    """Clean values of `Complete`."""

    prompt: str
    instructions: str | None


class ChatBody(AskingBody):
    """Clean values of `Chat`."""

    id: str | None
    messages: list[dict[str, Any]]


class CodeEditBody(AskingBody):
    """Clean values of `CodeEdit`."""

    code: str
    instruction: str
    language: str | None
    path: str | None


class CodeExplainBody(AskingBody):
    """Clean values of `CodeExplain`."""

    code: str
    language: str | None
    path: str | None
    question: str | None


class CommitBody(AskingBody):
    """Clean values of `WriteCommit`."""

    diff: str
    locale: str | None


class MetadataBody(AskingBody):
    """Clean values of `WriteMetadata`."""

    content: str
    path: str | None
    locale: str | None
    front_matter: NotRequired[dict[str, Any] | None]


class MendSeoBody(AskingBody):
    """Clean values of `MendSeo`."""

    content: str
    issues: list[dict[str, str]]
    front_matter: dict[str, Any] | None
    locale: str | None
