"""The result of a guard: the objects that a view may use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.access.caller import Caller
from app.core.api_tokens import TokenGrant
from app.core.permissions import Role
from app.models.login import Session
from app.models.organization import Organization
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.user import User


@dataclass(frozen=True)
class AuthContext:
    """The relation of the caller to the target, which the rule of a guard evaluates."""

    signed_in: bool = False
    verified: bool = False
    admin: bool = False
    is_self: bool = False
    role: Role | None = None
    second_role: Role | None = None
    grant: TokenGrant | None = None
    """The rights of the API token that the request carries."""


@dataclass
class Scope:
    """The caller and the objects that the URL names (or the body, if the guard declares it).

    Access to an object that the guard did not resolve is a defect and raises LookupError.
    """

    context: AuthContext
    targets: dict[str, Any] = field(default_factory=dict)
    path: Mapping[str, str] = field(default_factory=dict)
    is_retry: bool = False
    """An earlier attempt with the same idempotency key ended without a response, and may have had an effect outside."""

    def _get(self, name: str) -> Any:
        value = self.targets.get(name)
        if value is None:
            raise LookupError(f"this route's guard resolves no {name}")
        return value

    @property
    def caller(self) -> Caller:
        """The signed-in caller and the session as plain values, which cost less than objects of the database session."""
        caller: Caller = self._get("caller")
        return caller

    @property
    def actor(self) -> User:
        """The user of the caller."""
        return self.caller.user

    @property
    def grant(self) -> TokenGrant | None:
        """The rights of the caller's API token, or None for a session."""
        return self.context.grant

    @property
    def session(self) -> Session:
        """The caller's session. Raises LookupError for the caller of an API token."""
        return self.caller.session

    @property
    def user(self) -> User:
        """The user the URL names."""
        user: User = self._get("user")
        return user

    @property
    def organization(self) -> Organization:
        """The organization the URL or body names, or that owns the project."""
        organization: Organization = self._get("organization")
        return organization

    @property
    def destination(self) -> Organization:
        """The second organization of a move."""
        organization: Organization = self._get("destination")
        return organization

    @property
    def project(self) -> Project:
        """The project the URL or body names."""
        project: Project = self._get("project")
        return project

    @property
    def index(self) -> ContentIndex | None:
        """The index of the working branch of the project, if it exists."""
        index: ContentIndex | None = self.targets.get("index")
        return index

    @property
    def role(self) -> Role:
        """The caller's role in the organization."""
        if self.context.role is None:
            raise LookupError("this route's guard resolves no role")
        return self.context.role
