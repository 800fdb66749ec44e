"""Roles, permissions and the permissions that each role grants (contract, section 1)."""

from enum import StrEnum


class Role(StrEnum):
    """The role of a member in an organization."""

    OWNER = "owner"
    ADMIN = "admin"
    EDITOR = "editor"


class Access(StrEnum):
    """The projects of an organization that a member sees: all of them, or those that an admin chose."""

    ALL = "all"
    PROJECTS = "projects"


class Permission(StrEnum):
    """The permissions of the specification. A member has them by the role in the organization."""

    VIEW_PROJECTS = "org:VIEW_PROJECTS"
    VIEW_MEMBERS = "org:VIEW_MEMBERS"
    MANAGE_PROJECTS = "org:MANAGE_PROJECTS"
    MANAGE_MEMBERS = "org:MANAGE_MEMBERS"
    MANAGE_ORG = "org:MANAGE_ORG"
    DELETE_ORG = "org:DELETE_ORG"


_EDITOR = frozenset({Permission.VIEW_PROJECTS, Permission.VIEW_MEMBERS})
_ADMIN = _EDITOR | {Permission.MANAGE_PROJECTS, Permission.MANAGE_MEMBERS, Permission.MANAGE_ORG}
_OWNER = _ADMIN | {Permission.DELETE_ORG}

ROLE_PERMISSIONS: dict[Role, frozenset[Permission]] = {Role.OWNER: _OWNER, Role.ADMIN: _ADMIN, Role.EDITOR: _EDITOR}


def grants(role: Role | None, permission: Permission) -> bool:
    """Return whether a member with the role has the permission. `None` stands for a user who is not a member."""
    return role is not None and permission in ROLE_PERMISSIONS[role]
