"""Request bodies, queries and results of organizations."""

import json
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from marshmallow import Schema, ValidationError, fields, validate

from app.core.errors import ErrorMessage
from app.core.limits import TextLengths
from app.core.permissions import Access, Role
from app.http.json_schema import OPTIONAL
from app.http.validation import (
    ABSENT,
    Absent,
    BoundedList,
    IdField,
    ListQuery,
    NameField,
    PassthroughSchema,
    RequestBody,
    StrictBoolean,
    text,
)
from app.models.organization import ArchiveStatus
from app.resources.user.schemas import Email

MAX_SETTINGS_BYTES = 64 * 1024
ACCESS = "Whether the member sees all projects of the organization or the chosen ones"
SETTINGS = "An object that clients store. The service does not read it"
REQUIREMENT = "Whether the members need a second factor or a passkey"
REQUIRED_FROM = "The day (UTC) from which they need it. Without a day the requirement applies at once"
ALL = "all"
ASSIGNABLE = "Must be one of: admin, editor."
MAX_CHOSEN = 1000


def assignable_role() -> fields.Enum[Role]:
    """Build the field of an assignable role: admin or editor."""
    return fields.Enum(
        Role,
        by_value=True,
        required=True,
        validate=validate.NoneOf([Role.OWNER], error=ASSIGNABLE),
        error_messages={"unknown": ASSIGNABLE},
        metadata={"enum": ["admin", "editor"]},
    )


def _settings(**kwargs: Any) -> fields.Dict:
    """Build the field of the settings that clients store, up to 64 KiB."""

    def small(value: dict[str, object]) -> None:
        if len(json.dumps(value).encode()) > MAX_SETTINGS_BYTES:
            raise ValidationError("Settings must have at most 64 KiB.")

    return fields.Dict(keys=fields.String(), validate=small, metadata={"description": SETTINGS}, **kwargs)


def _image(**kwargs: object) -> fields.String:
    return text(1, 1024, data_key="org_image", required=False, allow_none=True, **kwargs)


@dataclass(frozen=True, kw_only=True)
class CreateOrganizationBody(RequestBody):
    """A new organization."""

    image: Annotated[str | None, _image(load_default=None)]
    name: Annotated[str, NameField(TextLengths.ORGANIZATION_NAME, data_key="org_name", required=True)]
    settings: Annotated[dict[str, object], _settings(load_default=dict)]


@dataclass(frozen=True, kw_only=True)
class UpdateOrganizationBody(RequestBody):
    """Changes of an organization. A field that is not sent stays unchanged."""

    image: Annotated[str | Absent | None, _image()] = ABSENT
    name: Annotated[str | Absent, NameField(TextLengths.ORGANIZATION_NAME, data_key="org_name")] = ABSENT
    settings: Annotated[dict[str, object] | Absent, _settings()] = ABSENT
    require_second_factor: Annotated[bool | Absent, StrictBoolean(metadata={"description": REQUIREMENT})] = ABSENT
    second_factor_from: Annotated[
        date | Absent | None, fields.Date(allow_none=True, metadata={"description": REQUIRED_FROM})
    ] = ABSENT


@dataclass(frozen=True, kw_only=True)
class ChangeStatusBody(RequestBody):
    """The new status of an organization or project."""

    status: Annotated[ArchiveStatus, fields.Enum(ArchiveStatus, by_value=True, required=True)]


class ChosenProjectSchema(Schema):
    """A project that a member sees, and the role of the member in it."""

    project_id = IdField("prj", required=True)
    role = assignable_role()


class MemberProjectSchema(ChosenProjectSchema):
    """A chosen project of a member, and the role of the member in it."""


@dataclass(frozen=True, kw_only=True)
class AccessBody(RequestBody):
    """The projects of an organization that a member sees. Only an editor can be limited to some of them."""

    role: Annotated[Role, assignable_role()]
    access: Annotated[
        Access | Absent,
        fields.Enum(Access, by_value=True, metadata={"description": "All projects, or those in `projects`"}),
    ] = ABSENT
    projects: Annotated[
        list[dict[str, Any]] | Absent,
        BoundedList(
            fields.Nested(ChosenProjectSchema),
            max_length=MAX_CHOSEN,
            metadata={"description": "The projects that the member sees, with `access: projects`"},
        ),
    ] = ABSENT

    def __post_init__(self) -> None:
        """Compare the role, the access and the projects."""
        chosen = [] if self.projects is ABSENT else [project["project_id"] for project in self.projects]
        is_limited = self.access == Access.PROJECTS
        if is_limited and self.role != Role.EDITOR:
            raise ValidationError(ErrorMessage("An administrator sees all projects."), "access")
        if is_limited and not chosen:
            raise ValidationError(ErrorMessage("Choose at least one project."), "projects")
        if not is_limited and chosen:
            raise ValidationError(
                ErrorMessage("Projects can be chosen only for a member who sees some of them."), "projects"
            )
        if len(set(chosen)) < len(chosen):
            raise ValidationError(ErrorMessage("A project is chosen twice."), "projects")


@dataclass(frozen=True, kw_only=True)
class InviteMemberBody(AccessBody):
    """An invitation."""

    email: Annotated[str, Email(required=True, metadata={"format": "email"})]


@dataclass(frozen=True, kw_only=True)
class MemberBody(RequestBody):
    """A member by id or by e-mail address. `user_id` is another name of `member_id`."""

    ALTERNATIVES = (("member_id",), ("email",))

    member_id: Annotated[str | None, IdField("usr", load_default=None, allow_none=True)]
    email: Annotated[str | None, Email(load_default=None, allow_none=True, metadata={"format": "email"})]

    @classmethod
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
        """Use `user_id` if `member_id` is missing."""
        return data | {"member_id": data["user_id"]} if data.get("user_id") and not data.get("member_id") else data

    def __post_init__(self) -> None:
        """Require one of the two fields."""
        sent = [name for name in ("member_id", "email") if getattr(self, name) is not None]
        if not sent:
            raise ValidationError("Send member_id or email.", "member_id")
        if len(sent) > 1:
            raise ValidationError({name: ["Send member_id or email, not both."] for name in sent})


@dataclass(frozen=True, kw_only=True)
class ChangeRoleBody(MemberBody, AccessBody):
    """A new role of a member, and the projects that the member sees."""

    def __post_init__(self) -> None:
        """Check the fields of both bodies."""
        MemberBody.__post_init__(self)
        AccessBody.__post_init__(self)


@dataclass(frozen=True, kw_only=True)
class TransferOwnershipBody(RequestBody):
    """A new owner."""

    member_id: Annotated[str, IdField("usr", required=True)]


def status_filter(default: str) -> fields.String:
    """Build the field of a status or `all`."""
    statuses = validate.OneOf([*map(str, ArchiveStatus), ALL])
    return fields.String(data_key="status", load_default=default, validate=statuses)


@dataclass(frozen=True, kw_only=True)
class StatusQuery(ListQuery):
    """A filter by status, `all` by default."""

    selection: Annotated[str, status_filter(ALL)]

    @property
    def status(self) -> ArchiveStatus | None:
        """The status. None selects all."""
        return None if self.selection == ALL else ArchiveStatus(self.selection)


class MemberSchema(Schema):
    """A member or an invitation."""

    user_id = fields.String(allow_none=True)
    email = fields.String(metadata={"format": "email"})
    full_name = fields.String(allow_none=True)
    image = fields.String(allow_none=True, metadata={"description": "The key of an upload, or null"})
    role = fields.Enum(Role, by_value=True)
    access = fields.Enum(Access, by_value=True, metadata={"description": ACCESS})
    projects = fields.List(
        fields.Nested(MemberProjectSchema), metadata={"description": "The chosen projects that the caller sees"}
    )
    status = fields.String(validate=validate.OneOf(["active", "invited"]))
    joined_at = fields.String(allow_none=True, metadata={"format": "date-time"})


class OrganizationSchema(PassthroughSchema):
    """An organization (contract 4.4)."""

    org_id = fields.String()
    org_name = fields.String()
    org_image = fields.String(allow_none=True)
    settings = fields.Dict(metadata={"description": SETTINGS})
    require_second_factor = fields.Boolean(metadata={"description": REQUIREMENT})
    second_factor_from = fields.String(
        allow_none=True, metadata={"format": "date", "description": "The day from which they need it, or null"}
    )
    owner = fields.String()
    default = fields.Boolean(
        metadata={
            "description": "Whether it is the organization that each account has. It cannot be archived or deleted"
        }
    )
    status = fields.Enum(ArchiveStatus, by_value=True)
    members = fields.List(
        fields.Nested(MemberSchema),
        metadata={"description": "The members and the open invitations, by the time of joining"},
    )
    projectCount = fields.Integer()  # noqa: N815 (the contract's name)
    createdAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)
    updatedAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)


class ProjectSummarySchema(Schema):
    """An active project in a list of organizations."""

    project_id = fields.String()
    project_name = fields.String()
    project_image = fields.String(allow_none=True)
    provider = fields.String(metadata={"enum": ["github", "gitlab", "local"]})
    repository = fields.String()
    branch = fields.String()
    framework = fields.String(allow_none=True)
    generator = fields.String(allow_none=True)
    visibility = fields.String(metadata={"enum": ["public", "private"]})
    status = fields.Enum(ArchiveStatus, by_value=True)
    createdAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)
    updatedAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)


class OwnOrganizationSchema(OrganizationSchema):
    """An organization of the caller."""

    role = fields.Enum(Role, by_value=True)
    projects = fields.List(fields.Nested(ProjectSummarySchema), metadata={"description": "The active projects"})


class InvitedMemberSchema(PassthroughSchema):
    """The result of an invitation."""

    email = fields.String(metadata={"format": "email"})
    role = fields.Enum(Role, by_value=True)
    user_id = fields.String(allow_none=True)
    status = fields.String(validate=validate.OneOf(["active", "invited"]))


class ChangedRoleSchema(PassthroughSchema):
    """The role of a member after a change."""

    user_id = fields.String()
    role = fields.Enum(Role, by_value=True)


class RemovedMemberSchema(PassthroughSchema):
    """The removed member. The user id of an invitation is null."""

    user_id = fields.String(allow_none=True)
    removed = fields.Boolean(metadata={"description": "Always true"})


class DeletedOrganizationSchema(PassthroughSchema):
    """The deleted organization."""

    org_id = fields.String()
    deleted = fields.Boolean()


class OrganizationDepartureSchema(PassthroughSchema):
    """The organization that the caller left."""

    org_id = fields.String()
    left = fields.Boolean(metadata={"description": "Always true"})


class OwnedOrganizationSchema(Schema):
    """An organization whose owner must transfer or delete it."""

    COMPONENT = "http_OwnedOrganization"

    org_id = fields.String()
    org_name = fields.String()


class OwnedOrganizationsSchema(Schema):
    """The data of a refused deletion of an account."""

    organizations = fields.List(
        fields.Nested(OwnedOrganizationSchema),
        metadata=OPTIONAL | {"description": "The organizations that prevent the deletion of an account"},
    )
