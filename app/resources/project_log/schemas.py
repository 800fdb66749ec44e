"""Bodies, queries and results of the project log (contract, 4.9)."""

from typing import Any, NotRequired, TypedDict

from marshmallow import fields, post_load, validate

from app.http.file_paths import plain_path
from app.http.validation import Body, Moment, Page
from app.models.project_log import LogAction

MAX_PAGE = 100


class RecordChange(Body):
    """A file change a client reports."""

    action = fields.Enum(LogAction, by_value=True, required=True)
    file = fields.String(required=True, validate=plain_path)
    file_type = fields.String(load_default=None, allow_none=True, validate=validate.Length(max=40))


class RecordChangeBody(TypedDict):
    """`RecordChange`, cleaned."""

    action: LogAction
    file: str
    file_type: NotRequired[str | None]


class LogQuery(Page):
    """Which entries."""

    action = fields.Enum(LogAction, by_value=True, load_default=None)
    file = fields.String(
        load_default=None,
        validate=[validate.Length(max=1024), validate.ContainsNoneOf("\0", error="May not hold NUL.")],
    )

    @post_load
    def clamp(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """A limit above the maximum is clamped."""
        return data | {"limit": min(data["limit"], MAX_PAGE)}


class LogArguments(TypedDict):
    """`LogQuery`, cleaned."""

    limit: int
    cursor: str | None
    action: LogAction | None
    file: str | None


class LogEntry(Body):
    """One entry."""

    id = fields.String()
    action = fields.Enum(LogAction, by_value=True)
    file = fields.String()
    file_type = fields.String(allow_none=True)
    user_id = fields.String(allow_none=True)
    user_name = fields.String(allow_none=True)
    source = fields.String()
    commit_sha = fields.String(allow_none=True)
    createdAt = Moment(attribute="created_at")  # noqa: N815 (wire name)


class LogMeta(Body):
    """How many entries there are, and where the next page starts."""

    total = fields.Integer()
    next_cursor = fields.String(allow_none=True)


class LogEntries(Body):
    """A page of the log."""

    project_id = fields.String()
    logs = fields.List(fields.Nested(LogEntry))
    meta = fields.Nested(LogMeta)
