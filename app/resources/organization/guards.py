"""Declared changes of organizations, which the API and the console run."""

from functools import partial

from app.access.guards import permission, roles
from app.core.permissions import Permission, Role
from app.http.actions import DeclaredAction

_change = partial(DeclaredAction, etag_of="organization.details")

INVITE = _change(guard=permission(Permission.MANAGE_MEMBERS), rate="invite")
CHANGE_ROLE = _change(guard=permission(Permission.MANAGE_MEMBERS))
REMOVE_MEMBER = _change(guard=permission(Permission.MANAGE_MEMBERS), allow_archived=True)
LEAVE = _change(guard=permission(Permission.VIEW_MEMBERS).without_second_factor(), allow_archived=True)
TRANSFER = DeclaredAction(guard=roles(Role.OWNER, organization="org_id"), recent=True)
SET_STATUS = _change(guard=permission(Permission.MANAGE_ORG), allow_archived=True)
UPDATE = _change(guard=permission(Permission.MANAGE_ORG))
DELETE = _change(guard=permission(Permission.DELETE_ORG), allow_archived=True, recent=True)
