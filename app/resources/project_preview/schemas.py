"""Request body and response schemas of `/project-preview`."""

import re
from dataclasses import dataclass
from typing import Annotated

from marshmallow import Schema, fields, validate

from app.http.json_schema import OPTIONAL, full_sha
from app.http.validation import (
    ABSENT,
    Absent,
    DateTimeMs,
    KeyedDict,
    Length,
    PassthroughSchema,
    RequestBody,
    RequestQuery,
    text,
    web_url,
)
from app.models.sandbox import PreviewState

MAX_URLS, MAX_NUMBERS = 16, 500
_NUMBERS = re.compile(rf"[0-9]{{1,8}}(?:,[0-9]{{1,8}}){{0,{MAX_NUMBERS - 1}}}\Z")
KINDS = ("text", "value", "alt")


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


@dataclass(frozen=True, kw_only=True)
class MarksQuery(RequestQuery):
    """The numbers of source marks."""

    numbers: Annotated[
        str,
        fields.String(
            required=True,
            validate=validate.Regexp(_NUMBERS, error=f"Send 1 to {MAX_NUMBERS} numbers, separated by commas."),
            metadata={"description": f"At most {MAX_NUMBERS} numbers, separated by commas", "example": "12,13"},
        ),
    ]

    @property
    def distinct(self) -> list[int]:
        """Return the numbers in the order of the query, each once."""
        return list(dict.fromkeys(map(int, self.numbers.split(","))))


class MarkedBlockSchema(Schema):
    """A block of the text after the front matter."""

    index = fields.Integer(metadata={"description": "The position of the block in the text, from 0"})
    lines = fields.List(
        fields.Integer(), metadata={"description": "Its first and last line in the file, from 1", "example": [7, 9]}
    )


class SourceMarkSchema(Schema):
    """The source of a text of an editable preview: a block of a file, or a value. Unknown numbers have `status` 404."""

    number = fields.Integer(metadata={"description": "The number of the mark"})
    status = fields.Integer(
        metadata={"description": "200, or 404 for a number that no preview of the project gave out"}
    )
    path = fields.String(metadata=OPTIONAL)
    blob_sha = fields.String(metadata=OPTIONAL | {"description": "The Git blob id of the version that is shown"})
    pointer = fields.String(
        allow_none=True, metadata=OPTIONAL | {"description": "The JSON pointer of a value, or null for a block"}
    )
    block = fields.Nested(
        MarkedBlockSchema, allow_none=True, metadata=OPTIONAL | {"description": "The block, or null for a value"}
    )
    entry_title = fields.String(
        allow_none=True, metadata=OPTIONAL | {"description": "The title of the entry, or null without one"}
    )
    kind = fields.String(validate=validate.OneOf(KINDS), metadata=OPTIONAL)


class SourceMarksSchema(Schema):
    """The sources of texts, in the order of the numbers."""

    marks = fields.List(fields.Nested(SourceMarkSchema))


class DeletedPreviewSchema(PassthroughSchema):
    """A deleted preview record."""

    project_id = fields.String()
    deleted = fields.Boolean()
