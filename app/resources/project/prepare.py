"""Calls to the Git host before a project is written: access to the branch and detection of the site."""

from dataclasses import dataclass
from typing import Any

from app.access.scope import Scope
from app.extensions import drivers
from app.resources.project.repository_access import (
    BranchRef,
    ReachableBranch,
    changed_branch,
    detect_site,
    verify_access,
)


@dataclass(frozen=True)
class PreparedProject:
    """The columns of a new project and the branch it is connected to."""

    values: dict[str, Any]
    reached: ReachableBranch


def prepare_project(scope: Scope, body: dict[str, Any]) -> PreparedProject:
    """Read repository and branch with the credential of the caller, and detect what the body does not name."""
    target = BranchRef(body["provider"], body["repository"], body["repository_id"], body["branch"])
    reached = verify_access(target, scope.organization.id, hosts=drivers.git, actor=scope.actor)
    kind = detect_site(reached, framework=body.get("framework"), generator=body.get("generator"))
    settable = ("name", "image", "site_url", "paths", "visibility")
    values = {column: body[column] for column in settable if column in body}
    return PreparedProject(values | {"framework": kind.framework, "generator": kind.generator}, reached)


def prepare_connection(scope: Scope, body: dict[str, Any]) -> ReachableBranch | None:
    """Read the new repository and branch of a project. Return None if the body disconnects it."""
    target = changed_branch(scope.project, body)
    if target is None:
        return None
    return verify_access(target, scope.project.organization_id, hosts=drivers.git, actor=scope.actor)
