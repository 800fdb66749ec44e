"""Use cases of review links: share a set, revoke a link, and those of guests: send a password, comment and review."""

from dataclasses import dataclass, replace

from app.access.tokens import SessionRequired
from app.core.errors import ErrorMessage, InvalidRequest, PermissionDenied, TooManyRequests
from app.core.outbound import UnrecordedAct
from app.core.permissions import Role
from app.database import transactions
from app.extensions import db, jobs, keyring
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet
from app.models.project import Project
from app.models.review_link import LinkRights, ReviewLink
from app.models.user import User
from app.resources.change_set import actions as change_sets
from app.resources.change_set import queries as set_queries
from app.resources.change_set import service as set_service
from app.resources.change_set.errors import StateConflict
from app.resources.change_set.member_set import MemberSet
from app.resources.change_set.queries import Shown
from app.resources.change_set.reviews import Guest, Review
from app.resources.change_set.states import OPEN, locked
from app.resources.review_link import queries, service
from app.resources.review_link.service import LinkOptions
from app.resources.site_build.service import build_set_later
from app.security.passwords import hash_password, verify_password

MAIL = "review_link.mail"
WRONG_PASSWORD = ErrorMessage("This is not the password.")


@dataclass(frozen=True)
class Shared:
    """The response of a link. It is new, or a link with the same settings existed."""

    shown: Shown
    is_new: bool


def share(
    target: MemberSet, options: LinkOptions, *, password: str | None = None, email: str | None = None
) -> UnrecordedAct[Shared]:
    """Make a link to an open set, or renew the one with the same settings. With `email` it is mailed.

    The set is built unless it is built already.

    Raises:
        NotPublisher: the member may not publish in the project.
        SessionRequired: a token makes no link that approves, because it does not approve.
        StateConflict: the set was published or closed.
        InvalidRequest: the commit of the link is neither the head of the set nor a built one.
        LimitReached: the set has the maximum number of active links.
    """
    set_service.check_publisher(target.project, target.role)
    if options.rights is LinkRights.APPROVE and target.site.by.grant is not None:
        raise SessionRequired
    with transactions.outside_transaction():
        password_hash = hash_password(password) if password is not None else None

    def record() -> Shared:
        row, sender = target.lock(), db.session.get_one(User, target.site.by.id)
        if row.state not in OPEN:
            raise StateConflict(row.state, OPEN)
        if options.commit_sha not in (None, row.head_sha) and not queries.is_built(row, options.commit_sha):
            raise InvalidRequest.field(
                "commit_sha", "Name the head of the change set, or a commit of it that was built"
            )
        link, is_new = service.create(row, options, password_hash, by=sender, ring=keyring)
        build_set_later(row.id, is_new=True)
        if email is not None:
            jobs.enqueue(MAIL, link_id=link.id, to=email)
        return Shared(queries.shown(link, sender.name), is_new)

    return UnrecordedAct(record)


def revoke(link: ReviewLink, project: Project, role: Role | None) -> Shown:
    """End a link at once. A second revocation changes nothing. Raises NotPublisher."""
    set_service.check_publisher(project, role)
    row = db.session.get_one(ReviewLink, link.id, with_for_update=True, populate_existing=True)
    row.revoked_at = row.revoked_at or utcnow_ms()
    db.session.flush()
    sender = db.session.get(User, row.user_id) if row.user_id is not None else None
    return queries.shown(row, sender.name if sender is not None else None)


def check_password(link: ReviewLink, password: str) -> UnrecordedAct[None]:
    """Compare the password of a guest. The try is recorded before it is compared, so that parallel tries count.

    Raises:
        TooManyRequests: the link had too many wrong passwords.
        InvalidRequest: the password is wrong.
    """
    link_id, stored = link.id, link.password_hash
    with transactions.write_transaction():
        is_counted = service.begin_try(link_id)
    if not is_counted:
        raise TooManyRequests(ErrorMessage("Too many attempts. Try again in 15 minutes."))
    with transactions.outside_transaction():
        is_right = verify_password(stored, password)
    if not is_right:
        raise InvalidRequest.field("password", WRONG_PASSWORD)
    return UnrecordedAct(lambda: service.clear_tries(link_id))


def comment(change_set: ChangeSet, link: ReviewLink, name: str, body: str, **part: object) -> Shown:
    """Store the comment of a guest, once for a repeated form. `part` names a page of the site and a text of it.

    Raises:
        PermissionDenied: the link permits no comments.
        LinkEnded: the link was revoked or has expired.
        StateConflict: the set was published or closed.
        TooManyRequests, LimitReached: the link, or the set, has the maximum number of comments of guests.
    """
    row = locked(change_set.id)
    _check_rights(link, LinkRights.COMMENT, LinkRights.APPROVE)
    if row.state not in OPEN:
        raise StateConflict(row.state, OPEN)
    service.check_active(link)
    repeated = service.repeated_comment(link, name, body, part.get("page"))
    if repeated is not None:
        return set_queries.comment(repeated)
    service.check_rate(link)
    return change_sets.store_comment(row, body, by=Guest(name, link.id), **part)


def review(target: MemberSet, link: ReviewLink, name: str, submitted: Review) -> UnrecordedAct[Shown]:
    """Store the verdict of a guest. `target` is the set as the sender of the link reads it.

    A link that shows one commit approves no other one.

    Raises:
        PermissionDenied: the link permits no verdict.
        LinkEnded: the link was revoked or has expired.
        StaleApproval: the set has changed since the guest saw it.
        StateConflict, MissingBranch, TooManyRequests, LimitReached, and the errors of the Git host.
    """
    _check_rights(link, LinkRights.APPROVE)
    service.check_rate(link)
    if link.commit_sha is not None:
        submitted = replace(submitted, head_sha=link.commit_sha)
    act = change_sets.review(target, submitted, guest=Guest(name, link.id))

    def record() -> Shown:
        target.lock()
        service.check_active(link)
        service.check_rate(link)  # Parallel verdicts have passed the first check.
        return act.record()

    return replace(act, record=record)


def _check_rights(link: ReviewLink, *permitted: LinkRights) -> None:
    if link.rights not in permitted:
        raise PermissionDenied("This link does not permit that. Ask the person who sent it")
