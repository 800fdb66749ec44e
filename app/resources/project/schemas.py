"""Request bodies, queries and response schemas of projects and branches."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import Schema, ValidationError, fields, validate

from app.core.limits import TextLengths
from app.core.paths import path_error
from app.core.refs import is_branch_name
from app.http.json_schema import FOLDER, OPTIONAL, branch_name, described
from app.http.validation import (
    ABSENT,
    Absent,
    DateTimeMs,
    IdField,
    Length,
    NameField,
    PassthroughSchema,
    RequestBody,
    RequestSchema,
    StrictBoolean,
    text,
    web_url,
)
from app.models.organization import ArchiveStatus
from app.models.project import ConnectionStatus, Generator, Provider, Publishers, Visibility
from app.models.project_content import IndexStatus
from app.resources.git_provider.schemas import ProviderName
from app.resources.organization.schemas import StatusQuery, status_filter

CONTENT_FOLDER = "The folder of the content files, or null if it is not set"
MEDIA_FOLDER = "The folder of the images, or null if it is not set"
MAX_PREFIX, MAX_APPROVALS = 100, 5
PUBLISHERS = "The members who may publish and schedule change sets: all members, or owners and admins"
APPROVALS = "The number of approvals that a change set needs"
GUEST_APPROVAL = "Whether the approval of a guest with a review link counts as an approval"
PREFIX = "The beginning of the branch names of change sets"
REQUIRED_SETS = "Whether commits on the working branch are refused, so that each change is a change set"
PUBLIC_FOLDER = "The folder of the files that the site serves unchanged, or null if it is not set"


def branch_field() -> fields.String:
    """Return a required field for the name of a branch."""
    return fields.String(required=True, validate=branch_name)


@described(maxLength=255)
def _branch_name_or_empty(value: str) -> None:
    if value:
        branch_name(value)


@described(**FOLDER)
def _path_or_empty(value: str) -> None:
    fault = path_error(value) if value else None
    if fault is not None:
        raise ValidationError(f"{fault}.")


@described(maxLength=100, pattern=r"^[^\x00-\x20\x7f~^:?*\[\\]+$")
def _branch_prefix(value: str) -> None:
    if len(value) > MAX_PREFIX or not is_branch_name(f"{value}/page") or value.startswith("refs/"):
        raise ValidationError("Must be the beginning of a branch name, for example “galley”.")


class _Folder(fields.String):
    """The path of a folder, with or without a slash at its end."""

    def __init__(self, description: str) -> None:
        super().__init__(allow_none=True, validate=_path_or_empty, metadata={"description": description})

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> str:
        path: str = super()._deserialize(value, attr, data, **kwargs)
        return path.removesuffix("/")


class PathsSchema(RequestSchema):
    """The folders of a site in the repository. An empty path is the root."""

    content = _Folder(CONTENT_FOLDER)
    media = _Folder(MEDIA_FOLDER)
    public = _Folder(PUBLIC_FOLDER)


@dataclass(frozen=True, kw_only=True)
class _ProjectSettingsBody(RequestBody):
    """Settings of a project that a creation and a change accept."""

    image: Annotated[str | Absent | None, text(1, 1024, data_key="project_image", required=False, allow_none=True)] = (
        ABSENT
    )
    site_url: Annotated[str | Absent | None, web_url(allow_none=True)] = ABSENT
    framework: Annotated[str | Absent | None, text(1, 40, required=False, allow_none=True)] = ABSENT
    paths: Annotated[dict[str, str | None] | Absent, fields.Nested(PathsSchema)] = ABSENT
    preview_network: Annotated[bool | Absent, StrictBoolean()] = ABSENT
    build_change_sets: Annotated[
        bool | Absent, StrictBoolean(metadata={"description": "Whether submitted change sets are built"})
    ] = ABSENT


@dataclass(frozen=True, kw_only=True)
class CreateProjectBody(_ProjectSettingsBody):
    """A new project."""

    org_id: Annotated[str, IdField("org", required=True)]
    name: Annotated[str, NameField(TextLengths.PROJECT_NAME, data_key="project_name", required=True)]
    provider: Annotated[Provider, ProviderName(required=True)]
    repository: Annotated[str, text(1, 255)]
    repository_id: Annotated[str | None, text(1, 255, required=False, allow_none=True, load_default=None)]
    branch: Annotated[str, branch_field()]
    generator: Annotated[Generator | Absent | None, fields.Enum(Generator, by_value=True, allow_none=True)] = ABSENT
    visibility: Annotated[
        Visibility | Absent,
        fields.Enum(
            Visibility, by_value=True, metadata={"description": "A label of the published site. Default: private"}
        ),
    ] = ABSENT


@dataclass(frozen=True, kw_only=True)
class UpdateProjectBody(_ProjectSettingsBody):
    """Changes of a project. Missing fields stay unchanged."""

    name: Annotated[str | Absent, NameField(TextLengths.PROJECT_NAME, data_key="project_name")] = ABSENT
    publishers: Annotated[
        Publishers | Absent, fields.Enum(Publishers, by_value=True, metadata={"description": PUBLISHERS})
    ] = ABSENT
    required_approvals: Annotated[
        int | Absent,
        fields.Integer(
            strict=True, validate=validate.Range(0, MAX_APPROVALS), metadata={"description": APPROVALS, "example": 1}
        ),
    ] = ABSENT
    guest_approval: Annotated[bool | Absent, StrictBoolean(metadata={"description": GUEST_APPROVAL})] = ABSENT
    change_set_prefix: Annotated[
        str | Absent, fields.String(validate=_branch_prefix, metadata={"description": PREFIX, "example": "galley"})
    ] = ABSENT
    require_change_sets: Annotated[bool | Absent, StrictBoolean(metadata={"description": REQUIRED_SETS})] = ABSENT


@dataclass(frozen=True, kw_only=True)
class ChangeVisibilityBody(RequestBody):
    """The label of the published site."""

    visibility: Annotated[Visibility, fields.Enum(Visibility, by_value=True, required=True)]


@dataclass(frozen=True, kw_only=True)
class ChangeGeneratorBody(RequestBody):
    """The site generator, or null."""

    generator: Annotated[Generator | None, fields.Enum(Generator, by_value=True, required=True, allow_none=True)]


@dataclass(frozen=True, kw_only=True)
class ChangeConnectionBody(RequestBody):
    """The repository and branch of a project. Missing fields stay unchanged, empty strings disconnect."""

    provider: Annotated[Provider | Absent, ProviderName()] = ABSENT
    repository: Annotated[str | Absent, fields.String(validate=Length(max=255))] = ABSENT
    repository_id: Annotated[str | Absent | None, text(0, 255, required=False, allow_none=True)] = ABSENT
    branch: Annotated[str | Absent, fields.String(validate=_branch_name_or_empty)] = ABSENT

    @classmethod
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
        """Read an empty provider without a repository as a disconnection."""
        if data.get("provider") != "" or data.get("repository"):
            return data
        return {name: value for name, value in data.items() if name != "provider"} | {"repository": ""}


@dataclass(frozen=True, kw_only=True)
class ActiveProjectsQuery(StatusQuery):
    """A filter by status, `active` by default."""

    selection: Annotated[str, status_filter(str(ArchiveStatus.ACTIVE))]


@dataclass(frozen=True, kw_only=True)
class CreateBranchBody(RequestBody):
    """A new branch and the branch or commit that it starts from."""

    branch: Annotated[str, branch_field()]
    start: Annotated[str | None, text(1, 255, data_key="from", required=False, load_default=None)]


class BranchSchema(Schema):
    """A branch and its head."""

    name = fields.String()
    sha = fields.String()
    default = fields.Boolean(metadata={"description": "Whether it is the default branch of the repository"})
    protected = fields.Boolean()


class DeletedBranchSchema(Schema):
    """A branch that was deleted."""

    name = fields.String()
    deleted = fields.Boolean()


class ConnectionSchema(PassthroughSchema):
    """The state of the connection to the repository and the user who connected it."""

    status = fields.Enum(ConnectionStatus, by_value=True, attribute="connection_status")
    connected_by = fields.String(allow_none=True)
    account = fields.String(
        attribute="connection_account",
        allow_none=True,
        metadata={"description": "The login of the account that connected the repository, or null for a local one"},
    )


class IndexSchema(PassthroughSchema):
    """The state of the index of the working branch."""

    status = fields.Enum(IndexStatus, by_value=True)
    commit_sha = fields.String(allow_none=True)
    indexed_at = DateTimeMs(allow_none=True)
    files = fields.Integer()


class ProjectPathsSchema(Schema):
    """The folders of a site in the repository. An empty path is the root."""

    content = fields.String(allow_none=True, metadata={"description": CONTENT_FOLDER})
    media = fields.String(allow_none=True, metadata={"description": MEDIA_FOLDER})
    public = fields.String(allow_none=True, metadata={"description": PUBLIC_FOLDER})


class ProjectSchema(PassthroughSchema):
    """A project (contract 4.6)."""

    project_id = fields.String(attribute="id")
    org_id = fields.String(attribute="organization_id")
    user_id = fields.String(attribute="creator_id", allow_none=True)
    project_name = fields.String(attribute="name")
    project_image = fields.String(attribute="image", allow_none=True)
    site_url = fields.String(allow_none=True)
    provider = fields.Enum(Provider, by_value=True)
    repository = fields.String()
    repository_id = fields.String(allow_none=True)
    branch = fields.String()
    framework = fields.String(allow_none=True)
    generator = fields.Enum(Generator, by_value=True, allow_none=True)
    paths = fields.Nested(ProjectPathsSchema)
    visibility = fields.Enum(Visibility, by_value=True)
    preview_network = fields.Boolean()
    build_change_sets = fields.Boolean(metadata={"description": "Whether submitted change sets are built"})
    publishers = fields.Enum(Publishers, by_value=True, metadata={"description": PUBLISHERS})
    required_approvals = fields.Integer(metadata={"description": APPROVALS})
    guest_approval = fields.Boolean(metadata={"description": GUEST_APPROVAL})
    change_set_prefix = fields.String(metadata={"description": PREFIX})
    require_change_sets = fields.Boolean(metadata={"description": REQUIRED_SETS})
    status = fields.Enum(ArchiveStatus, by_value=True)
    connection = fields.Nested(ConnectionSchema)
    index = fields.Nested(IndexSchema)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (the contract's name)
    updatedAt = DateTimeMs(attribute="updated_at")  # noqa: N815 (the contract's name)


class DeletedProjectSchema(PassthroughSchema):
    """A project that was deleted."""

    project_id = fields.String()
    deleted = fields.Boolean()


class UnknownBranchSchema(Schema):
    """The data of a failure because of an unknown branch."""

    branches = fields.List(fields.String(), metadata=OPTIONAL | {"description": "The branches of the repository"})
