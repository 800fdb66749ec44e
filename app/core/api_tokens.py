"""Scopes of API tokens, and the rights of the token that a request carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class TokenScope(StrEnum):
    """The right to read, write, publish or administrate. No scope includes another one."""

    READ = "read"
    WRITE = "write"
    PUBLISH = "publish"
    ADMIN = "admin"


@dataclass(frozen=True)
class TokenGrant:
    """The rights of a valid token, as plain values.

    `projects` are the ids of the permitted projects, or None for all projects of the owner. `organization_id` is the
    organization of a service account, and None for a personal token.
    """

    id: str
    name: str
    scopes: frozenset[TokenScope]
    projects: frozenset[str] | None = None
    organization_id: str | None = None

    @property
    def is_service_account(self) -> bool:
        """True if the token belongs to an organization."""
        return self.organization_id is not None

    def covers(self, targets: Mapping[str, Any]) -> bool:
        """Return whether the token permits the targets of a request: `project`, `organization`, `destination`."""
        return self._covers_organizations(targets) and self._covers_project(targets)

    def _covers_organizations(self, targets: Mapping[str, Any]) -> bool:
        """Return whether a service account is used only in its organization."""
        organizations = [targets[name] for name in ("organization", "destination") if targets.get(name) is not None]
        return self.organization_id is None or {item.id for item in organizations} == {self.organization_id}

    def _covers_project(self, targets: Mapping[str, Any]) -> bool:
        """Return whether a token for some projects is used for one of them, without a second organization."""
        if self.projects is None:
            return True
        project = targets.get("project")
        return project is not None and project.id in self.projects and targets.get("destination") is None
