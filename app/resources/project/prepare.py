"""Calls to the Git host before a project is written: access to the branch and detection of the site."""

from dataclasses import dataclass
from typing import Any

from app.access.scope import OrganizationScope, ProjectScope
from app.extensions import drivers
from app.resources.project.repository_access import (
    BranchRef,
    ReachableBranch,
    changed_branch,
    detect_site,
    verify_access,
)
from app.resources.project.schemas import ChangeConnectionBody, CreateProjectBody

SETTABLE = ("name", "image", "site_url", "paths", "visibility", "preview_network")
"""Columns of a new project that the body can contain."""


@dataclass(frozen=True)
class PreparedProject:
    """The columns of a new project and the branch it is connected to."""

    values: dict[str, Any]
    reached: ReachableBranch


def prepare_project(scope: OrganizationScope, body: CreateProjectBody) -> PreparedProject:
    """Read repository and branch with the credential of the caller, and detect the values that the body does not contain."""
    target = BranchRef(body.provider, body.repository, body.repository_id, body.branch)
    reached = verify_access(target, scope.organization.id, hosts=drivers.git, user=scope.user)
    sent = body.sent()
    kind = detect_site(reached, framework=sent.get("framework"), generator=sent.get("generator"))
    values = {column: sent[column] for column in SETTABLE if column in sent}
    return PreparedProject(values | {"framework": kind.framework, "generator": kind.generator}, reached)


def prepare_connection(scope: ProjectScope, body: ChangeConnectionBody) -> ReachableBranch | None:
    """Read the new repository and branch of a project. Return None if the body disconnects it."""
    target = changed_branch(scope.project, body.sent())
    if target is None:
        return None
    return verify_access(target, scope.project.organization_id, hosts=drivers.git, user=scope.user)
