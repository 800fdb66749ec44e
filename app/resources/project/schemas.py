"""The bodies, queries and answers of `/project`."""

from typing import Any, TypedDict

from marshmallow import Schema, ValidationError, fields, post_load, pre_load, validate

from app.core.paths import path_fault
from app.core.refs import is_branch_name
from app.http.validation import Body, Id, Name, Ready, text, without_emptied
from app.models.organization import Status
from app.models.project import ConnectionStatus, Generator, Provider, Visibility
from app.models.project_content import IndexStatus
from app.resources.git_provider.schemas import ProviderName

ALL = "all"


def _branch_name(value: str) -> None:
    if not is_branch_name(value):
        raise ValidationError("This cannot be the name of a branch.")


def branch_field() -> fields.String:
    """The name of a branch."""
    return fields.String(required=True, validate=_branch_name)


def _branch_name_or_empty(value: str) -> None:
    if value:
        _branch_name(value)


def _path_or_empty(value: str) -> None:
    fault = path_fault(value) if value else None
    if fault is not None:
        raise ValidationError(f"{fault}.")


class _Folder(fields.String):
    """A folder's path, as people type it: with a slash at its end or without."""

    def __init__(self) -> None:
        super().__init__(allow_none=True, validate=_path_or_empty)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        path: str = super()._deserialize(value, attr, data, **kwargs)
        return path.removesuffix("/")


def _site_url() -> fields.Url:
    return fields.Url(schemes={"http", "https"}, require_tld=False, allow_none=True, validate=validate.Length(max=2048))


class Paths(Body):
    """Folders of the repository; an empty one is its root."""

    content = _Folder()
    media = _Folder()
    public = _Folder()


class Settings(Body):
    """What may be set when a project is made and changed later."""

    image = text(1, 1024, data_key="project_image", required=False, allow_none=True)
    site_url = _site_url()
    framework = text(1, 40, required=False, allow_none=True)
    paths = fields.Nested(Paths)

    @pre_load
    def _drop_emptied(self, data: Any, **_kwargs: Any) -> Any:
        """An emptied field of a form means none."""
        return without_emptied(data, "project_image", "site_url", "framework")


class NewProject(Settings):
    """A new project."""

    org_id = Id("org", required=True)
    name = Name(100, data_key="project_name", required=True)
    provider = ProviderName(required=True)
    repository = text(1, 255)
    repository_id = text(1, 255, required=False, allow_none=True, load_default=None)
    branch = fields.String(required=True, validate=_branch_name)
    generator = fields.Enum(Generator, by_value=True, allow_none=True)
    visibility = fields.Enum(Visibility, by_value=True)


class ChangeProject(Settings):
    """Changes of a project; what is left out stays."""

    name = Name(100, data_key="project_name")


class ChangeVisibility(Body):
    """The label of the published site."""

    visibility = fields.Enum(Visibility, by_value=True, required=True)


class ChangeStatusBody(TypedDict):
    """What `ChangeStatus` loads."""

    status: Status


class ChangeStatus(Body):
    """Archive or make active."""

    status = fields.Enum(Status, by_value=True, required=True)


class ChangeGenerator(Body):
    """The static site generator, or none."""

    generator = fields.Enum(Generator, by_value=True, required=True, allow_none=True)


class ChangeConnection(Body):
    """Where the content is; what is left out stays, empty strings disconnect."""

    provider = ProviderName()
    repository = fields.String(validate=validate.Length(max=255))
    repository_id = text(0, 255, required=False, allow_none=True)
    branch = fields.String(validate=_branch_name_or_empty)

    @pre_load
    def _take_no_provider(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """An empty provider is none, so there is no repository either; beside a repository it is at fault."""
        if data.get("provider") != "" or data.get("repository"):
            return data
        return {name: value for name, value in data.items() if name != "provider"} | {"repository": ""}


class WhichProjectsQuery(TypedDict):
    """What `WhichProjects` loads; None is all."""

    status: Status | None


class WhichProjects(Body):
    """Active ones, archived ones or all."""

    status = fields.String(load_default=str(Status.ACTIVE), validate=validate.OneOf([*map(str, Status), ALL]))

    @post_load
    def choose(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """All are no choice."""
        return {"status": None if data["status"] == ALL else Status(data["status"])}


class AllProjects(WhichProjects):
    """The same, all unless it is said."""

    status = fields.String(load_default=ALL, validate=validate.OneOf([*map(str, Status), ALL]))


class NewBranchBody(TypedDict):
    """What `NewBranch` loads."""

    branch: str
    start: str | None


class NewBranch(Body):
    """A branch to be made, and the branch or commit it starts from."""

    branch = fields.String(required=True, validate=_branch_name)
    start = text(1, 255, data_key="from", required=False, load_default=None)


class BranchObject(Schema):
    """A branch and the commit it is at."""

    name = fields.String()
    sha = fields.String()
    default = fields.Boolean()
    protected = fields.Boolean()


class ConnectionObject(Schema):
    """Whether, and through whom, the repository is reached."""

    status = fields.Enum(ConnectionStatus, by_value=True)
    connected_by = fields.String(allow_none=True)
    account = fields.String(allow_none=True)


class IndexObject(Schema):
    """How far the index of the working branch is."""

    status = fields.Enum(IndexStatus, by_value=True)
    commit_sha = fields.String(allow_none=True)
    indexed_at = fields.String(allow_none=True, metadata={"format": "date-time"})
    files = fields.Integer()


class ProjectObject(Ready):
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
    paths = fields.Nested(Paths)
    visibility = fields.Enum(Visibility, by_value=True)
    status = fields.Enum(Status, by_value=True)
    connection = fields.Nested(ConnectionObject)
    index = fields.Nested(IndexObject)
    createdAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)
    updatedAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)


class DeletedProject(Ready):
    """What is gone."""

    project_id = fields.String()
    deleted = fields.Boolean()
