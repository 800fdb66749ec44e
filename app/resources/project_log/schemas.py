"""Bodies, queries and results of the project log (contract, 4.9)."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import fields, post_dump, validate

from app.http.json_schema import plain_path
from app.http.validation import DateTimeMs, Length, PageQuery, RequestBody, RequestSchema
from app.models.project_log import LogAction, LogSource


@dataclass(frozen=True, kw_only=True)
class RecordChangeBody(RequestBody):
    """A file change that a client reports."""

    action: Annotated[LogAction, fields.Enum(LogAction, by_value=True, required=True)]
    file: Annotated[str, fields.String(required=True, validate=plain_path)]
    file_type: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=Length(max=40))]


@dataclass(frozen=True, kw_only=True)
class LogQuery(PageQuery):
    """A filter and a page of entries."""

    action: Annotated[LogAction | None, fields.Enum(LogAction, by_value=True, load_default=None)]
    file: Annotated[
        str | None,
        fields.String(
            load_default=None,
            validate=[Length(max=1024), validate.ContainsNoneOf("\0", error="Must not contain NUL.")],
        ),
    ]


class LogTokenSchema(RequestSchema):
    """The API token that made a change."""

    id = fields.String()
    name = fields.String(allow_none=True, metadata={"description": "Null after the deletion of the user"})


class LogEntrySchema(RequestSchema):
    """An entry of the log. Only a change through an API token has a `token`."""

    id = fields.String()
    action = fields.Enum(LogAction, by_value=True)
    file = fields.String()
    file_type = fields.String(allow_none=True)
    user_id = fields.String(allow_none=True)
    user_name = fields.String(allow_none=True)
    source = fields.String(
        attribute="shown_source", validate=validate.OneOf([*(str(source) for source in LogSource), "token"])
    )
    token = fields.Nested(LogTokenSchema, metadata={"x-optional": True})
    commit_sha = fields.String(allow_none=True)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)

    @post_dump
    def omit_missing_token(self, entry: dict[str, object], **_: object) -> dict[str, object]:
        """Remove the token of a change without one."""
        if entry["token"] is None:
            del entry["token"]
        return entry


class LogMetaSchema(RequestSchema):
    """The number of entries and the cursor of the next page."""

    total = fields.Integer()
    next_cursor = fields.String(allow_none=True)


class LogEntriesSchema(RequestSchema):
    """A page of the log."""

    project_id = fields.String()
    logs = fields.List(fields.Nested(LogEntrySchema), metadata={"description": "Newest first"})
    meta = fields.Nested(LogMetaSchema)
