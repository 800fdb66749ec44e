"""Reviews of change sets."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from app.core.errors import ErrorMessage, InvalidRequest, LimitReached
from app.extensions import db
from app.models.change_set import ChangeSet, ChangeSetReview, ChangeSetReviewer, Verdict
from app.models.change_set import ChangeSetState as State
from app.models.project import Project
from app.models.user import User
from app.resources.change_set import queries, states
from app.resources.change_set.content import Content
from app.resources.change_set.errors import OwnReview, StaleApproval
from app.resources.change_set.service import update_content
from app.resources.change_set.states import SetOutcome, Step

MAX_REVIEWS, MAX_REVIEWERS = 1_000, 50
NO_REVIEWER = ErrorMessage("Choose members who have no changes in the set")


@dataclass(frozen=True)
class Reviewed:
    """The content of a set that is reviewed, and the e-mail addresses of the people who committed to it."""

    content: Content
    emails: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Review:
    """A verdict with its text. `head_sha` is the commit that the reviewer saw, if it is known."""

    verdict: Verdict
    body: str = ""
    head_sha: str | None = None


@dataclass(frozen=True)
class Guest:
    """A person without an account who has a review link of a set."""

    name: str
    link_id: str


def columns_of(by: User | Guest) -> dict[str, str]:
    """Return the columns of a review or comment that name its author."""
    return {"user_id": by.id} if isinstance(by, User) else {"link_id": by.link_id, "guest_name": by.name}


@dataclass(frozen=True)
class ReviewRequest:
    """The members who are asked for a review, with a text for them. None asks the same members again."""

    reviewers: Sequence[str] | None = None
    message: str = ""


def ask(row: ChangeSet, project: Project, request: ReviewRequest, *, by: User) -> None:
    """Store the reviewers of a locked set, and the message as a review without a verdict.

    Raises:
        InvalidRequest: a reviewer is no member of the project, or has changes in the set.
        LimitReached: the set has the maximum number of reviews.
    """
    if request.reviewers is not None:
        possible = queries.possible_reviewers(project, {row.creator_id or "", *queries.author_ids(row.id)})
        if not possible.keys() >= set(request.reviewers):
            raise InvalidRequest.field("reviewers", NO_REVIEWER)
        db.session.execute(sa.delete(ChangeSetReviewer).where(ChangeSetReviewer.change_set_id == row.id))
        rows = [{"change_set_id": row.id, "user_id": user_id} for user_id in dict.fromkeys(request.reviewers)]
        if rows:
            db.session.execute(sa.insert(ChangeSetReviewer), rows)
    if request.message:
        _store(row, Review(Verdict.COMMENT, request.message), by=by)


def _store(row: ChangeSet, submitted: Review, *, by: User | Guest) -> ChangeSetReview:
    """Store a review of the head of a locked set. Guests leave half of the reviews to members. Raises LimitReached."""
    count = sa.select(sa.func.count()).select_from(ChangeSetReview)
    most = MAX_REVIEWS if isinstance(by, User) else MAX_REVIEWS // 2
    if (db.session.scalar(count.where(ChangeSetReview.change_set_id == row.id)) or 0) >= most:
        raise LimitReached(ErrorMessage("A set of changes can have at most %(count)s reviews", count=most))
    values = {"verdict": submitted.verdict, "body": submitted.body, "head_sha": row.head_sha}
    stored = ChangeSetReview(change_set_id=row.id, **columns_of(by), **values)
    db.session.add(stored)
    db.session.flush()
    return stored


def review(
    change_set: ChangeSet, project: Project, reviewed: Reviewed, submitted: Review, *, by: User | Guest
) -> ChangeSetReview:
    """Store a review. An approval with which the set has enough of them approves it.

    Raises:
        StateConflict: the state of the set permits no approval and no request for changes.
        OwnReview: the reviewer has changes in the set.
        StaleApproval: the set has changed since the reviewer saw it.
        LimitReached: the set has the maximum number of reviews.
    """
    row = states.locked(change_set.id)
    update_content(row, reviewed.content)
    if submitted.verdict != Verdict.COMMENT:
        states.require(row, Step.REVIEW)
        if isinstance(by, User) and _is_author(row, reviewed, by):
            raise OwnReview
        if {submitted.head_sha or row.head_sha, reviewed.content.head_sha} != {row.head_sha}:
            raise StaleApproval("The change set was changed since you opened it. Look at it again")
    stored = _store(row, submitted, by=by)
    if submitted.verdict == Verdict.CHANGES:
        states.take(row, SetOutcome.CHANGES_REQUESTED)
    elif submitted.verdict == Verdict.APPROVE and row.state == State.IN_REVIEW and _is_approved(row, project):
        states.take(row, SetOutcome.APPROVED)
    return stored


def _is_author(row: ChangeSet, reviewed: Reviewed, user: User) -> bool:
    return user.id == row.creator_id or user.id in queries.author_ids(row.id) or user.email_key in reviewed.emails


def move_approvals(row: ChangeSet, head_sha: str) -> None:
    """Let the reviews of the head of a locked set count for a head that only adds changes of the working branch."""
    reviews = sa.update(ChangeSetReview).where(ChangeSetReview.change_set_id == row.id)
    db.session.execute(
        reviews.where(ChangeSetReview.head_sha == row.head_sha).values(head_sha=head_sha),
        execution_options={"synchronize_session": False},
    )


def _is_approved(row: ChangeSet, project: Project) -> bool:
    return len(queries.approvals_of([row])[row.id].valid) >= project.required_approvals
