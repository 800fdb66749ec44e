"""Guards: each resolves the target of a route and applies one rule to the caller."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
import structlog

from app.access import authentication, targets
from app.access.caller import JoinedTarget
from app.access.scope import Scope
from app.access.tokens import COMMITS, EDITS, MANAGES, SESSION_ONLY, TokenRule, check_branch
from app.core.errors import EmailNotVerified, NotAuthenticated, NotFound, PermissionDenied, SecondFactorRequired
from app.core.permissions import Permission, Role, grants
from app.database.errors import is_transient
from app.extensions import db
from app.models.organization import ArchiveStatus
from app.models.project import Project, role_in_project
from app.models.user import User

log = structlog.get_logger(__name__)
HIDE_FROM_NON_MEMBERS = False
"""If True, a signed-in user without a membership receives 404 instead of 403 (contract, section 0)."""
_USER = sa.select(User.id).where(User.id == sa.bindparam("user_id"))


def is_permitted(check: Callable[[], bool]) -> bool:
    """Return the result of the check. While the database is unavailable, memberships cannot change: return True."""
    try:
        return check()
    except Exception as error:
        if is_transient(error):
            log.info("membership.check_failed", error=type(error).__name__)
            return True
        log.exception("membership.check_failed")
        return False


def membership_check(reading: sa.Engine, project_id: str, user_id: str) -> Callable[[], bool]:
    """Return a function that reports whether the user has a role in a project.

    Each call uses a separate reading connection.
    """
    statement = sa.select(role_in_project(user_id)).select_from(Project).where(Project.id == project_id)

    def allowed() -> bool:
        with reading.connect() as connection:
            return connection.scalar(statement) is not None

    return allowed


@dataclass(frozen=True)
class Guard:
    """A rule that decides whether a caller may use a route.

    `spec_name` is the text of the guard column in the specification. `description` says in the OpenAPI document who may
    call the route, if the guard belongs to one resource.

    With `target_in_body` the body names the target, so its fields are checked first. With `bare` the route loads no
    session and responds without the database. A caller who is no member receives 404 with `hidden_message`, if it is
    set. `token` contains the scopes that an API token needs; the owner of the token must pass the guard as well.
    `allow_without_factor` permits the members of an organization that requires a second factor to set it up.
    `written_branch` returns the branch to which the body commits, or None for the working branch.
    """

    spec_name: str
    allows: Callable[[Scope], bool]
    find: targets.Resolver[Any] = targets.no_target
    public: bool = False
    allow_unverified: bool = False
    allow_without_factor: bool = False
    bare: bool = False
    target_in_body: bool = False
    token: TokenRule = SESSION_ONLY
    written_branch: Callable[[Any], str | None] | None = None
    hidden_message: str | None = None
    description: str = ""

    def authenticate(self) -> None:
        """Require a session or an API token unless the route is public. Raises NotAuthenticated."""
        if not self.public and authentication.caller() is None:
            raise authentication.not_authenticated()

    def resolve(
        self, ids: Mapping[str, object], *, is_read: bool = False, joined: Sequence[object] | None = None
    ) -> Scope:
        """Replace the ids by objects, then apply the rule. `is_read` is true for a request that changes nothing.

        `joined` are the values of the target that were read with the session.

        Raises:
            NotFound: a target does not exist or its id is malformed.
            EmailNotVerified, SecondFactorRequired, PermissionDenied: the rule rejects the caller.
        """
        if self.bare:
            return Scope(path=ids)
        caller = authentication.caller()
        if caller is not None and caller.needs_second_factor and not (self.public or self.allow_without_factor):
            raise SecondFactorRequired
        if joined is not None and isinstance(self.find, targets.MemberResolver):
            scope: Scope = self.find.of_joined(caller, ids, joined)
        else:
            scope = self.find.find(caller, ids)
        self._check(scope)
        if scope.grant is not None and not self.public:
            self.token.check(scope.grant, scope, is_read=is_read)
        return scope

    def with_session(self, ids: Mapping[str, object]) -> JoinedTarget | None:
        """Return the statement that loads the session with the target, and the id. None if the guard has none."""
        return self.find.with_session(ids) if isinstance(self.find, targets.MemberResolver) else None

    def _check(self, scope: Scope) -> None:
        if self.public:
            return
        if not scope.is_verified and not self.allow_unverified:
            raise EmailNotVerified
        if not self.allows(scope):
            is_hidden = HIDE_FROM_NON_MEMBERS or self.hidden_message is not None
            raise NotFound(self.hidden_message) if is_hidden and scope.role is None else PermissionDenied

    def check_body(self, scope: Scope, body: object) -> None:
        """Check the branch that the body of a request writes to. Raises PermissionDenied."""
        if self.written_branch is not None and scope.project is not None:
            check_branch(scope.grant, self.written_branch(body), scope.project.branch)

    def without_second_factor(self) -> "Guard":
        """Return the guard for users who have not set up the second factor that an organization requires."""
        return replace(self, allow_without_factor=True)

    def for_tokens(self, rule: TokenRule) -> "Guard":
        """Return the guard with another rule for API tokens."""
        return replace(self, token=rule)

    def resolve_locked(self, scope: Scope) -> Scope:
        """Lock the target of a write, then resolve the ids and check the permission again.

        The scope was resolved before the lock, so another request may have changed any part of it.

        Raises:
            NotFound, NotAuthenticated: the target, or the account of the caller, was deleted.
        """
        targets.lock(scope)
        scope = replace(self.resolve(scope.path), is_retry=scope.is_retry)
        # A role belongs to a membership, which refers to an existing account.
        if scope.role is None and db.session.scalar(_USER, {"user_id": scope.caller.id}) is None:
            raise NotAuthenticated
        return scope

    @staticmethod
    def is_archived(scope: Scope) -> bool:
        """Return True if the target or its organization is archived."""
        named = [item for item in (scope.organization, scope.project) if item is not None]
        return any(item.status == ArchiveStatus.ARCHIVED for item in named)


def _anyone(_scope: Scope) -> bool:
    return True


def public(spec_name: str = "public") -> Guard:
    """Return a guard for all clients."""
    return Guard(spec_name, _anyone, public=True, allow_unverified=True)


def no_authentication() -> Guard:
    """Return a guard for all clients that loads no session."""
    return Guard("public", _anyone, public=True, allow_unverified=True, bare=True)


def session(spec_name: str = "session") -> Guard:
    """Return a guard for signed-in users, with or without a verified e-mail address."""
    return Guard(spec_name, lambda s: s.is_signed_in, allow_unverified=True)


def verified(spec_name: str = "verifyAuth", *, token: TokenRule = SESSION_ONLY, description: str = "") -> Guard:
    """Return a guard for signed-in users with a verified e-mail address."""
    return Guard(spec_name, lambda s: s.is_verified, token=token, description=description)


def member_or_hidden(find: targets.Resolver[Any], noun: str, *, token: TokenRule = EDITS) -> Guard:
    """Return a guard for members of the organization of an object. For others the object does not exist."""
    return Guard(
        "memberOfOrg or 404",
        lambda s: s.role is not None,
        find,
        token=token,
        hidden_message=f"{noun} not found",
        description="For all members of the organization that owns the project. Others receive 404.",
    )


def platform_admin() -> Guard:
    """Return a guard for platform admins."""
    return Guard("platform admin", lambda s: s.is_admin)


def own_user(
    param: str,
    *,
    or_platform_admin: bool = False,
    spec_name: str = "verifyAuth+self",
    token: TokenRule = SESSION_ONLY,
) -> Guard:
    """Return a guard for the user that the URL names and, optionally, for platform admins."""
    return Guard(spec_name, lambda s: s.is_self or (or_platform_admin and s.is_admin), targets.user(param), token=token)


def permission(required: Permission, param: str = "org_id", *, in_body: bool = False) -> Guard:
    """Return a guard for members of the organization in the URL or body whose role grants the permission."""
    spec_name = f"{required} of body org" if in_body else str(required)
    return Guard(
        spec_name,
        lambda s: grants(s.role, required),
        targets.organization(param),
        target_in_body=in_body,
        token=MANAGES,
    )


def project_permission(required: Permission, param: str = "projectId") -> Guard:
    """Return a guard for members of the project's organization whose role in it grants the permission.

    A role in a project grants no permission of the organization.
    """

    def allows(scope: Scope) -> bool:
        return scope.role is not None and grants(scope.organization_role, required)

    return Guard(str(required), allows, targets.project(param), token=MANAGES)


def roles(*allowed: Role, project: str | None = None, organization: str = "org_id") -> Guard:
    """Return a guard for members with one of these roles in the organization, or in the project."""
    find = targets.project(project) if project else targets.organization(organization)
    rule = EDITS if project and Role.EDITOR in allowed else MANAGES
    return Guard(",".join(allowed), lambda s: s.role in allowed, find, token=rule)


def roles_in_body(*allowed: Role, organization: str = "org_id") -> Guard:
    """Return a guard for members with one of these roles in the organization that the body names."""
    spec_name = ",".join(allowed) + " of body org"
    find = targets.organization(organization)
    return Guard(spec_name, lambda s: s.role in allowed, find, target_in_body=True, token=MANAGES)


def member_of_org(project: str = "project_id", *, in_body: bool = False) -> Guard:
    """Return a guard for all members who see the project."""
    find = targets.project(project)
    return Guard("memberOfOrg", lambda s: s.role is not None, find, target_in_body=in_body, token=EDITS)


def can_commit(branch_of: Callable[[Any], str | None], project: str = "project_id") -> Guard:
    """Return a guard like `member_of_org` for commits. `branch_of` returns the branch of a body, None by default.

    An API token needs `publish` for the working branch and `write` for other branches.
    """
    return replace(member_of_org(project), token=COMMITS, written_branch=branch_of)


def member_of_named(*, is_required: bool = False) -> Guard:
    """Return a guard for verified users who are members of the project's organization, if the body names a project."""
    spec_name = "verifyAuth; memberOfOrg if projectId given (decided)"
    return Guard(
        spec_name,
        lambda s: s.is_self or s.role is not None,
        targets.project("project_id") if is_required else targets.project_if_named("project_id"),
        target_in_body=True,
        token=EDITS,
    )


def can_move_project(project: str, organization: str) -> Guard:
    """Return a guard for the owner of both organizations of a move."""

    def allows(scope: Scope) -> bool:
        return grants(scope.role, Permission.DELETE_ORG) and grants(scope.second_role, Permission.DELETE_ORG)

    find = targets.project_and_destination(project, organization)
    return Guard("org:DELETE_ORG on source AND destination", allows, find, token=MANAGES)
