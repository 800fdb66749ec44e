"""Results and events of the AI routes."""

from typing import Any

from marshmallow import Schema, fields, validate

from app.drivers.ai.port import StopReason
from app.http.validation import PassthroughSchema
from app.resources.ai.output_schemas import TYPES as COMMIT_TYPES


class TokenUsageSchema(Schema):
    """Tokens of one reply."""

    inputTokens = fields.Integer()  # noqa: N815 (wire name)
    outputTokens = fields.Integer()  # noqa: N815 (wire name)
    totalTokens = fields.Integer()  # noqa: N815 (wire name)


class CompletionSchema(PassthroughSchema):
    """A completion."""

    text = fields.String()
    finishReason = fields.Enum(StopReason, by_value=True)  # noqa: N815 (wire name)
    usage = fields.Nested(TokenUsageSchema)


class EditedCodeSchema(PassthroughSchema):
    """The changed code and a unified diff that `git apply` accepts."""

    path = fields.String()
    code = fields.String()
    diff = fields.String()


class CommitTextSchema(PassthroughSchema):
    """A commit message, complete and in parts."""

    text = fields.String()
    type = fields.String(validate=validate.OneOf(COMMIT_TYPES))
    scope = fields.String(allow_none=True)
    subject = fields.String()
    body = fields.String()


class OpenGraphSchema(Schema):
    """Metadata for social networks."""

    title = fields.String()
    description = fields.String()


class PageMetadataSchema(PassthroughSchema):
    """Metadata of a page for search engines and social networks."""

    title = fields.String()
    description = fields.String()
    keywords = fields.List(fields.String(), metadata={"description": "Search terms, each once"})
    slug = fields.String()
    og = fields.Nested(OpenGraphSchema)


class SeoChangeSchema(Schema):
    """The change for one issue."""

    id = fields.String()
    summary = fields.String()


class FixedPageSchema(PassthroughSchema):
    """The fixed page and the diff."""

    content = fields.String()
    diff = fields.String(metadata={"description": "A unified diff that `git apply` accepts"})
    changes = fields.List(fields.Nested(SeoChangeSchema), metadata={"description": "The change for each issue"})


class TokenBudgetSchema(Schema):
    """The daily budget of the operator's tokens."""

    tokens_a_day = fields.Integer()
    used = fields.Integer()
    resets_at = fields.String(metadata={"format": "date-time"})


class HandlerUsageSchema(Schema):
    """Usage of one handler."""

    handler = fields.String()
    own_key = fields.Boolean()
    calls = fields.Integer(metadata={"description": "The number of calls to models"})
    input_tokens = fields.Integer()
    output_tokens = fields.Integer()


class UsageSchema(PassthroughSchema):
    """Usage of the caller."""

    budget = fields.Nested(TokenBudgetSchema)
    running = fields.Integer()
    days = fields.Integer()
    calls = fields.Integer()
    input_tokens = fields.Integer()
    output_tokens = fields.Integer()
    by_handler = fields.List(
        fields.Nested(HandlerUsageSchema), metadata={"description": "The usage by handler and by the owner of the key"}
    )


def _type(name: str) -> fields.String:
    """Return the field with the type of a part."""
    return fields.String(metadata={"const": name, "description": "The type of the part"})


class StartPartSchema(PassthroughSchema):
    """The first part of a message."""

    type = _type("start")
    messageId = fields.String(metadata={"description": "The id of the new message"})  # noqa: N815 (wire name)


class StartStepPartSchema(PassthroughSchema):
    """The start of a reply of the model."""

    type = _type("start-step")


class TextStartPartSchema(PassthroughSchema):
    """The start of a text."""

    type = _type("text-start")
    id = fields.String()


class TextDeltaPartSchema(PassthroughSchema):
    """The next piece of a text."""

    type = _type("text-delta")
    id = fields.String()
    delta = fields.String()


class TextEndPartSchema(PassthroughSchema):
    """The end of a text."""

    type = _type("text-end")
    id = fields.String()


class FinishStepPartSchema(PassthroughSchema):
    """The end of a reply of the model."""

    type = _type("finish-step")


class FinishPartSchema(PassthroughSchema):
    """The end of a complete message."""

    type = _type("finish")
    finishReason = fields.Enum(StopReason, by_value=True)  # noqa: N815 (wire name)


class ErrorPartSchema(PassthroughSchema):
    """A failure after the start of the stream."""

    type = _type("error")
    errorText = fields.String()  # noqa: N815 (wire name)


class CommentSchema(Schema):
    """A comment on a block of the document."""

    blockId = fields.String()  # noqa: N815 (wire name)
    comment = fields.String(metadata={"description": "The text of the comment"})
    content = fields.String(metadata={"description": "The text of the block to which the comment belongs"})


class CommentDataSchema(Schema):
    """A comment, or null with the status `finished`."""

    comment = fields.Nested(CommentSchema, allow_none=True, metadata={"description": "Null after the last comment"})
    status = fields.String(
        metadata={"enum": ["streaming", "finished"], "description": "`finished` after the last comment"}
    )


class CommentPartSchema(PassthroughSchema):
    """A comment of the comment mode."""

    type = _type("data-comment")
    id = fields.String()
    data = fields.Nested(CommentDataSchema)


class DiffDataSchema(Schema):
    """The new text of a file and a unified diff that `git apply` accepts."""

    path = fields.String()
    diff = fields.String(metadata={"description": "A unified diff that `git apply` accepts"})
    code = fields.String(metadata={"description": "The complete new text of the file"})


class DiffPartSchema(PassthroughSchema):
    """The result of a code edit."""

    type = _type("data-diff")
    data = fields.Nested(DiffDataSchema)


class ToolInputPartSchema(PassthroughSchema):
    """A tool call of the model."""

    type = _type("tool-input-available")
    toolCallId = fields.String()  # noqa: N815 (wire name)
    toolName = fields.String(metadata={"description": "The tool that the model calls"})  # noqa: N815 (wire name)
    input: fields.Field[Any] = fields.Dict(metadata={"description": "The arguments of the call"})


class ToolInputErrorPartSchema(PassthroughSchema):
    """A tool call that cannot be parsed."""

    type = _type("tool-input-error")
    toolCallId = fields.String()  # noqa: N815 (wire name)
    toolName = fields.String(metadata={"description": "The tool that the model calls"})  # noqa: N815 (wire name)
    input = fields.String(metadata={"description": "The arguments as the model wrote them. They are not valid JSON"})
    errorText = fields.String()  # noqa: N815 (wire name)


class ToolOutputPartSchema(PassthroughSchema):
    """The result of a tool call."""

    type = _type("tool-output-available")
    toolCallId = fields.String()  # noqa: N815 (wire name)
    output = fields.Raw(metadata={"description": "The result as a JSON value"})


class ToolErrorPartSchema(PassthroughSchema):
    """The failure of a tool call."""

    type = _type("tool-output-error")
    toolCallId = fields.String()  # noqa: N815 (wire name)
    errorText = fields.String()  # noqa: N815 (wire name)


class SourcePartSchema(PassthroughSchema):
    """A file that the model read."""

    type = _type("source-document")
    sourceId = fields.String(metadata={"description": "The path of the file in the repository"})  # noqa: N815 (wire name)
    mediaType = fields.String()  # noqa: N815 (wire name)
    title = fields.String()
    filename = fields.String(metadata={"description": "The last part of the path"})


_MESSAGE: tuple[type[Schema], ...] = (
    StartPartSchema,
    StartStepPartSchema,
    FinishStepPartSchema,
    FinishPartSchema,
    ErrorPartSchema,
)
_TEXT: tuple[type[Schema], ...] = (TextStartPartSchema, TextDeltaPartSchema, TextEndPartSchema)
TEXT_EVENTS: tuple[type[Schema], ...] = (*_MESSAGE, *_TEXT)
COMMAND_EVENTS: tuple[type[Schema], ...] = (*TEXT_EVENTS, CommentPartSchema)
EDIT_EVENTS: tuple[type[Schema], ...] = (*TEXT_EVENTS, DiffPartSchema)
CHAT_EVENTS: tuple[type[Schema], ...] = (
    *TEXT_EVENTS,
    ToolInputPartSchema,
    ToolInputErrorPartSchema,
    ToolOutputPartSchema,
    ToolErrorPartSchema,
    SourcePartSchema,
)
