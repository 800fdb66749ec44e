"""Read-only statements that return change sets, their reviews and comments as response dictionaries."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from app.core import clock
from app.core.cursors import decode_cursor, encode_cursor
from app.extensions import db
from app.models.base import Row
from app.models.change_set import (
    ChangeSet,
    ChangeSetAuthor,
    ChangeSetComment,
    ChangeSetPath,
    ChangeSetReview,
    ChangeSetReviewer,
    ChangeSetSchedule,
    ChangeSetState,
    Verdict,
)
from app.models.organization import ArchiveStatus, Membership
from app.models.project import Project, role_in_project
from app.models.review_link import ReviewLink
from app.models.user import User
from app.resources.change_set.states import OPEN, UNAPPROVED

Shown = dict[str, object]
_CURSOR, _COMMENT_CURSOR, _REVIEW_CURSOR = "change_sets", "change_set_comments", "change_set_reviews"
NEED_AUTHOR = (ChangeSetState.CHANGES_REQUESTED, ChangeSetState.FAILED)
"""The states in which the creator of a set has to act."""

MAX_PUBLICATIONS = 100

_ALIASES = {"user": sa.orm.aliased(User), "resolver": sa.orm.aliased(User)}


_IS_BY_AUTHOR = sa.exists().where(
    ChangeSetAuthor.change_set_id == ChangeSetReview.change_set_id,
    ChangeSetAuthor.user_id == ChangeSetReview.user_id,
)
_IS_MEMBER = (
    sa.exists()
    .where(ChangeSet.id == ChangeSetReview.change_set_id, Project.id == ChangeSet.project_id)
    .where(role_in_project(ChangeSetReview.user_id).is_not(None))
)
_IS_GUEST = (
    sa.exists()
    .where(ReviewLink.id == ChangeSetReview.link_id, ReviewLink.revoked_at.is_(None))
    .where(ChangeSet.id == ChangeSetReview.change_set_id, Project.id == ChangeSet.project_id)
    .where(Project.guest_approval)
)
_COUNTS = sa.or_(ChangeSetReview.verdict == Verdict.CHANGES, sa.and_(_IS_MEMBER, ~_IS_BY_AUTHOR), _IS_GUEST)
"""The condition of a review that counts for the approvals of its set."""


@dataclass(frozen=True)
class Approvals:
    """The users and links that approved the head of a set, and the number of those that approved an older one."""

    valid: frozenset[str] = frozenset()
    stale: int = 0


@dataclass(frozen=True)
class ChangeSetFilter:
    """The conditions of a list of sets. None permits all."""

    state: ChangeSetState | None = None
    author: str | None = None
    is_open: bool = False


def approvals_of(change_sets: Sequence[ChangeSet]) -> dict[str, Approvals]:
    """Return the approvals of sets by id.

    The last review of each user counts. A review that asks for changes invalidates the approvals before it.
    Approvals of users who changed the set, or who no longer see the project, do not count. Those of guests count in
    projects with `guest_approval`, once for each review link that was not revoked.
    """
    heads = {row.id: row.head_sha for row in change_sets}
    reviews = db.session.execute(
        sa.select(ChangeSetReview.change_set_id, sa.func.coalesce(ChangeSetReview.user_id, ChangeSetReview.link_id))
        .add_columns(ChangeSetReview.verdict, ChangeSetReview.head_sha)
        .where(ChangeSetReview.change_set_id.in_(heads), ChangeSetReview.verdict != Verdict.COMMENT, _COUNTS)
        .order_by(ChangeSetReview.id)
    )
    valid, stale = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for set_id, user_id, verdict, head in reviews:
        counted = valid if head == heads[set_id] else stale
        if verdict == Verdict.CHANGES:
            counted[set_id].clear()
        else:
            counted[set_id].add(user_id)
    return {set_id: Approvals(frozenset(valid[set_id]), len(stale[set_id])) for set_id in heads}


def revert_of(change_set: ChangeSet) -> ChangeSet | None:
    """Return the set that reverts a set or has reverted it, or None."""
    ended = (ChangeSetState.CLOSED, ChangeSetState.REVERTED)
    statement = sa.select(ChangeSet).where(ChangeSet.reverts_id == change_set.id, ChangeSet.state.not_in(ended))
    return db.session.scalar(statement.order_by(ChangeSet.id).limit(1))


def published_by(project_id: str, sha: str) -> ChangeSet | None:
    """Return the set that a commit published, or None."""
    statement = sa.select(ChangeSet).where(ChangeSet.project_id == project_id, ChangeSet.published_sha == sha)
    return db.session.scalar(statement.order_by(ChangeSet.id).limit(1))


def shown(change_set: ChangeSet, project: Project) -> Shown:
    """Return the response dictionary of a set."""
    return shown_all([change_set], project)[0]


def shown_all(change_sets: Sequence[ChangeSet], project: Project) -> list[Shown]:
    """Return the response dictionaries of sets of a project. Runs five statements."""
    ids = [row.id for row in change_sets]
    approvals = approvals_of(change_sets)
    schedules = {
        schedule.change_set_id: schedule
        for schedule in db.session.scalars(sa.select(ChangeSetSchedule).where(ChangeSetSchedule.change_set_id.in_(ids)))
    }
    names, reviewers = _names(row.creator_id for row in change_sets), reviewers_of(ids)
    unresolved = _unresolved_comments(ids)
    return [
        _shown(row, project, len(approvals[row.id].valid), schedules.get(row.id), names)
        | {"reviewers": reviewers.get(row.id, []), "unresolved_comments": unresolved.get(row.id, 0)}
        for row in change_sets
    ]


def _unresolved_comments(change_set_ids: Collection[str]) -> dict[str, int]:
    """Return the numbers of comments of sets that are not resolved. Sets without one are omitted."""
    comment = ChangeSetComment
    where = comment.change_set_id.in_(change_set_ids), comment.resolved_at.is_(None)
    statement = sa.select(comment.change_set_id, sa.func.count()).where(*where).group_by(comment.change_set_id)
    return dict(db.session.execute(statement).all())


def reviewers_of(change_set_ids: Collection[str]) -> dict[str, list[Shown]]:
    """Return the users who were asked to review sets: id and name of each, by set and in the order of the names."""
    statement = (
        sa.select(ChangeSetReviewer.change_set_id, User.id, User.name)
        .join(User, User.id == ChangeSetReviewer.user_id)
        .where(ChangeSetReviewer.change_set_id.in_(change_set_ids))
        .order_by(User.name, User.id)
    )
    listed = defaultdict[str, list[Shown]](list)
    for set_id, user_id, name in db.session.execute(statement):
        listed[set_id].append({"id": user_id, "name": name})
    return dict(listed)


def possible_reviewers(project: Project, user_ids: Collection[str]) -> dict[str, str | None]:
    """Return the names of the members who can approve changes of some users, by id and in the order of the names."""
    members = sa.select(User.id, User.name).join(Membership, Membership.user_id == User.id)
    members = members.join(Project, Project.organization_id == Membership.organization_id)
    members = members.where(Project.id == project.id, role_in_project(User.id).is_not(None), User.id.not_in(user_ids))
    return dict(db.session.execute(members.order_by(User.name, User.id)).all())


def _shown(
    row: ChangeSet, project: Project, approvals: int, schedule: ChangeSetSchedule | None, names: Mapping[str, str]
) -> Shown:
    created_by: Shown = {"id": row.creator_id, "name": names.get(row.creator_id or "")}
    return {
        "id": row.id,
        "project_id": row.project_id,
        "title": row.title,
        "description": row.description,
        "state": str(row.state),
        "branch": row.branch,
        "base_sha": row.base_sha,
        "head_sha": row.head_sha,
        "version": row.version,
        "files": row.files,
        "approvals": approvals,
        "required_approvals": project.required_approvals,
        "created_by": created_by | ({"token": row.token_name} if row.token_id is not None else {}),
        "schedule": None if schedule is None else shown_schedule(schedule),
        "published_sha": row.published_sha,
        "published_at": None if row.published_at is None else clock.iso(row.published_at),
        "reverts": row.reverts_id,
        "problem": row.problem,
        "createdAt": clock.iso(row.created_at),
        "updatedAt": clock.iso(row.updated_at),
    }


def shown_schedule(schedule: ChangeSetSchedule) -> Shown:
    """Return the response dictionary of a schedule."""
    return {
        "wall_time": schedule.wall_time,
        "timezone": schedule.timezone,
        "choice": schedule.choice,
        "action": str(schedule.action),
        "due_at": clock.iso(schedule.due_at),
    }


def _names(user_ids: Iterable[str | None]) -> dict[str, str]:
    ids = {user_id for user_id in user_ids if user_id is not None}
    return dict(db.session.execute(sa.select(User.id, User.name).where(User.id.in_(ids))).all())


def page(project: Project, conditions: ChangeSetFilter, *, cursor: str | None, limit: int) -> tuple[list[Shown], Shown]:
    """Return a page of the sets of a project, newest first, and its `meta`. Raises InvalidRequest for the cursor."""
    where = [ChangeSet.project_id == project.id]
    if conditions.state is not None:
        where.append(ChangeSet.state == conditions.state)
    if conditions.is_open:
        where.append(ChangeSet.state.in_([*OPEN, ChangeSetState.PUBLISHING]))
    if conditions.author is not None:
        where.append(ChangeSet.creator_id == conditions.author)
    total = db.session.scalar(sa.select(sa.func.count()).select_from(ChangeSet).where(*where))
    if cursor is not None:
        where.append(ChangeSet.id < decode_cursor(cursor, _CURSOR))
    rows = db.session.scalars(sa.select(ChangeSet).where(*where).order_by(ChangeSet.id.desc()).limit(limit + 1)).all()
    following = encode_cursor(_CURSOR, rows[limit - 1].id) if len(rows) > limit else None
    return shown_all(rows[:limit], project), {"next_cursor": following, "total": total}


def count_open(project_id: str) -> int:
    """Return the number of sets of a project that are not published or closed."""
    statement = sa.select(sa.func.count()).select_from(ChangeSet)
    states = [*OPEN, ChangeSetState.PUBLISHING]
    return db.session.scalar(statement.where(ChangeSet.project_id == project_id, ChangeSet.state.in_(states))) or 0


def last_publication(project_id: str) -> ChangeSet | None:
    """Return the set of a project whose publication began or ended last, of the newest sets, or None."""
    states = (ChangeSetState.PUBLISHING, ChangeSetState.PUBLISHED, ChangeSetState.FAILED)
    own = sa.select(ChangeSet.id).where(ChangeSet.project_id == project_id, ChangeSet.state.in_(states))
    newest = own.order_by(ChangeSet.id.desc()).limit(MAX_PUBLICATIONS)
    statement = sa.select(ChangeSet).where(ChangeSet.id.in_(newest)).order_by(ChangeSet.updated_at.desc())
    return db.session.scalars(statement.limit(1)).first()


def open_sets(project_id: str) -> Sequence[ChangeSet]:
    """Return the sets of a project that can change, the latest first."""
    own = ChangeSet.project_id == project_id, ChangeSet.state.in_(OPEN)
    return db.session.scalars(sa.select(ChangeSet).where(*own).order_by(ChangeSet.id.desc())).all()


def latest_of(project_id: str, user_id: str, *, without: str | None = None) -> ChangeSet | None:
    """Return the set without an approval that a user created or changed, the last one that was changed, or None.

    `without` is the id of a set that is not meant.
    """
    is_author = sa.exists().where(ChangeSetAuthor.change_set_id == ChangeSet.id, ChangeSetAuthor.user_id == user_id)
    own = sa.select(ChangeSet).where(ChangeSet.project_id == project_id, ChangeSet.state.in_(UNAPPROVED))
    own = own.where(ChangeSet.id != without) if without is not None else own
    own = own.where(ChangeSet.reverts_id.is_(None), sa.or_(ChangeSet.creator_id == user_id, is_author))
    return db.session.scalar(own.order_by(ChangeSet.updated_at.desc(), ChangeSet.id.desc()).limit(1))


def last_reviewers(project_id: str, user_id: str) -> frozenset[str]:
    """Return the other users who reviewed the set with the latest review of a project."""
    review = sa.select(ChangeSetReview.user_id).where(ChangeSetReview.verdict != Verdict.COMMENT)
    review = review.where(ChangeSetReview.user_id != user_id)
    latest = review.with_only_columns(ChangeSetReview.change_set_id).join(
        ChangeSet, ChangeSet.id == ChangeSetReview.change_set_id
    )
    latest = latest.where(ChangeSet.project_id == project_id).order_by(ChangeSetReview.id.desc()).limit(1)
    return frozenset(db.session.scalars(review.where(ChangeSetReview.change_set_id == latest.scalar_subquery())))


@dataclass(frozen=True)
class NamedSet:
    """The id and the title of a set."""

    id: str
    title: str


def sets_of_paths(project_id: str, paths: Collection[str]) -> dict[str, list[NamedSet]]:
    """Return the open sets that change each of some paths, the oldest first. Other paths are omitted."""
    statement = (
        sa.select(ChangeSetPath.path, ChangeSet.id, ChangeSet.title)
        .join(ChangeSet, ChangeSet.id == ChangeSetPath.change_set_id)
        .where(ChangeSet.project_id == project_id, ChangeSet.state.in_([*OPEN, ChangeSetState.PUBLISHING]))
        .where(ChangeSetPath.path.in_(paths))
        .order_by(ChangeSet.id)
    )
    listed = defaultdict[str, list[NamedSet]](list)
    for path, set_id, title in db.session.execute(statement):
        listed[path].append(NamedSet(set_id, title))
    return dict(listed)


def changed_paths(change_set_id: str) -> Sequence[str]:
    """Return the stored paths that a set changes, in the order of their names."""
    own = sa.select(ChangeSetPath.path).where(ChangeSetPath.change_set_id == change_set_id)
    return db.session.scalars(own.order_by(ChangeSetPath.path)).all()


@dataclass(frozen=True)
class WaitingSet:
    """A set that waits for a user, the name of its project and that of its creator."""

    change_set: ChangeSet
    project: str
    creator: str | None


def waiting(user_id: str, project_ids: Collection[str], *, limit: int) -> list[WaitingSet]:
    """Return the sets of active projects that wait for a user, the one that waits longest first.

    These are sets in review that the user may review and has not approved since the last change, unless only others
    were asked, and sets of the user that need changes or whose publication failed.
    """
    rows = db.session.execute(
        sa.select(ChangeSet, Project.name, User.name)
        .join(Project, Project.id == ChangeSet.project_id)
        .outerjoin(User, User.id == ChangeSet.creator_id)
        .where(Project.id.in_(project_ids), Project.status == ArchiveStatus.ACTIVE, _waits_for(user_id))
        .order_by(ChangeSet.updated_at, ChangeSet.id)
        .limit(limit)
    )
    return [WaitingSet(*row) for row in rows]


def count_waiting(user_id: str, project_id: str) -> int:
    """Return the number of sets of a project that wait for a user."""
    statement = sa.select(sa.func.count()).select_from(ChangeSet)
    return db.session.scalar(statement.where(ChangeSet.project_id == project_id, _waits_for(user_id))) or 0


def _waits_for(user_id: str) -> sa.ColumnElement[bool]:
    author, review, later = ChangeSetAuthor, ChangeSetReview, sa.orm.aliased(ChangeSetReview)
    is_author = sa.exists().where(author.change_set_id == ChangeSet.id, author.user_id == user_id)
    is_refused = sa.exists().where(
        later.change_set_id == review.change_set_id, later.id > review.id, later.verdict == Verdict.CHANGES
    )
    is_approved = sa.exists().where(
        review.change_set_id == ChangeSet.id,
        review.user_id == user_id,
        review.head_sha == ChangeSet.head_sha,
        review.verdict == Verdict.APPROVE,
        ~is_refused,
    )
    is_other = ChangeSet.creator_id.is_distinct_from(user_id)
    named = sa.select(ChangeSetReviewer.user_id).where(ChangeSetReviewer.change_set_id == ChangeSet.id)
    is_named = sa.or_(~named.exists(), named.where(ChangeSetReviewer.user_id == user_id).exists())
    in_review = sa.and_(ChangeSet.state == ChangeSetState.IN_REVIEW, is_other, ~is_author, ~is_approved, is_named)
    own = sa.and_(ChangeSet.creator_id == user_id, ChangeSet.state.in_(NEED_AUTHOR))
    return sa.or_(in_review, own)


def author_ids(change_set_id: str) -> frozenset[str]:
    """Return the users who committed to a set."""
    return frozenset(
        db.session.scalars(sa.select(ChangeSetAuthor.user_id).where(ChangeSetAuthor.change_set_id == change_set_id))
    )


def reviews(change_set: ChangeSet, *, cursor: str | None, limit: int) -> tuple[list[Shown], Shown]:
    """Return a page of the reviews of a set, oldest first, and its `meta`. Raises InvalidRequest for the cursor."""
    where = [ChangeSetReview.change_set_id == change_set.id]
    total = db.session.scalar(sa.select(sa.func.count()).select_from(ChangeSetReview).where(*where))
    if cursor is not None:
        where.append(ChangeSetReview.id > decode_cursor(cursor, _REVIEW_CURSOR))
    statement = sa.select(ChangeSetReview, User.name).outerjoin(User, User.id == ChangeSetReview.user_id)
    rows = db.session.execute(statement.where(*where).order_by(ChangeSetReview.id).limit(limit + 1)).all()
    following = encode_cursor(_REVIEW_CURSOR, rows[limit - 1].ChangeSetReview.id) if len(rows) > limit else None
    listed = [shown_review(review, name, change_set.head_sha) for review, name in rows[:limit]]
    return listed, {"next_cursor": following, "total": total}


def shown_review(review: ChangeSetReview, name: str | None, head_sha: str) -> Shown:
    """Return the response dictionary of a review."""
    return {
        "id": review.id,
        "verdict": str(review.verdict),
        "body": review.body,
        "head_sha": review.head_sha,
        "valid": review.head_sha == head_sha,
        "kind": kind_of(review),
        "user": {"id": review.user_id, "name": review.guest_name or name},
        "createdAt": clock.iso(review.created_at),
    }


def kind_of(row: ChangeSetReview | ChangeSetComment) -> str:
    """Return whether a guest or a member wrote a review or a comment."""
    return "member" if row.guest_name is None else "guest"


def comments(change_set_id: str, *, cursor: str | None, limit: int) -> tuple[list[Shown], Shown]:
    """Return a page of the comments of a set, oldest first, and its `meta`. Raises InvalidRequest for the cursor."""
    where = [ChangeSetComment.change_set_id == change_set_id]
    total = db.session.scalar(sa.select(sa.func.count()).select_from(ChangeSetComment).where(*where))
    if cursor is not None:
        where.append(ChangeSetComment.id > decode_cursor(cursor, _COMMENT_CURSOR))
    rows = db.session.execute(_comments(*where).order_by(ChangeSetComment.id).limit(limit + 1)).all()
    following = encode_cursor(_COMMENT_CURSOR, rows[limit - 1].ChangeSetComment.id) if len(rows) > limit else None
    return [_shown_comment(row) for row in rows[:limit]], {"next_cursor": following, "total": total}


def comments_of_link(link_id: str, *, limit: int) -> list[Shown]:
    """Return the latest comments of the guests of a review link and the answers to them, oldest first."""
    statement = _comments(ChangeSetComment.link_id == link_id).order_by(ChangeSetComment.id.desc()).limit(limit)
    return [_shown_comment(row) for row in reversed(db.session.execute(statement).all())]


def reviews_of_link(link_id: str, head_sha: str) -> list[Shown]:
    """Return the reviews of the guests of a link. A review of another commit than `head_sha` is not valid."""
    statement = sa.select(ChangeSetReview).where(ChangeSetReview.link_id == link_id).order_by(ChangeSetReview.id)
    return [shown_review(review, None, head_sha) for review in db.session.scalars(statement)]


def comment(comment_id: str) -> Shown:
    """Return the response dictionary of a comment."""
    return _shown_comment(db.session.execute(_comments(ChangeSetComment.id == comment_id)).one())


def _comments(*where: sa.ColumnElement[bool]) -> sa.Select[ChangeSetComment, str | None, str | None]:
    author, resolver = _ALIASES["user"], _ALIASES["resolver"]
    return (
        sa.select(ChangeSetComment, author.name.label("author"), resolver.name.label("resolver"))
        .outerjoin(author, author.id == ChangeSetComment.user_id)
        .outerjoin(resolver, resolver.id == ChangeSetComment.resolved_by)
        .where(*where)
    )


def _shown_comment(row: Row) -> Shown:
    comment = row.ChangeSetComment
    resolved = None
    if comment.resolved_at is not None:
        resolved = {"id": comment.resolved_by, "name": row.resolver}
    return {
        "id": comment.id,
        "body": comment.body,
        "path": comment.path,
        "pointer": comment.pointer,
        "block": comment.block,
        "page": comment.page,
        "quote": comment.quote,
        "kind": kind_of(comment),
        "user": {"id": comment.user_id, "name": comment.guest_name or row.author},
        "resolved_at": None if comment.resolved_at is None else clock.iso(comment.resolved_at),
        "resolved_by": resolved,
        "createdAt": clock.iso(comment.created_at),
    }
