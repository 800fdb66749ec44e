"""Request bodies of the AI handlers (contract 4.12)."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from marshmallow import ValidationError, fields, missing, validate

from app.core.limits import AiLimits
from app.core.paths import path_error
from app.http.json_schema import PATH, described
from app.http.validation import BoundedList, IdField, Length, RequestBody, RequestSchema, text
from app.resources.ai.credentials import KEY_PATTERN, MODEL_PATTERN, PROVIDERS
from app.resources.ai.editor_command import ToolName

CODE_CHARACTERS = 64_000
CONTENT_CHARACTERS = 64_000
DIFF_CHARACTERS = 200_000
INSTRUCTION_CHARACTERS = 8_000
MAX_MESSAGES = 500
MAX_ISSUES = 50
LOCALE_PATTERN = "^[A-Za-z]{2,3}([_-][A-Za-z0-9]{2,8}){0,3}$"
_LOCALE = re.compile(LOCALE_PATTERN)


def optional(max_characters: int, **kwargs: Any) -> fields.String:
    """Return a field for text that may be absent, null or empty."""
    return fields.String(load_default=None, allow_none=True, validate=Length(max=max_characters), **kwargs)


@described(**PATH)
def _plain_path(value: str) -> None:
    error = path_error(value) if value else None
    if error is not None:
        raise ValidationError(error)


@described(pattern=LOCALE_PATTERN)
def _locale(value: str) -> None:
    if not _LOCALE.fullmatch(value):
        raise ValidationError("Must be a locale such as en or pt-BR.")


@dataclass(frozen=True, kw_only=True)
class AiRequestBody(RequestBody):
    """Fields of every handler: a key of the caller and a project of which the caller is a member."""

    api_key: Annotated[str | None, optional(512, data_key="apiKey", metadata={"pattern": KEY_PATTERN})]
    provider: Annotated[str | None, optional(32, metadata={"enum": [*PROVIDERS, None]})]
    model: Annotated[str | None, optional(80, metadata={"pattern": MODEL_PATTERN})]
    project_id: Annotated[str | None, IdField("prj", load_default=None, allow_none=True, data_key="projectId")]


class UiMessageSchema(RequestSchema):
    """A message in the format of the AI SDK's clients. Only parts with text are used."""

    id = optional(200)
    role = fields.String(required=True, validate=validate.OneOf(["system", "user", "assistant"]))
    parts = fields.List(
        fields.Dict(),
        load_default=None,
        allow_none=True,
        validate=Length(max=1000),
        metadata={"description": "Parts in the format of the AI SDK. Only those of the type `text` are used"},
    )
    content = fields.Raw(
        load_default=None, allow_none=True, metadata={"description": "Text, or parts in the format of the AI SDK"}
    )


class ContextSchema(RequestSchema):
    """State of the editor: its nodes or Markdown, the selection and the chosen tool."""

    children = fields.List(
        fields.Dict(), load_default=None, allow_none=True, metadata={"description": "The nodes of the Slate document"}
    )
    markdown = fields.String(
        load_default=None, allow_none=True, metadata={"description": "The document, instead of `children`"}
    )
    selection = fields.Raw(
        load_default=None, allow_none=True, metadata={"description": "A Slate range `{anchor, focus}`, or null"}
    )
    toolName = fields.String(  # noqa: N815 (wire name)
        load_default=None,
        allow_none=True,
        validate=validate.OneOf([t.value for t in ToolName]),
        metadata={"description": "The mode of the command. Default: generate"},
    )


def _messages(*, required: bool) -> fields.List[object]:
    return BoundedList(
        fields.Nested(UiMessageSchema),
        required=required,
        max_length=MAX_MESSAGES,
        load_default=missing if required else None,
        allow_none=not required,
        metadata={"description": "The conversation, oldest message first"},
    )


@dataclass(frozen=True, kw_only=True)
class EditorCommandBody(AiRequestBody):
    """A command of the rich-text editor."""

    RULES: ClassVar[dict[str, object]] = {
        "if": {"required": ["messages"], "properties": {"messages": {"type": "array", "items": {}, "minItems": 1}}},
        "else": {"required": ["prompt"], "properties": {"prompt": {"type": "string", "minLength": 1}}},
    }

    messages: Annotated[list[dict[str, object]] | None, _messages(required=False)]
    prompt: Annotated[
        str | None, optional(INSTRUCTION_CHARACTERS * 4, metadata={"description": "The command, instead of `messages`"})
    ]
    ctx: Annotated[
        dict[str, object] | None,
        fields.Nested(
            ContextSchema, load_default=None, allow_none=True, metadata={"description": "The state of the editor"}
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class CompleteBody(AiRequestBody):
    """A text to complete."""

    prompt: Annotated[str, text(1, AiLimits.prompt_characters)]
    instructions: Annotated[str | None, optional(INSTRUCTION_CHARACTERS)]


@dataclass(frozen=True, kw_only=True)
class ChatBody(AiRequestBody):
    """A chat about a project."""

    id: Annotated[str | None, optional(200)]
    messages: Annotated[list[dict[str, object]], _messages(required=True)]
    project_id: Annotated[str, IdField("prj", required=True, data_key="projectId")]


@dataclass(frozen=True, kw_only=True)
class CodeEditBody(AiRequestBody):
    """Code to change."""

    code: Annotated[str, text(0, CODE_CHARACTERS)]
    instruction: Annotated[str, text(1, INSTRUCTION_CHARACTERS)]
    language: Annotated[str | None, optional(60)]
    path: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=_plain_path)]


@dataclass(frozen=True, kw_only=True)
class CodeExplainBody(AiRequestBody):
    """Code to explain."""

    code: Annotated[str, text(1, CODE_CHARACTERS)]
    language: Annotated[str | None, optional(60)]
    path: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=_plain_path)]
    question: Annotated[
        str | None,
        optional(
            INSTRUCTION_CHARACTERS,
            metadata={"description": "A question about the code. Without it the whole code is explained"},
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class CommitMessageBody(AiRequestBody):
    """A diff for which a commit message is written."""

    diff: Annotated[str, text(1, DIFF_CHARACTERS)]
    locale: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=_locale)]


@dataclass(frozen=True, kw_only=True)
class WriteMetadataBody(AiRequestBody):
    """A page for which metadata is written."""

    content: Annotated[str, text(1, CONTENT_CHARACTERS)]
    path: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=_plain_path)]
    locale: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=_locale)]
    front_matter: Annotated[dict[str, object] | None, fields.Dict(load_default=None, allow_none=True)]


class IssueSchema(RequestSchema):
    """One SEO issue."""

    id = text(1, 200)
    message = text(1, 1000)


@dataclass(frozen=True, kw_only=True)
class FixSeoBody(AiRequestBody):
    """A page with SEO issues."""

    content: Annotated[str, text(1, CONTENT_CHARACTERS)]
    issues: Annotated[
        list[dict[str, str]],
        BoundedList(
            fields.Nested(IssueSchema),
            required=True,
            min_length=1,
            max_length=MAX_ISSUES,
            metadata={"description": "The issues to fix"},
        ),
    ]
    front_matter: Annotated[dict[str, object] | None, fields.Dict(load_default=None, allow_none=True)]
    locale: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=_locale)]
