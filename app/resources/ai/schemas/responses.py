"""Response schemas of the AI handlers and of the usage (contract 4.12)."""

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
    keywords = fields.List(fields.String())
    slug = fields.String()
    og = fields.Nested(OpenGraphSchema)


class SeoChangeSchema(Schema):
    """The change for one issue."""

    id = fields.String()
    summary = fields.String()


class FixedPageSchema(PassthroughSchema):
    """The fixed page and the diff."""

    content = fields.String()
    diff = fields.String()
    changes = fields.List(fields.Nested(SeoChangeSchema))


class TokenBudgetSchema(Schema):
    """The daily budget of the operator's tokens."""

    tokens_a_day = fields.Integer()
    used = fields.Integer()
    resets_at = fields.String(metadata={"format": "date-time"})


class HandlerUsageSchema(Schema):
    """Usage of one handler."""

    handler = fields.String()
    own_key = fields.Boolean()
    calls = fields.Integer()
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
    by_handler = fields.List(fields.Nested(HandlerUsageSchema))
