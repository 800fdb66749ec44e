"""Request body and response schemas of `/project-preview`."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import Schema, fields

from app.http.json_schema import full_sha
from app.http.validation import (
    ABSENT,
    Absent,
    DateTimeMs,
    KeyedDict,
    Length,
    PassthroughSchema,
    RequestBody,
    text,
    web_url,
)
from app.models.sandbox import PreviewState

MAX_URLS = 16


@dataclass(frozen=True, kw_only=True)
class ChangePreviewBody(RequestBody):
    """Changes of a preview record. The server sets ids and times."""

    sandbox_name: Annotated[str | Absent | None, text(0, 255, required=False, allow_none=True)] = ABSENT
    preview_url: Annotated[str | Absent | None, web_url(allow_none=True)] = ABSENT
    urls: Annotated[
        dict[str, str] | Absent,
        KeyedDict(keys=fields.String(), values=web_url(), validate=Length(max=MAX_URLS)),
    ] = ABSENT
    state: Annotated[PreviewState | Absent, fields.Enum(PreviewState, by_value=True)] = ABSENT
    commit_sha: Annotated[str | Absent | None, fields.String(allow_none=True, validate=full_sha)] = ABSENT


class PreviewFailureSchema(Schema):
    """Report of a failed start. `log_tail` has at most 4 KiB."""

    code = fields.String(allow_none=True, metadata={"description": "The error code of the failed start, or null"})
    message = fields.String(allow_none=True)
    step = fields.String(allow_none=True, metadata={"description": "The step of the start that failed, or null"})
    hint = fields.String(allow_none=True)
    log_tail = fields.String()


class PreviewSchema(Schema):
    """The preview record of a project (contract 4.7)."""

    project_id = fields.String()
    sandbox_id = fields.String(allow_none=True)
    sandbox_name = fields.String(allow_none=True)
    preview_url = fields.String(allow_none=True)
    urls = fields.Dict(keys=fields.String(), values=fields.Url())
    state = fields.Enum(PreviewState, by_value=True)
    commit_sha = fields.String(allow_none=True)
    failure = fields.Nested(
        PreviewFailureSchema, allow_none=True, metadata={"description": "The reason of the last failed start, or null"}
    )
    expires_at = DateTimeMs(
        allow_none=True, metadata={"description": "The end of the lease of the sandbox, or null without one"}
    )
    last_used_at = DateTimeMs(allow_none=True)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (the contract's name)
    updatedAt = DateTimeMs(attribute="updated_at")  # noqa: N815 (the contract's name)


class DeletedPreviewSchema(PassthroughSchema):
    """A deleted preview record."""

    project_id = fields.String()
    deleted = fields.Boolean()
