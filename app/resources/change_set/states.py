"""The states of change sets and the transitions between them. Each transition is a compare-and-swap on `version`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from app.core.errors import NotFound
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet
from app.models.change_set import ChangeSetState as State
from app.resources.change_set.errors import AlreadyPublished, StateConflict


class Step(StrEnum):
    """A step of a change set."""

    EDIT = "edit"
    COMMIT = "commit"
    SUBMIT = "submit"
    REVIEW = "review"
    PUBLISH = "publish"
    SCHEDULE = "schedule"
    UNSCHEDULE = "unschedule"
    SCHEDULE_UNPUBLISH = "schedule_unpublish"
    FINISH = "finish"
    CLOSE = "close"
    REVERT = "revert"


OPEN = frozenset({State.DRAFT, State.IN_REVIEW, State.CHANGES_REQUESTED, State.APPROVED, State.SCHEDULED, State.FAILED})
"""The states of a set that can change. A project has at most `MAX_OPEN` of them."""

UNAPPROVED = frozenset({State.DRAFT, State.IN_REVIEW, State.CHANGES_REQUESTED})
"""Open states in which the approvals decide whether a set can be published."""

PUBLISHABLE = frozenset({State.APPROVED, State.SCHEDULED, State.FAILED})

FROM: Mapping[Step, frozenset[State]] = {
    Step.EDIT: OPEN,
    Step.COMMIT: OPEN,
    Step.SUBMIT: frozenset({State.DRAFT, State.CHANGES_REQUESTED}),
    Step.REVIEW: frozenset({State.IN_REVIEW, State.APPROVED}),
    Step.PUBLISH: PUBLISHABLE,
    Step.SCHEDULE: PUBLISHABLE,
    Step.UNSCHEDULE: frozenset({State.SCHEDULED, State.PUBLISHED}),
    Step.SCHEDULE_UNPUBLISH: frozenset({State.PUBLISHED}),
    Step.FINISH: frozenset({State.PUBLISHING}),
    Step.CLOSE: OPEN,
    Step.REVERT: frozenset({State.PUBLISHED}),
}
"""The states from which each step is permitted."""

WITHOUT_APPROVAL = frozenset({State.DRAFT, State.IN_REVIEW})
"""States from which a project without required approvals publishes and schedules as well."""

AFTER_COMMIT: Mapping[State, State] = {
    State.APPROVED: State.IN_REVIEW,
    State.SCHEDULED: State.IN_REVIEW,
    State.FAILED: State.IN_REVIEW,
}
"""The state after a change of the content. Other states stay."""


def permitted(step: Step, *, required_approvals: int = 1) -> frozenset[State]:
    """Return the states from which a step is permitted in a project with so many required approvals."""
    needs_approval = required_approvals > 0 or step not in (Step.PUBLISH, Step.SCHEDULE)
    return FROM[step] if needs_approval else FROM[step] | WITHOUT_APPROVAL


def require(change_set: ChangeSet, step: Step, *, required_approvals: int = 1) -> None:
    """Check that the state permits a step.

    Raises:
        AlreadyPublished: a publication of a published set.
        StateConflict: the state does not permit the step.
    """
    states = permitted(step, required_approvals=required_approvals)
    if change_set.state in states:
        return
    if step is Step.PUBLISH and change_set.state in (State.PUBLISHED, State.REVERTED):
        raise AlreadyPublished
    raise StateConflict(change_set.state, states)


def locked(change_set_id: str) -> ChangeSet:
    """Return the present row of a set, locked until the transaction ends. Raises NotFound."""
    row = db.session.get(ChangeSet, change_set_id, with_for_update=True, populate_existing=True)
    if row is None:
        raise NotFound("Change set not found")
    return row


def move(change_set: ChangeSet, to: State, **values: Any) -> None:
    """Change the state and other columns of a set whose row has not changed since it was read.

    The caller has checked the step with `require`.

    Raises:
        StateConflict: another request changed the set.
    """
    statement = (
        sa.update(ChangeSet)
        .where(
            ChangeSet.id == change_set.id,
            ChangeSet.version == change_set.version,
            ChangeSet.state == change_set.state,
        )
        .values(state=to, version=change_set.version + 1, updated_at=utcnow_ms(), **values)
        .returning(ChangeSet.id)
        .execution_options(synchronize_session=False)
    )
    db.session.flush()
    if db.session.scalar(statement) is None:
        db.session.refresh(change_set)
        raise StateConflict(change_set.state, (to,))
    db.session.refresh(change_set)
