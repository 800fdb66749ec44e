"""The bodies, queries and answers of `/organization`."""

import json
from typing import Any, TypedDict

from marshmallow import Schema, ValidationError, fields, post_load, pre_load, validate, validates_schema

from app.core.permissions import Role
from app.http.validation import Body, Id, Name, Ready, text, without_emptied
from app.models.organization import Status
from app.resources.user.schemas import Email

MAX_SETTINGS_BYTES = 64 * 1024
ALL = "all"
ASSIGNABLE = "Must be one of: admin, editor."


def assignable_role() -> fields.Enum[Role]:
    """A role that may be given away: every one but owner."""
    return fields.Enum(
        Role,
        by_value=True,
        required=True,
        validate=validate.NoneOf([Role.OWNER], error=ASSIGNABLE),
        error_messages={"unknown": ASSIGNABLE},
        metadata={"enum": ["admin", "editor"]},
    )


def settings(**kwargs: Any) -> fields.Dict:
    """Whatever the clients keep of an organization, up to 64 KiB."""

    def small(value: dict[str, Any]) -> None:
        if len(json.dumps(value).encode()) > MAX_SETTINGS_BYTES:
            raise ValidationError("Settings may have at most 64 KiB.")

    return fields.Dict(keys=fields.String(), validate=small, **kwargs)


class NewOrganizationBody(TypedDict):
    """What `NewOrganization` loads."""

    name: str
    image: str | None
    settings: dict[str, Any]


class WithImage(Body):
    """What both bodies of an organization may hold."""

    image = text(1, 1024, data_key="org_image", required=False, allow_none=True)

    @pre_load
    def _drop_emptied(self, data: Any, **_kwargs: Any) -> Any:
        """An emptied field of a form means none."""
        return without_emptied(data, "org_image")


class NewOrganization(WithImage):
    """A new organization."""

    name = Name(80, data_key="org_name", required=True)
    image = text(1, 1024, data_key="org_image", required=False, allow_none=True, load_default=None)
    settings = settings(load_default=dict)


class ChangeOrganization(WithImage):
    """Changes of an organization; what is left out stays."""

    name = Name(80, data_key="org_name")
    settings = settings()


class ChangeStatusBody(TypedDict):
    """What `ChangeStatus` loads."""

    status: Status


class ChangeStatus(Body):
    """Archive or make active."""

    status = fields.Enum(Status, by_value=True, required=True)


class InviteMemberBody(TypedDict):
    """What `InviteMember` loads."""

    email: str
    role: Role


class InviteMember(Body):
    """Whom to invite as what."""

    email = Email(required=True, metadata={"format": "email"})
    role = assignable_role()


class MemberBody(TypedDict):
    """What `Member` loads; one of the two is not None."""

    member_id: str | None
    email: str | None


class Member(Body):
    """A member by id or by e-mail."""

    member_id = Id("usr", load_default=None)
    email = Email(load_default=None, metadata={"format": "email"})

    @validates_schema
    def _names_one(self, data: dict[str, Any], **_kwargs: Any) -> None:
        if data.get("member_id") is None and data.get("email") is None:
            raise ValidationError("Give member_id or email.", "member_id")


class ChangeRoleBody(MemberBody):
    """What `ChangeRole` loads."""

    role: Role


class ChangeRole(Member):
    """A member's new role."""

    role = assignable_role()


class NewOwnerBody(TypedDict):
    """What `NewOwner` loads."""

    member_id: str


class NewOwner(Body):
    """Who becomes the owner."""

    member_id = Id("usr", required=True)


class WhichOrganizationsQuery(TypedDict):
    """What `WhichOrganizations` loads; None is all."""

    status: Status | None


class WhichOrganizations(Body):
    """Only active or only archived ones, or all."""

    status = fields.String(load_default=ALL, validate=validate.OneOf([*map(str, Status), ALL]))

    @post_load
    def choose(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """All are no choice."""
        return {"status": None if data["status"] == ALL else Status(data["status"])}


class MemberObject(Schema):
    """A member, or an e-mail a place is kept for."""

    user_id = fields.String(allow_none=True)
    email = fields.String()
    full_name = fields.String(allow_none=True)
    image = fields.String(allow_none=True)
    role = fields.Enum(Role, by_value=True)
    status = fields.String(validate=validate.OneOf(["active", "invited"]))
    joined_at = fields.String(allow_none=True, metadata={"format": "date-time"})


class OrganizationObject(Ready):
    """An organization (contract 4.4)."""

    org_id = fields.String()
    org_name = fields.String()
    org_image = fields.String(allow_none=True)
    settings = fields.Dict()
    owner = fields.String()
    default = fields.Boolean()
    status = fields.Enum(Status, by_value=True)
    members = fields.List(fields.Nested(MemberObject))
    projectCount = fields.Integer()  # noqa: N815 (the contract's name)
    createdAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)
    updatedAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)


class ProjectInShort(Schema):
    """What a list of organizations tells of an active project."""

    project_id = fields.String()
    project_name = fields.String()
    project_image = fields.String(allow_none=True)
    provider = fields.String()
    repository = fields.String()
    branch = fields.String()
    framework = fields.String(allow_none=True)
    generator = fields.String(allow_none=True)
    visibility = fields.String()
    status = fields.String()
    createdAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)
    updatedAt = fields.String(metadata={"format": "date-time"})  # noqa: N815 (the contract's name)


class OwnOrganizationObject(OrganizationObject):
    """An organization the caller belongs to."""

    role = fields.Enum(Role, by_value=True)
    projects = fields.List(fields.Nested(ProjectInShort))


class InvitedMember(Ready):
    """What an invitation came to."""

    email = fields.String()
    role = fields.Enum(Role, by_value=True)
    user_id = fields.String(allow_none=True)
    status = fields.String(validate=validate.OneOf(["active", "invited"]))


class MemberRole(Ready):
    """A member's role after a change."""

    user_id = fields.String()
    role = fields.Enum(Role, by_value=True)


class RemovedMember(Ready):
    """Who was removed; no user id for an invitation that was taken back."""

    user_id = fields.String(allow_none=True)
    removed = fields.Boolean()


class DeletedOrganization(Ready):
    """What is gone."""

    org_id = fields.String()
    deleted = fields.Boolean()


class LeftOrganization(Ready):
    """What was left."""

    org_id = fields.String()
    left = fields.Boolean()
