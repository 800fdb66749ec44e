"""Request bodies, queries and response schemas of projects and branches."""

from typing import Any, TypedDict

from marshmallow import Schema, ValidationError, fields, post_load, pre_load, validate

from app.core.paths import path_error
from app.http.git_refs import branch_name
from app.http.json_schema import FOLDER, described
from app.http.validation import (
    IdField,
    NameField,
    PassthroughSchema,
    RequestSchema,
    StrictBoolean,
    text,
    with_empty_as_null,
    without_empty,
)
from app.models.organization import ArchiveStatus
from app.models.project import ConnectionStatus, Generator, Provider, Visibility
from app.models.project_content import IndexStatus
from app.resources.git_provider.schemas.credentials import ProviderName

ALL = "all"


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


class _Folder(fields.String):
    """The path of a folder, with or without a slash at its end."""

    def __init__(self) -> None:
        super().__init__(allow_none=True, validate=_path_or_empty)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        path: str = super()._deserialize(value, attr, data, **kwargs)
        return path.removesuffix("/")


def _site_url() -> fields.Url:
    return fields.Url(schemes={"http", "https"}, require_tld=False, allow_none=True, validate=validate.Length(max=2048))


class Paths(RequestSchema):
    """The folders of a site in the repository. An empty path is the root."""

    content = _Folder()
    media = _Folder()
    public = _Folder()


class Settings(RequestSchema):
    """Settings of a project that a creation and a change accept."""

    image = text(1, 1024, data_key="project_image", required=False, allow_none=True)
    site_url = _site_url()
    framework = text(1, 40, required=False, allow_none=True)
    paths = fields.Nested(Paths)
    preview_network = StrictBoolean()

    @pre_load
    def _clear_empty_fields(self, data: Any, **_kwargs: Any) -> Any:
        """Read an empty string as null (contract, section 0)."""
        return with_empty_as_null(data, "project_image", "site_url", "framework")


class NewProject(Settings):
    """A new project."""

    org_id = IdField("org", required=True)
    name = NameField(100, data_key="project_name", required=True)
    provider = ProviderName(required=True)
    repository = text(1, 255)
    repository_id = text(1, 255, required=False, allow_none=True, load_default=None)
    branch = fields.String(required=True, validate=branch_name)
    generator = fields.Enum(Generator, by_value=True, allow_none=True)
    visibility = fields.Enum(Visibility, by_value=True)

    @pre_load
    def _drop_empty_fields(self, data: Any, **_kwargs: Any) -> Any:
        """Read an empty string in an optional field as not given (contract, section 0)."""
        return without_empty(data, "repository_id", "generator", "visibility", "paths")


class ChangeProject(Settings):
    """Changes of a project. Missing fields stay unchanged."""

    name = NameField(100, data_key="project_name")


class ChangeVisibility(RequestSchema):
    """The label of the published site."""

    visibility = fields.Enum(Visibility, by_value=True, required=True)


class ChangeGenerator(RequestSchema):
    """The site generator, or null."""

    generator = fields.Enum(Generator, by_value=True, required=True, allow_none=True)

    @pre_load
    def _clear_empty_fields(self, data: Any, **_kwargs: Any) -> Any:
        """Read an empty string as null (contract, section 0)."""
        return with_empty_as_null(data, "generator")


class ChangeConnection(RequestSchema):
    """The repository and branch of a project. Missing fields stay unchanged, empty strings disconnect."""

    provider = ProviderName()
    repository = fields.String(validate=validate.Length(max=255))
    repository_id = text(0, 255, required=False, allow_none=True)
    branch = fields.String(validate=_branch_name_or_empty)

    @pre_load
    def _clear_empty_fields(self, data: Any, **_kwargs: Any) -> Any:
        """Read an empty `repository_id` as null (contract, section 0)."""
        return with_empty_as_null(data, "repository_id")

    @pre_load
    def _disconnect_without_provider(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Read an empty provider without a repository as a disconnection."""
        if data.get("provider") != "" or data.get("repository"):
            return data
        return {name: value for name, value in data.items() if name != "provider"} | {"repository": ""}


class WhichProjectsQuery(TypedDict):
    """The loaded form of `WhichProjects`. None selects all."""

    status: ArchiveStatus | None


class WhichProjects(RequestSchema):
    """The status of the listed projects, active by default."""

    status = fields.String(
        load_default=str(ArchiveStatus.ACTIVE), validate=validate.OneOf([*map(str, ArchiveStatus), ALL])
    )

    @post_load
    def choose(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Replace `all` by None."""
        return {"status": None if data["status"] == ALL else ArchiveStatus(data["status"])}


class AllProjects(WhichProjects):
    """The status of the listed projects, all by default."""

    status = fields.String(load_default=ALL, validate=validate.OneOf([*map(str, ArchiveStatus), ALL]))


class NewBranchBody(TypedDict):
    """The loaded form of `NewBranch`."""

    branch: str
    start: str | None


class NewBranch(RequestSchema):
    """A new branch and the branch or commit that it starts from."""

    branch = fields.String(required=True, validate=branch_name)
    start = text(1, 255, data_key="from", required=False, load_default=None)

    @pre_load
    def _drop_empty_fields(self, data: Any, **_kwargs: Any) -> Any:
        """Read an empty string in an optional field as not given (contract, section 0)."""
        return without_empty(data, "from")


class BranchObject(Schema):
    """A branch and its head."""

    name = fields.String()
    sha = fields.String()
    default = fields.Boolean()
    protected = fields.Boolean()


class DeletedBranch(Schema):
    """A branch that was deleted."""

    name = fields.String()
    deleted = fields.Boolean()


class ConnectionObject(Schema):
    """The state of the connection to the repository and the user who connected it."""

    status = fields.Enum(ConnectionStatus, by_value=True)
    connected_by = fields.String(allow_none=True)
    account = fields.String(allow_none=True)


class IndexObject(Schema):
    """The state of the index of the working branch."""

    status = fields.Enum(IndexStatus, by_value=True)
    commit_sha = fields.String(allow_none=True)
    indexed_at = fields.String(allow_none=True, metadata={"format": "date-time"})
    files = fields.Integer()


class PathsObject(Schema):
    """The folders of a site in the repository. An empty path is the root."""

    content = fields.String(allow_none=True)
    media = fields.String(allow_none=True)
    public = fields.String(allow_none=True)


class ProjectObject(PassthroughSchema):
    """A project (contract 4.6)."""

    project_id = fields.String()
    org_id = fields.String()
    user_id = fields.String(allow_none=True)
    project_name = fields.String()
    project_image = fields.String(allow_none=True)
    site_url = fields.String(allow_none=True)
    provider = fields.Enum(Provider, by_value=True)
    repository = fields.String()
    repository_id = fields.String(allow_none=True)
    branch = fields.String()
    framework = fields.String(allow_none=True)
    generator = fields.Enum(Generator, by_value=True, allow_none=True)
    paths = fields.Nested(PathsObject)
    visibility = fields.Enum(Visibility, by_value=True)
    preview_network = fields.Boolean()
    status = fields.Enum(ArchiveStatus, by_value=True)
    connection = fields.Nested(ConnectionObject)
    index = fields.Nested(IndexObject)
    createdAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)
    updatedAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)


class DeletedProject(PassthroughSchema):
    """A project that was deleted."""

    project_id = fields.String()
    deleted = fields.Boolean()
