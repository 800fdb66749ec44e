"""Request bodies and response schemas of `/api/sandbox`."""

from typing import Any, TypedDict

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from app.http.file_paths import plain_path
from app.http.git_refs import full_sha
from app.http.json_schema import OPTIONAL, SHA
from app.http.validation import DateTimeMs, IdField, PassthroughSchema, RequestSchema, StrictBoolean, text
from app.models.project_preview import PreviewState

MAX_FILE_CHARACTERS = 1024 * 1024
STATES = [str(state) for state in PreviewState]


class UncommittedFile(RequestSchema):
    """An unsaved file of the editor."""

    path = fields.String(required=True, validate=plain_path)
    content = fields.String(required=True, validate=validate.Length(max=MAX_FILE_CHARACTERS))


class CreateSandbox(RequestSchema):
    """Project and commit of a preview."""

    projectId = IdField("prj", required=True)  # noqa: N815 (the contract's name)
    branch = text(1, 255, required=False, load_default=None, allow_none=True)
    commitSha = fields.String(load_default=None, allow_none=True, validate=full_sha)  # noqa: N815 (the contract's name)
    forceSync = StrictBoolean(load_default=False)  # noqa: N815 (the contract's name)
    onlyIfActive = StrictBoolean(load_default=False)  # noqa: N815 (the contract's name)
    uncommittedFile = fields.Nested(UncommittedFile, load_default=None, allow_none=True)  # noqa: N815


class FileBody(TypedDict):
    """The loaded values of `UncommittedFile`."""

    path: str
    content: str


class CreateBody(TypedDict):
    """The loaded values of `CreateSandbox`."""

    projectId: str
    branch: str | None
    commitSha: str | None
    forceSync: bool
    onlyIfActive: bool
    uncommittedFile: FileBody | None


class NameSandbox(RequestSchema):
    """The id of a project or of a sandbox."""

    projectId = IdField("prj", load_default=None)  # noqa: N815 (the contract's name)
    sandboxId = IdField("sbx", load_default=None)  # noqa: N815 (the contract's name)

    ONE_OF = (("projectId",), ("sandboxId",))

    @validates_schema
    def check_named(self, data: dict[str, Any], **_: object) -> None:
        """Require one of both ids."""
        if data["projectId"] is None and data["sandboxId"] is None:
            raise ValidationError({"projectId": ["Name a project or a sandbox."]})


class CreatedSandbox(PassthroughSchema):
    """A running sandbox, or `active: false` if `onlyIfActive` was sent and none is running."""

    done = fields.Boolean(metadata=OPTIONAL)
    active = fields.Boolean()
    sandboxId = fields.String(metadata=OPTIONAL)  # noqa: N815 (the contract's name)
    sandboxName = fields.String(metadata=OPTIONAL)  # noqa: N815 (the contract's name)
    previewUrl = fields.String(metadata=OPTIONAL)  # noqa: N815 (the contract's name)
    commitSha = fields.String(allow_none=True, metadata=OPTIONAL | SHA)  # noqa: N815 (the contract's name)
    status = fields.Enum(PreviewState, by_value=True, metadata=OPTIONAL)
    expiresAt = DateTimeMs(metadata=OPTIONAL)  # noqa: N815 (the contract's name)
    uncommittedSynced = fields.Boolean(metadata=OPTIONAL)  # noqa: N815 (the contract's name)


class StartStep(PassthroughSchema):
    """The step that begins, for example `Installing dependencies`."""

    step = fields.String()


class StartDone(CreatedSandbox):
    """The last event of a successful start."""

    done = fields.Boolean(metadata={"const": True})


class StartFailed(PassthroughSchema):
    """The last event of a failed start. A site that fails has a step, a hint and the end of its log."""

    error = fields.String()
    code = fields.String()
    step = fields.String(allow_none=True, metadata=OPTIONAL)
    hint = fields.String(allow_none=True, metadata=OPTIONAL)
    log_tail = fields.String(allow_none=True, metadata=OPTIONAL)


class Beat(Schema):
    """The lease after a heartbeat. `ok` is false if the sandbox has ended."""

    ok = fields.Boolean()
    status = fields.String(validate=validate.OneOf(STATES))
    expiresAt = DateTimeMs(allow_none=True)  # noqa: N815 (the contract's name)


class Stopped(PassthroughSchema):
    """Confirmation that the sandbox has ended."""

    ok = fields.Boolean()
