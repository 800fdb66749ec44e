"""Who may call a route: each guard resolves the route's target and asks one pure question of the caller's standing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.core.errors import EmailNotVerified, NotAllowed, NotFound, NotSignedIn
from app.core.permissions import Permission, Role, grants
from app.http import login, targets
from app.http.scope import Scope, Standing
from app.models.organization import Status

STRANGERS_SEE_NOTHING = False
"""True answers a signed-in stranger 404 instead of 403 (contract, section 0: strangers)."""


@dataclass(frozen=True)
class Guard:
    """Decides who may call a route. `words` are the specification's own, as they stand in its guard column.

    `ids_in_body` says that the target is named by the body, whose shape is then checked first; `bare` that the route
    does not even look for a session, so that it answers without the database.
    """

    words: str
    allows: Callable[[Standing], bool]
    find: targets.Find = targets.nothing
    public: bool = False
    unverified_too: bool = False
    bare: bool = False
    ids_in_body: bool = False

    def authenticate(self) -> None:
        """Ask for a session where one is needed. Raises NotSignedIn."""
        if not self.public and login.caller() is None:
            raise NotSignedIn

    def resolve(self, ids: Mapping[str, Any]) -> Scope:
        """Replace ids by the objects they name, then ask `allows`.

        Raises:
            NotFound: a target does not exist or its id is malformed.
            EmailNotVerified, NotAllowed: the caller's standing is not enough.
        """
        if self.bare:
            return Scope(Standing(), {}, ids)
        caller = login.caller()
        found = self.find(caller, ids)
        standing = Standing(
            signed_in=caller is not None,
            verified=caller is not None and caller.email_verified,
            admin=caller is not None and caller.is_admin,
            is_self=found.pop("is_self", False),
            role=found.pop("role", None),
            second_role=found.pop("second_role", None),
        )
        self._check(standing)
        return Scope(standing, found | {"caller": caller}, ids)

    def _check(self, standing: Standing) -> None:
        if self.public:
            return
        if not standing.verified and not self.unverified_too:
            raise EmailNotVerified
        if not self.allows(standing):
            raise NotFound if STRANGERS_SEE_NOTHING and standing.role is None else NotAllowed

    @staticmethod
    def is_archived(scope: Scope) -> bool:
        """Whether the target, or the organization around it, is put away."""
        return any(
            getattr(scope.found.get(name), "status", Status.ACTIVE) == Status.ARCHIVED
            for name in ("organization", "project")
        )


def _anyone(_standing: Standing) -> bool:
    return True


def public(words: str = "public") -> Guard:
    """Anyone, signed in or not."""
    return Guard(words, _anyone, public=True, unverified_too=True)


def bare() -> Guard:
    """Anyone, without a look at who it is."""
    return Guard("public", _anyone, public=True, unverified_too=True, bare=True)


def session(words: str = "session") -> Guard:
    """Anyone signed in, a person whose e-mail is not verified included."""
    return Guard(words, lambda s: s.signed_in, unverified_too=True)


def verified(words: str = "verifyAuth") -> Guard:
    """Anyone signed in with a verified e-mail."""
    return Guard(words, lambda s: s.verified)


def platform_admin() -> Guard:
    """A platform admin; says nothing about organizations."""
    return Guard("platform admin", lambda s: s.admin)


def own_user(param: str, *, or_platform_admin: bool = False, words: str = "verifyAuth+self") -> Guard:
    """The user named by the URL, or a platform admin where that is said."""
    return Guard(words, lambda s: s.is_self or (or_platform_admin and s.admin), targets.user(param))


def permission(wanted: Permission, param: str = "org_id", *, in_body: bool = False) -> Guard:
    """A member of the organization in the URL, or in the body, whose role grants the permission."""
    words = f"{wanted} of body org" if in_body else str(wanted)
    return Guard(words, lambda s: grants(s.role, wanted), targets.organization(param), ids_in_body=in_body)


def project_permission(wanted: Permission, param: str = "projectId") -> Guard:
    """The same, in the organization that owns the project in the URL."""
    return Guard(str(wanted), lambda s: grants(s.role, wanted), targets.project(param))


def roles(*allowed: Role, project: str | None = None, organization: str | None = None) -> Guard:
    """A member with one of these roles in the project's organization, or in the organization."""
    find = targets.project(project) if project else targets.organization(organization or "org_id")
    return Guard(",".join(allowed), lambda s: s.role in allowed, find)


def roles_in_body(*allowed: Role, organization: str = "org_id") -> Guard:
    """A member with one of these roles in the organization that the body names."""
    words = ",".join(allowed) + " of body org"
    return Guard(words, lambda s: s.role in allowed, targets.organization(organization), ids_in_body=True)


def member_of_org(project: str = "project_id", *, in_body: bool = False) -> Guard:
    """Any member of the organization that owns the project."""
    return Guard("memberOfOrg", lambda s: s.role is not None, targets.project(project), ids_in_body=in_body)


def member_of_named(project: str = "projectId") -> Guard:
    """Anyone verified; a member of the organization that owns the project, where the body names one."""
    words = "verifyAuth; memberOfOrg if projectId given (decided)"
    return Guard(words, lambda s: s.is_self or s.role is not None, targets.project_if_named(project), ids_in_body=True)


def moves_project(project: str, organization: str) -> Guard:
    """The owner of the project's organization and of the one it moves to."""

    def allows(standing: Standing) -> bool:
        return grants(standing.role, Permission.DELETE_ORG) and grants(standing.second_role, Permission.DELETE_ORG)

    return Guard(
        "org:DELETE_ORG on source AND destination", allows, targets.project_and_destination(project, organization)
    )
