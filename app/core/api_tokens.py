"""Scopes of API tokens, and the rights of the token that a request carries."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


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

    def covers(self, project_id: str | None, organization_ids: Sequence[str]) -> bool:
        """Return whether the token permits the project of a request and its organization, or both of a move."""
        return self._covers_organizations(organization_ids) and self._covers_project(project_id, organization_ids)

    def _covers_organizations(self, organization_ids: Sequence[str]) -> bool:
        """Return whether a service account is used only in its organization."""
        return self.organization_id is None or set(organization_ids) == {self.organization_id}

    def _covers_project(self, project_id: str | None, organization_ids: Sequence[str]) -> bool:
        """Return whether a token for some projects is used for one of them, without a second organization."""
        return self.projects is None or (project_id in self.projects and len(organization_ids) == 1)
