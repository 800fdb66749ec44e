"""The bodies and answers of `/api/sandbox`."""

from typing import Any, TypedDict

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from app.core.paths import path_fault
from app.core.refs import is_sha
from app.http.validation import Body, Flag, Id, Moment, Ready, text

MAX_FILE_CHARACTERS = 1024 * 1024


def _sha(value: str) -> None:
    if not is_sha(value):
        raise ValidationError("This is not a commit's full sha.")


def _path(value: str) -> None:
    fault = path_fault(value)
    if fault is not None:
        raise ValidationError(fault)


class UncommittedFile(Body):
    """A file as the editor has it."""

    path = fields.String(required=True, validate=_path)
    content = fields.String(required=True, validate=validate.Length(max=MAX_FILE_CHARACTERS))


class CreateSandbox(Body):
    """Which sandbox is wanted."""

    projectId = Id("prj", required=True)  # noqa: N815 (the contract's name)
    branch = text(1, 255, required=False, load_default=None, allow_none=True)
    commitSha = fields.String(load_default=None, allow_none=True, validate=_sha)  # noqa: N815 (the contract's name)
    forceSync = Flag(load_default=False)  # noqa: N815 (the contract's name)
    onlyIfActive = Flag(load_default=False)  # noqa: N815 (the contract's name)
    uncommittedFile = fields.Nested(UncommittedFile, load_default=None, allow_none=True)  # noqa: N815


class FileBody(TypedDict):
    """What `UncommittedFile` loads to."""

    path: str
    content: str


class CreateBody(TypedDict):
    """What `CreateSandbox` loads to."""

    projectId: str
    branch: str | None
    commitSha: str | None
    forceSync: bool
    onlyIfActive: bool
    uncommittedFile: FileBody | None


class NameSandbox(Body):
    """A project's sandbox, or one by its id; an id that belongs to another project is none."""

    projectId = Id("prj", load_default=None)  # noqa: N815 (the contract's name)
    sandboxId = Id("sbx", load_default=None)  # noqa: N815 (the contract's name)

    @validates_schema
    def check_named(self, data: dict[str, Any], **_: object) -> None:
        """One of both is needed."""
        if data["projectId"] is None and data["sandboxId"] is None:
            raise ValidationError({"projectId": ["Name a project or a sandbox."]})


class CreatedSandbox(Ready):
    """A sandbox that answers, or `{"active": false}`."""

    done = fields.Boolean()
    active = fields.Boolean()
    sandboxId = fields.String()  # noqa: N815 (the contract's name)
    sandboxName = fields.String()  # noqa: N815 (the contract's name)
    previewUrl = fields.String()  # noqa: N815 (the contract's name)
    commitSha = fields.String(allow_none=True)  # noqa: N815 (the contract's name)
    status = fields.String()
    expiresAt = Moment()  # noqa: N815 (the contract's name)
    uncommittedSynced = fields.Boolean()  # noqa: N815 (the contract's name)


class Beat(Schema):
    """How long it lives now; `ok` is false when it is gone."""

    ok = fields.Boolean()
    status = fields.String()
    expiresAt = Moment(allow_none=True)  # noqa: N815 (the contract's name)


class Stopped(Ready):
    """It is gone."""

    ok = fields.Boolean()
