"""Bodies, queries and results of the project log (contract, 4.9)."""

from typing import Any, NotRequired, TypedDict

from marshmallow import fields, post_load, validate

from app.http.file_paths import plain_path
from app.http.validation import DateTimeMs, PageQuery, RequestSchema
from app.models.project_log import LogAction, LogSource

MAX_PAGE = 100


class RecordChange(RequestSchema):
    """A file change that a client reports."""

    action = fields.Enum(LogAction, by_value=True, required=True)
    file = fields.String(required=True, validate=plain_path)
    file_type = fields.String(load_default=None, allow_none=True, validate=validate.Length(max=40))


class RecordChangeBody(TypedDict):
    """The loaded form of `RecordChange`."""

    action: LogAction
    file: str
    file_type: NotRequired[str | None]


class LogQuery(PageQuery):
    """A filter and a page of entries."""

    action = fields.Enum(LogAction, by_value=True, load_default=None)
    file = fields.String(
        load_default=None,
        validate=[validate.Length(max=1024), validate.ContainsNoneOf("\0", error="Must not contain NUL.")],
    )

    @post_load
    def clamp(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Clamp the limit to the maximum."""
        return data | {"limit": min(data["limit"], MAX_PAGE)}


class LogArguments(TypedDict):
    """The loaded form of `LogQuery`."""

    limit: int
    cursor: str | None
    action: LogAction | None
    file: str | None


class LogToken(RequestSchema):
    """The API token that made a change."""

    id = fields.String()
    name = fields.String(allow_none=True)


class LogEntry(RequestSchema):
    """An entry of the log."""

    id = fields.String()
    action = fields.Enum(LogAction, by_value=True)
    file = fields.String()
    file_type = fields.String(allow_none=True)
    user_id = fields.String(allow_none=True)
    user_name = fields.String(allow_none=True)
    source = fields.String(
        attribute="shown_source", validate=validate.OneOf([*(str(source) for source in LogSource), "token"])
    )
    token = fields.Nested(LogToken, allow_none=True)
    commit_sha = fields.String(allow_none=True)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)


class LogMeta(RequestSchema):
    """The number of entries and the cursor of the next page."""

    total = fields.Integer()
    next_cursor = fields.String(allow_none=True)


class LogEntries(RequestSchema):
    """A page of the log."""

    project_id = fields.String()
    logs = fields.List(fields.Nested(LogEntry))
    meta = fields.Nested(LogMeta)
