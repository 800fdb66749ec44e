"""Bodies, queries and results of builds."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import Schema, ValidationError, fields

from app.http.json_schema import OPTIONAL, full_sha
from app.http.validation import DateTimeMs, IdField, PageQuery, PassthroughSchema, RequestBody, RequestSchema
from app.models.site_build import BuildState
from app.resources.site_build.changed_pages import PageChange


@dataclass(frozen=True, kw_only=True)
class RequestBuildBody(RequestBody):
    """The commit to build, or the change set whose head is built."""

    ALTERNATIVES = (("commit_sha",), ("change_set_id",))

    commit_sha: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=full_sha)]
    change_set_id: Annotated[
        str | None,
        IdField(
            "chg", load_default=None, allow_none=True, metadata={"description": "A change set, whose head is built"}
        ),
    ]

    def __post_init__(self) -> None:
        """Require exactly one of both."""
        if (self.commit_sha is None) == (self.change_set_id is None):
            raise ValidationError({"commit_sha": ["Name a commit or a change set."]})


@dataclass(frozen=True, kw_only=True)
class BuildsQuery(PageQuery):
    """A page of builds."""

    commit_sha: Annotated[
        str | None,
        fields.String(load_default=None, validate=full_sha, metadata={"description": "Only the builds of this commit"}),
    ]


class BuildFailureSchema(Schema):
    """The reason of a failed build."""

    code = fields.String(metadata={"description": "An error code, for programs"})
    message = fields.String(metadata={"description": "A sentence for people"})
    step = fields.String(allow_none=True, metadata={"description": "The step that failed in words, or null"})
    hint = fields.String(allow_none=True, metadata={"description": "What can be done about it, or null"})
    log_tail = fields.String(metadata={"description": "The end of the log"})


class BuildSchema(PassthroughSchema):
    """A build: the static output of a commit."""

    id = fields.String()
    project_id = fields.String()
    change_set_id = fields.String(
        allow_none=True, metadata={"description": "The change set that asked for it, or null"}
    )
    commit_sha = fields.String()
    state = fields.Enum(BuildState, by_value=True, metadata={"description": "The state of the build"})
    failure = fields.Nested(
        BuildFailureSchema, allow_none=True, metadata={"description": "The reason of a failed build, else null"}
    )
    files = fields.Integer(allow_none=True, metadata={"description": "The number of files of a ready build"})
    size = fields.Integer(allow_none=True, metadata={"description": "The size of all files, in bytes"})
    stored_files = fields.Integer(
        allow_none=True, metadata={"description": "The number of contents that no earlier build of the project had"}
    )
    seconds = fields.Float(allow_none=True, metadata={"description": "The time from the start to the end"})
    expires_at = DateTimeMs(allow_none=True, metadata={"description": "The time at which the files are deleted"})
    url = fields.String(
        allow_none=True,
        metadata={"description": "The address of the built site, for the caller and for five minutes, or null"},
    )
    createdAt = DateTimeMs()  # noqa: N815 (wire name)
    updatedAt = DateTimeMs()  # noqa: N815 (wire name)


class ChangedPageSchema(RequestSchema):
    """A page that a change set changes."""

    url = fields.String(metadata={"description": "The path of the page in the site"})
    title = fields.String(metadata={"description": "The title of the page, empty without one"})
    kind = fields.Enum(PageChange, by_value=True, metadata={"description": "The difference of the page"})
    cause = fields.List(
        fields.String(), metadata={"description": "The changed files whose page it is likely to be, or none"}
    )


class ChangedPagesMetaSchema(PassthroughSchema):
    """The state of the comparison, and the position in the list."""

    state = fields.Enum(
        BuildState,
        by_value=True,
        allow_none=True,
        metadata={"description": "The state of the builds, or null if the set or its base was not built"},
    )
    all_pages = fields.Boolean(
        metadata={"description": "Whether header, menu or footer of every page differ. The list has other differences"}
    )
    build_id = fields.String(allow_none=True, metadata={"description": "The build of the change set, or null"})
    base_build_id = fields.String(allow_none=True, metadata={"description": "The build of its base, or null"})
    next_cursor = fields.String(allow_none=True)
    total = fields.Integer()


class DeletedBuildSchema(Schema):
    """The id of the deleted build."""

    id = fields.String()


class StorageLimitSchema(Schema):
    """The data of a request that exceeds the storage for builds."""

    used = fields.Integer(metadata=OPTIONAL | {"description": "The stored bytes of the builds of the organization"})
    limit = fields.Integer(metadata=OPTIONAL | {"description": "The largest number of these bytes"})
