"""Request bodies of the AI handlers (contract 4.12)."""

import re
from typing import Any, NotRequired, TypedDict

from marshmallow import ValidationError, fields, validate

from app.core.limits import AiLimits
from app.core.paths import path_error
from app.http.validation import IdField, RequestSchema, text
from app.resources.ai.editor_command import ToolName

CODE_CHARACTERS = 64_000
CONTENT_CHARACTERS = 64_000
DIFF_CHARACTERS = 200_000
INSTRUCTION_CHARACTERS = 8_000
MAX_MESSAGES = 500
MAX_ISSUES = 50
_LOCALE = re.compile(r"[A-Za-z]{2,3}([_-][A-Za-z0-9]{2,8}){0,3}")


def optional(max_characters: int) -> fields.String:
    """Return a field for text that may be absent, null or empty."""
    return fields.String(load_default=None, allow_none=True, validate=validate.Length(max=max_characters))


def _plain_path(value: str) -> None:
    error = path_error(value) if value else None
    if error is not None:
        raise ValidationError(error)


def _locale(value: str) -> None:
    if not _LOCALE.fullmatch(value):
        raise ValidationError("This is not a valid locale.")


class AiRequestBody(RequestSchema):
    """Fields of every handler: a key of the caller and a project of which the caller is a member."""

    apiKey = optional(512)  # noqa: N815 (wire name)
    provider = optional(32)
    model = optional(80)
    projectId = IdField("prj", load_default=None, allow_none=True)  # noqa: N815 (wire name)


class UiMessage(RequestSchema):
    """A message in the format of the AI SDK's clients. Only parts with text are used."""

    id = optional(200)
    role = fields.String(required=True, validate=validate.OneOf(["system", "user", "assistant"]))
    parts = fields.List(fields.Dict(), load_default=None, allow_none=True, validate=validate.Length(max=1000))
    content = fields.Raw(
        load_default=None, allow_none=True, metadata={"description": "Text, or parts in the format of the AI SDK"}
    )


class Context(RequestSchema):
    """State of the editor: its nodes or Markdown, the selection and the chosen tool."""

    children = fields.List(fields.Dict(), load_default=None, allow_none=True)
    markdown = fields.String(load_default=None, allow_none=True)
    selection = fields.Raw(
        load_default=None, allow_none=True, metadata={"description": "A Slate range `{anchor, focus}`, or null"}
    )
    toolName = fields.String(load_default=None, allow_none=True, validate=validate.OneOf([t.value for t in ToolName]))  # noqa: N815 (wire name)


def _messages(*, required: bool) -> fields.List[Any]:
    default: dict[str, Any] = {} if required else {"load_default": None, "allow_none": True}
    length = validate.Length(max=MAX_MESSAGES)
    return fields.List(fields.Nested(UiMessage), required=required, validate=length, **default)


class Command(AiRequestBody):
    """A command of the rich-text editor."""

    messages = _messages(required=False)
    prompt = optional(INSTRUCTION_CHARACTERS * 4)
    ctx = fields.Nested(Context, load_default=None, allow_none=True)


class Complete(AiRequestBody):
    """A text to complete."""

    prompt = text(1, AiLimits.prompt_characters)
    instructions = optional(INSTRUCTION_CHARACTERS)


class Chat(AiRequestBody):
    """A chat about a project."""

    id = optional(200)
    messages = _messages(required=True)
    projectId = IdField("prj", required=True)  # noqa: N815 (wire name)


class CodeEdit(AiRequestBody):
    """Code to change."""

    code = text(0, CODE_CHARACTERS)
    instruction = text(1, INSTRUCTION_CHARACTERS)
    language = optional(60)
    path = fields.String(load_default=None, allow_none=True, validate=_plain_path)


class CodeExplain(AiRequestBody):
    """Code to explain."""

    code = text(1, CODE_CHARACTERS)
    language = optional(60)
    path = fields.String(load_default=None, allow_none=True, validate=_plain_path)
    question = optional(INSTRUCTION_CHARACTERS)


class WriteCommit(AiRequestBody):
    """A diff for which a commit message is written."""

    diff = text(1, DIFF_CHARACTERS)
    locale = fields.String(load_default=None, allow_none=True, validate=_locale)


class WriteMetadata(AiRequestBody):
    """A page for which metadata is written."""

    content = text(1, CONTENT_CHARACTERS)
    path = fields.String(load_default=None, allow_none=True, validate=_plain_path)
    locale = fields.String(load_default=None, allow_none=True, validate=_locale)
    front_matter = fields.Dict(load_default=None, allow_none=True)


class Issue(RequestSchema):
    """One SEO issue."""

    id = text(1, 200)
    message = text(1, 1000)


class FixSeoBody(AiRequestBody):
    """A page with SEO issues."""

    content = text(1, CONTENT_CHARACTERS)
    issues = fields.List(fields.Nested(Issue), required=True, validate=validate.Length(min=1, max=MAX_ISSUES))
    front_matter = fields.Dict(load_default=None, allow_none=True)
    locale = fields.String(load_default=None, allow_none=True, validate=_locale)


class AskingBody(TypedDict):
    """Clean values of `AiRequestBody`."""

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


class CommitMessageBody(AskingBody):
    """Clean values of `WriteCommit`."""

    diff: str
    locale: str | None


class MetadataBody(AskingBody):
    """Clean values of `WriteMetadata`."""

    content: str
    path: str | None
    locale: str | None
    front_matter: NotRequired[dict[str, Any] | None]


class FixSeoValues(AskingBody):
    """Clean values of `FixSeoBody`."""

    content: str
    issues: list[dict[str, str]]
    front_matter: dict[str, Any] | None
    locale: str | None
