"""The result of a guard: the caller, and the objects that a view may use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.access.caller import Caller, CallerSession
from app.core.api_tokens import TokenGrant
from app.core.permissions import Role
from app.extensions import db
from app.models.organization import Organization
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.user import Actor, User


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The caller of a request and the objects that its URL or body names.

    A route may name no object, or an optional one. The subclasses declare the objects that a guard always resolves.

    Attributes:
        path: the ids from which the objects were resolved.
        target_id: the id of the user that the URL names.
        is_self: the caller is the named user or owns the named object.
        role: the role of the caller in the project, else in the organization. None stands for a caller who is no
            member, or who is limited to other projects.
        organization_role: the role of the caller in the organization, or None for a caller who is no member. It decides
            what changes more than the project.
        second_role: the role of the caller in `destination`.
        index: the index of the working branch of the project, if it exists.
        destination: the second organization of a request.
        is_retry: an earlier attempt with the same idempotency key ended without a response, and may have had an effect
            outside.
    """

    path: Mapping[str, Any] = field(default_factory=dict)
    optional_caller: Caller | None = None
    is_self: bool = False
    role: Role | None = None
    organization_role: Role | None = None
    second_role: Role | None = None
    target_id: str | None = None
    organization: Organization | None = None
    project: Project | None = None
    index: ContentIndex | None = None
    destination: Organization | None = None
    is_retry: bool = False

    @property
    def caller(self) -> Caller:
        """The credential of the request with its user as plain values. Raises LookupError without a credential."""
        if self.optional_caller is None:
            raise LookupError("the request has no caller")
        return self.optional_caller

    @property
    def user(self) -> User:
        """The row of the caller, for a change. Raises NoResultFound if another request deleted the account."""
        return db.session.get_one(User, self.caller.id)

    @property
    def session(self) -> CallerSession:
        """The session of the signed-in user. Raises LookupError for the caller of an API token."""
        return self.caller.session

    @property
    def grant(self) -> TokenGrant | None:
        """The rights of the caller's API token, or None for a session."""
        return self.optional_caller.grant if self.optional_caller is not None else None

    @property
    def actor(self) -> Actor:
        """The person who acts, for the rules that know no request."""
        return Actor(self.caller.id, self.grant, self.is_retry)

    @property
    def is_signed_in(self) -> bool:
        """True if the request has a valid session or API token."""
        return self.optional_caller is not None

    @property
    def is_verified(self) -> bool:
        """True if the e-mail address of the caller is verified."""
        return self.optional_caller is not None and self.optional_caller.email_verified

    @property
    def is_admin(self) -> bool:
        """True for the session of a platform admin. An API token never has this right."""
        return self.optional_caller is not None and self.optional_caller.is_admin and self.grant is None


@dataclass(frozen=True, kw_only=True)
class UserScope(Scope):
    """The scope of a route that names a user, the target."""

    target_id: str

    @property
    def target(self) -> User:
        """The row of the named user. Raises NoResultFound if another request deleted the account."""
        return db.session.get_one(User, self.target_id)


@dataclass(frozen=True, kw_only=True)
class OrganizationScope(Scope):
    """The scope of a route that names an organization."""

    organization: Organization


@dataclass(frozen=True, kw_only=True)
class ProjectScope(OrganizationScope):
    """The scope of a route that names a project."""

    project: Project

    @property
    def branch(self) -> str | None:
        """The branch that the request reads and changes: the working branch of the project."""
        return self.project.branch


@dataclass(frozen=True, kw_only=True)
class MoveScope(ProjectScope):
    """The scope of the move of a project to a second organization."""

    destination: Organization
