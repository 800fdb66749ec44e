"""Guards of review links: of a link for members, and of the page of a link for every holder of its address."""

from dataclasses import dataclass

import sqlalchemy as sa

from app.access.caller import Caller
from app.access.guards import Guard, member_or_hidden
from app.access.targets import IdKind, Ids, MemberTable, Resolver, of_member
from app.access.tokens import TokenRule
from app.core.api_tokens import TokenScope
from app.core.errors import NotFound
from app.extensions import db
from app.http.actions import DeclaredAction
from app.models.change_set import ChangeSet
from app.models.organization import Organization
from app.models.project import Project
from app.models.project_content import OF_WORKING_BRANCH, ContentIndex
from app.models.review_link import ReviewLink
from app.models.user import Actor, User
from app.resources.change_set.guards import ChangeSetScope
from app.resources.review_link.errors import LinkEnded
from app.security.secrets import hash_token

SHARES = TokenRule(frozenset({TokenScope.PUBLISH}), frozenset({TokenScope.PUBLISH}))
"""Lists of links contain their addresses, so reading needs the scope `publish` as well."""

UNKNOWN = "This link does not exist. Ask the person who sent it"


@dataclass(frozen=True, kw_only=True)
class LinkScope(ChangeSetScope):
    """The scope of a route that names a review link."""

    link: ReviewLink


@dataclass(frozen=True, kw_only=True)
class GuestScope(LinkScope):
    """The scope of the page of a link. The guest reads the repository as its `actor`, the sender of the link."""

    sender: str | None

    @property
    def actor(self) -> Actor:
        """The sender of the link, else the user whose credential the project has."""
        return Actor(self.link.user_id or self.project.connected_by or "")


_LINK = MemberTable(
    IdKind("rvl", "a review link"),
    {
        "link": ReviewLink,
        "change_set": ChangeSet,
        "project": Project,
        "organization": Organization,
        "index": ContentIndex,
    },
    ChangeSet.id == ReviewLink.change_set_id,
    Project.id == ChangeSet.project_id,
    Organization.id == Project.organization_id,
    OF_WORKING_BRANCH,
)


def member_of_link() -> Guard:
    """Return a guard for members of the organization of a link. For others the link does not exist."""
    return member_or_hidden(of_member(LinkScope, "link_id", _LINK), "Review link", token=SHARES)


REVOKE = DeclaredAction(guard=member_of_link(), allow_archived=True)
"""Guests read the changes of archived projects, so their links can be ended."""


def _find(caller: Caller | None, ids: Ids) -> GuestScope:
    """Return the scope of a link by the hash of its secret. Raises NotFound."""
    statement = (
        sa.select(ReviewLink, ChangeSet, Project, Organization, User.name)
        .join(ChangeSet, ChangeSet.id == ReviewLink.change_set_id)
        .join(Project, Project.id == ChangeSet.project_id)
        .join(Organization, Organization.id == Project.organization_id)
        .outerjoin(User, User.id == ReviewLink.user_id)
        .where(ReviewLink.secret_hash == hash_token(str(ids["secret"])))
    )
    row = db.session.execute(statement).first()
    if row is None:
        raise NotFound(UNKNOWN)
    link, change_set, project, organization, sender = row
    return GuestScope(
        optional_caller=caller,
        path=ids,
        link=link,
        change_set=change_set,
        project=project,
        organization=organization,
        sender=sender,
    )


def check_active(scope: GuestScope) -> None:
    """Refuse a guest whose link has ended. Raises LinkEnded."""
    if not scope.link.is_active:
        raise LinkEnded


GUEST = Guard("public", lambda _scope: True, Resolver(GuestScope, _find), public=True, allow_unverified=True)
"""For every holder of the secret of a link, also of one that has ended."""
