"""Request bodies and response schemas of `/api/sandbox`."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import Schema, ValidationError, fields, validate

from app.http.json_schema import OPTIONAL, SHA, full_sha, plain_path
from app.http.validation import DateTimeMs, IdField, Length, PassthroughSchema, RequestBody, StrictBoolean, text
from app.models.sandbox import PreviewState

MAX_FILE_CHARACTERS = 1024 * 1024
STATES = [str(state) for state in PreviewState]


@dataclass(frozen=True, kw_only=True)
class UncommittedFileBody(RequestBody):
    """An unsaved file of the editor."""

    path: Annotated[str, fields.String(required=True, validate=plain_path)]
    content: Annotated[
        str,
        fields.String(
            required=True,
            validate=Length(max=MAX_FILE_CHARACTERS),
            metadata={"description": "The complete unsaved text of the file"},
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class CreateSandboxBody(RequestBody):
    """Project and commit of a preview."""

    project_id: Annotated[str, IdField("prj", required=True, data_key="projectId")]
    branch: Annotated[str | None, text(1, 255, required=False, load_default=None, allow_none=True)]
    commit_sha: Annotated[
        str | None, fields.String(load_default=None, allow_none=True, validate=full_sha, data_key="commitSha")
    ]
    force_sync: Annotated[bool, StrictBoolean(load_default=False, data_key="forceSync")]
    only_if_active: Annotated[bool, StrictBoolean(load_default=False, data_key="onlyIfActive")]
    editable: Annotated[
        bool,
        StrictBoolean(
            load_default=False,
            metadata={"description": "Whether the pages have source marks, for editing on the page"},
        ),
    ]
    uncommitted_file: Annotated[
        UncommittedFileBody | None,
        fields.Nested(
            UncommittedFileBody.schema,
            load_default=None,
            allow_none=True,
            data_key="uncommittedFile",
            metadata={"description": "A file that the preview shows instead of the committed one"},
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class SandboxNameBody(RequestBody):
    """The id of a project or of a sandbox."""

    ALTERNATIVES = (("projectId",), ("sandboxId",))

    project_id: Annotated[str | None, IdField("prj", load_default=None, data_key="projectId")]
    sandbox_id: Annotated[str | None, IdField("sbx", load_default=None, data_key="sandboxId")]

    def __post_init__(self) -> None:
        """Require one of both ids."""
        if self.project_id is None and self.sandbox_id is None:
            raise ValidationError({"projectId": ["Name a project or a sandbox."]})


class CreatedSandboxSchema(PassthroughSchema):
    """A running sandbox, or `active: false` if `onlyIfActive` was sent and none is running."""

    done = fields.Boolean(metadata=OPTIONAL | {"description": "Always true"})
    active = fields.Boolean(metadata={"description": "Whether a sandbox is running. False only with `onlyIfActive`"})
    sandboxId = fields.String(metadata=OPTIONAL)  # noqa: N815 (the contract's name)
    sandboxName = fields.String(metadata=OPTIONAL)  # noqa: N815 (the contract's name)
    previewUrl = fields.String(metadata=OPTIONAL)  # noqa: N815 (the contract's name)
    commitSha = fields.String(allow_none=True, metadata=OPTIONAL | SHA)  # noqa: N815 (the contract's name)
    status = fields.Enum(PreviewState, by_value=True, metadata=OPTIONAL | {"description": "The state of the preview"})
    expiresAt = DateTimeMs(metadata=OPTIONAL)  # noqa: N815 (the contract's name)
    uncommittedSynced = fields.Boolean(metadata=OPTIONAL)  # noqa: N815 (the contract's name)
    editable = fields.Boolean(metadata=OPTIONAL | {"description": "Whether the pages have source marks"})
    editableReason = fields.String(  # noqa: N815 (the contract's name)
        metadata=OPTIONAL | {"description": "Why the pages of an editable preview have no marks"}
    )


class StartStepSchema(PassthroughSchema):
    """The step that begins, for example `Installing dependencies`, or the present one with new output."""

    step = fields.String(metadata={"description": "The step in words, for example `Installing dependencies`"})
    detail = fields.String(metadata=OPTIONAL | {"description": "The last line of the log, at most 200 characters"})


class StartDoneSchema(CreatedSandboxSchema):
    """The last event of a successful start."""

    done = fields.Boolean(metadata={"description": "Always true."})


class StartFailedSchema(PassthroughSchema):
    """The last event of a failed start.

    A site that fails has a step, a hint, the end of its log and a page with all of it.
    """

    error = fields.String(metadata={"description": "A sentence for people"})
    code = fields.String(metadata={"description": "An error code, for programs"})
    step = fields.String(allow_none=True, metadata=OPTIONAL | {"description": "The step that failed in words, or null"})
    hint = fields.String(allow_none=True, metadata=OPTIONAL)
    log_tail = fields.String(allow_none=True, metadata=OPTIONAL)
    log_url = fields.String(
        allow_none=True,
        metadata=OPTIONAL | {"description": "A page with the complete log, for the caller and for five minutes"},
    )


class HeartbeatSchema(Schema):
    """The lease after a heartbeat. `ok` is false if the sandbox has ended."""

    ok = fields.Boolean(metadata={"description": "False if the sandbox has ended"})
    status = fields.String(validate=validate.OneOf(STATES))
    expiresAt = DateTimeMs(allow_none=True)  # noqa: N815 (the contract's name)


class StoppedSandboxSchema(PassthroughSchema):
    """Confirmation that the sandbox has ended."""

    ok = fields.Boolean(metadata={"description": "Always true, also if no sandbox was running"})


class FailedStartSchema(Schema):
    """The data of a failed start, outside of its stream."""

    code = fields.String(
        metadata=OPTIONAL | {"description": "The error code of the failed start, or null"}, allow_none=True
    )
    message = fields.String(metadata=OPTIONAL, allow_none=True)
    step = fields.String(metadata=OPTIONAL | {"description": "The step that failed in words, or null"}, allow_none=True)
    hint = fields.String(metadata=OPTIONAL, allow_none=True)
    log_tail = fields.String(metadata=OPTIONAL | {"description": "The end of the log"})
    log_url = fields.String(
        metadata=OPTIONAL | {"description": "A page with the complete log, for the caller and for five minutes"}
    )
