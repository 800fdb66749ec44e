"""What a guard resolved: the objects a view may touch, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.permissions import Role
from app.http.caller import Caller
from app.models.login import Session
from app.models.organization import Organization
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.user import User


@dataclass(frozen=True)
class Standing:
    """What the caller is to the target; all a guard's `allows` may look at."""

    signed_in: bool = False
    verified: bool = False
    admin: bool = False
    is_self: bool = False
    role: Role | None = None
    second_role: Role | None = None


@dataclass
class Scope:
    """The caller and the objects named by the URL (or, where the guard says so, the body).

    Reading something the route's guard did not resolve is a programming error and raises LookupError.
    """

    standing: Standing
    found: dict[str, Any] = field(default_factory=dict)
    path: Mapping[str, str] = field(default_factory=dict)

    def _get(self, name: str) -> Any:
        value = self.found.get(name)
        if value is None:
            raise LookupError(f"this route's guard resolves no {name}")
        return value

    @property
    def caller(self) -> Caller:
        """The signed-in caller and their session as plain values: enough, and cheaper, where they are only read."""
        caller: Caller = self._get("caller")
        return caller

    @property
    def actor(self) -> User:
        """The signed-in caller."""
        return self.caller.user

    @property
    def session(self) -> Session:
        """The caller's session."""
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
        """The index of the project's working branch, when there is one."""
        index: ContentIndex | None = self.found.get("index")
        return index

    @property
    def role(self) -> Role:
        """The caller's role in the organization."""
        if self.standing.role is None:
            raise LookupError("this route's guard resolves no role")
        return self.standing.role
