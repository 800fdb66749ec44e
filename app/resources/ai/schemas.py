"""Answers of the AI handlers that are JSON (contract 4.12), and of the usage."""

from marshmallow import Schema, fields

from app.http.validation import Ready


class Tokens(Schema):
    """Tokens of one answer."""

    inputTokens = fields.Integer()  # noqa: N815 (wire name)
    outputTokens = fields.Integer()  # noqa: N815 (wire name)
    totalTokens = fields.Integer()  # noqa: N815 (wire name)


class Completion(Ready):
    """The next few words."""

    text = fields.String()
    finishReason = fields.String()  # noqa: N815 (wire name)
    usage = fields.Nested(Tokens)


class CommitText(Ready):
    """A commit message, whole and in its parts."""

    text = fields.String()
    type = fields.String()
    scope = fields.String(allow_none=True)
    subject = fields.String()
    body = fields.String()


class OpenGraph(Schema):
    """What social networks show."""

    title = fields.String()
    description = fields.String()


class PageMetadata(Ready):
    """What search engines and social networks are told of a page."""

    title = fields.String()
    description = fields.String()
    keywords = fields.List(fields.String())
    slug = fields.String()
    og = fields.Nested(OpenGraph)


class Change(Schema):
    """What was done about one issue."""

    id = fields.String()
    summary = fields.String()


class MendedPage(Ready):
    """A page without its issues, and the diff."""

    content = fields.String()
    diff = fields.String()
    changes = fields.List(fields.Nested(Change))


class Budget(Schema):
    """The day's tokens of the service's own model."""

    tokens_a_day = fields.Integer()
    used = fields.Integer()
    resets_at = fields.String()


class HandlerUsage(Schema):
    """What one handler's calls came to."""

    handler = fields.String()
    own_key = fields.Boolean()
    calls = fields.Integer()
    input_tokens = fields.Integer()
    output_tokens = fields.Integer()


class Usage(Ready):
    """What the caller's calls to models came to."""

    budget = fields.Nested(Budget)
    running = fields.Integer()
    days = fields.Integer()
    calls = fields.Integer()
    input_tokens = fields.Integer()
    output_tokens = fields.Integer()
    by_handler = fields.List(fields.Nested(HandlerUsage))
