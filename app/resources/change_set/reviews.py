"""Reviews of change sets."""

from dataclasses import dataclass

import sqlalchemy as sa

from app.core.errors import ErrorMessage, LimitReached
from app.extensions import db
from app.models.change_set import ChangeSet, ChangeSetReview, Verdict
from app.models.change_set import ChangeSetState as State
from app.models.project import Project
from app.models.user import User
from app.resources.change_set import queries, states
from app.resources.change_set.content import Content
from app.resources.change_set.errors import OwnReview, StaleApproval
from app.resources.change_set.service import update_content
from app.resources.change_set.states import SetOutcome, Step

MAX_REVIEWS = 1_000


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


def review(
    change_set: ChangeSet, project: Project, reviewed: Reviewed, submitted: Review, *, by: User
) -> ChangeSetReview:
    """Store a review. An approval with which the set has enough of them approves it.

    Raises:
        StateConflict: the state of the set permits no approval and no request for changes.
        OwnReview: the reviewer has changes in the set.
        StaleApproval: the set has changed since the reviewer saw it.
        LimitReached: the set has the maximum number of reviews.
    """
    row = states.locked(change_set.id)
    count = sa.select(sa.func.count()).select_from(ChangeSetReview)
    if (db.session.scalar(count.where(ChangeSetReview.change_set_id == change_set.id)) or 0) >= MAX_REVIEWS:
        raise LimitReached(ErrorMessage("A set of changes can have at most %(count)s reviews", count=MAX_REVIEWS))
    update_content(row, reviewed.content)
    if submitted.verdict != Verdict.COMMENT:
        states.require(row, Step.REVIEW)
        if by.id == row.creator_id or by.id in queries.author_ids(row.id) or by.email_key in reviewed.emails:
            raise OwnReview
        if {submitted.head_sha or row.head_sha, reviewed.content.head_sha} != {row.head_sha}:
            raise StaleApproval("The change set was changed since you opened it. Look at it again")
    stored = ChangeSetReview(
        change_set_id=row.id, user_id=by.id, verdict=submitted.verdict, body=submitted.body, head_sha=row.head_sha
    )
    db.session.add(stored)
    db.session.flush()
    if submitted.verdict == Verdict.CHANGES:
        states.take(row, SetOutcome.CHANGES_REQUESTED)
    elif submitted.verdict == Verdict.APPROVE and row.state == State.IN_REVIEW and _is_approved(row, project):
        states.take(row, SetOutcome.APPROVED)
    return stored


def move_approvals(row: ChangeSet, head_sha: str) -> None:
    """Let the reviews of the head of a locked set count for a head that only adds changes of the working branch."""
    reviews = sa.update(ChangeSetReview).where(ChangeSetReview.change_set_id == row.id)
    db.session.execute(
        reviews.where(ChangeSetReview.head_sha == row.head_sha).values(head_sha=head_sha),
        execution_options={"synchronize_session": False},
    )


def _is_approved(row: ChangeSet, project: Project) -> bool:
    return len(queries.approvals_of([row])[row.id].valid) >= project.required_approvals
