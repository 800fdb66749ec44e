"""Declared changes of projects, which the API and the console run."""

from dataclasses import replace
from functools import partial

from app.access.guards import can_move_project, project_permission, roles, roles_in_body
from app.core.permissions import Permission, Role
from app.http.actions import DeclaredAction

MANAGERS = (Role.OWNER, Role.ADMIN)

_change = partial(DeclaredAction, guard=roles(*MANAGERS, project="projectId"), etag_of="project.details")

CREATE = DeclaredAction(guard=roles_in_body(*MANAGERS, organization="org_id"), outside=True, rate="project_create")
UPDATE = _change()
SET_STATUS = _change(allow_archived=True)
# Another repository of the organization belongs to its other projects.
CONNECT = _change(
    guard=replace(roles(*MANAGERS, project="projectId"), allows=lambda s: s.organization_role in MANAGERS), outside=True
)
MOVE = _change(guard=can_move_project("projectId", "orgId"), allow_archived=True)
DELETE = _change(guard=project_permission(Permission.MANAGE_PROJECTS), allow_archived=True)
