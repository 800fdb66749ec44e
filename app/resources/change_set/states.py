"""The steps of change sets: the table of transitions, and the lock under which a step is taken.

A step is taken on a locked row. Work at the Git host runs outside of transactions: until `busy_until`, no other work on
the branch of the set starts.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from typing import Any

from app.core.errors import NotFound
from app.database import transactions
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet
from app.models.change_set import ChangeSetState as State
from app.resources.change_set.errors import AlreadyPublished, SetBusy, StateConflict
from app.resources.change_set.events import ChangeSetEvent, change_set_moved

LEASE, WAIT_S, POLL_S = timedelta(seconds=90), 20.0, 0.1
"""The longest write to the branch of a set, and how long another one waits for it."""


class Step(StrEnum):
    """A step that a member takes."""

    EDIT = "edit"
    COMMIT = "commit"
    SUBMIT = "submit"
    REVIEW = "review"
    PUBLISH = "publish"
    SCHEDULE = "schedule"
    UNSCHEDULE = "unschedule"
    SCHEDULE_UNPUBLISH = "schedule_unpublish"
    CLOSE = "close"
    REVERT = "revert"


class SetOutcome(StrEnum):
    """A step that follows from a review, or from an attempt to publish."""

    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    UPDATED = "updated"
    REFUSED = "refused"
    PUBLISHED = "published"
    REVERTED = "reverted"
    FAILED = "failed"
    NOT_PUBLISHED = "not_published"


UNAPPROVED = frozenset({State.DRAFT, State.IN_REVIEW, State.CHANGES_REQUESTED})
"""Open states in which the approvals decide whether a set can be published."""

APPROVED = frozenset({State.APPROVED, State.SCHEDULED, State.FAILED})
REVIEWED = frozenset({State.IN_REVIEW, State.APPROVED, State.FAILED})

OPEN = UNAPPROVED | APPROVED
"""The states of a set that can change. A project has at most `MAX_OPEN` of them."""

WITHOUT_APPROVAL = frozenset({State.DRAFT, State.IN_REVIEW})
"""States from which a set is published or scheduled only if it needs no approval, or has all of them."""

ENDED = frozenset({State.PUBLISHED, State.REVERTED})
ALL = frozenset(State)


def _same(row: ChangeSet) -> State:
    return row.state


def _previous(row: ChangeSet) -> State:
    return State(row.previous_state or State.FAILED)


Target = State | Callable[[ChangeSet], State]
Event = ChangeSetEvent

TABLE: tuple[tuple[Step | SetOutcome, frozenset[State], Target, ChangeSetEvent | None], ...] = (
    # The step, the states that permit it, the state after it, and its event.
    (Step.EDIT, OPEN, _same, None),
    (Step.COMMIT, UNAPPROVED, _same, None),
    (Step.COMMIT, APPROVED, State.IN_REVIEW, None),
    (Step.SUBMIT, frozenset({State.DRAFT, State.CHANGES_REQUESTED}), State.IN_REVIEW, Event.SUBMITTED),
    (Step.REVIEW, REVIEWED, _same, None),
    (SetOutcome.APPROVED, frozenset({State.IN_REVIEW}), State.APPROVED, Event.APPROVED),
    (SetOutcome.CHANGES_REQUESTED, REVIEWED, State.CHANGES_REQUESTED, Event.CHANGES_REQUESTED),
    (Step.SCHEDULE, APPROVED | WITHOUT_APPROVAL, State.SCHEDULED, Event.SCHEDULED),
    (Step.UNSCHEDULE, frozenset({State.SCHEDULED}), State.APPROVED, None),
    (Step.UNSCHEDULE, frozenset({State.PUBLISHED}), _same, None),
    (Step.PUBLISH, APPROVED | WITHOUT_APPROVAL, State.PUBLISHING, None),
    (SetOutcome.UPDATED, frozenset({State.PUBLISHING}), _same, None),
    (SetOutcome.REFUSED, frozenset({State.PUBLISHING}), _previous, None),
    (SetOutcome.FAILED, frozenset({State.PUBLISHING, State.SCHEDULED}), State.FAILED, Event.PUBLISH_FAILED),
    (SetOutcome.NOT_PUBLISHED, ALL - {State.PUBLISHING}, _same, Event.PUBLISH_FAILED),
    (SetOutcome.PUBLISHED, ALL - ENDED, State.PUBLISHED, Event.PUBLISHED),
    (Step.SCHEDULE_UNPUBLISH, frozenset({State.PUBLISHED}), _same, None),
    (Step.REVERT, frozenset({State.PUBLISHED}), _same, None),
    (SetOutcome.REVERTED, frozenset({State.PUBLISHED}), State.REVERTED, Event.REVERTED),
    (Step.CLOSE, OPEN, State.CLOSED, Event.CLOSED),
)
"""All transitions. The host decides what is published, so a set in any other state can turn out to be."""

_TRANSITIONS = {(step, state): (to, event) for step, states, to, event in TABLE for state in states}


def permitted(step: Step | SetOutcome, *, required_approvals: int = 1) -> frozenset[State]:
    """Return the states from which a step is permitted in a project with so many required approvals."""
    states = frozenset(state for state in State if (step, state) in _TRANSITIONS)
    needs_approval = required_approvals > 0 and step in (Step.PUBLISH, Step.SCHEDULE)
    return states - WITHOUT_APPROVAL if needs_approval else states


def require(change_set: ChangeSet, step: Step, *, required_approvals: int = 1) -> None:
    """Check that the state permits a step.

    Raises:
        AlreadyPublished: a publication of a published set.
        StateConflict: the state does not permit the step.
    """
    states = permitted(step, required_approvals=required_approvals)
    if change_set.state in states:
        return
    if step is Step.PUBLISH and change_set.state in ENDED:
        raise AlreadyPublished
    raise StateConflict(change_set.state, states)


def take(row: ChangeSet, step: Step | SetOutcome, **values: Any) -> ChangeSet:
    """Take a step of a set whose row is locked: change its state and other columns, and publish the event.

    Raises:
        StateConflict: the state does not permit the step.
    """
    if (step, row.state) not in _TRANSITIONS:
        raise StateConflict(row.state, permitted(step))
    to, event = _TRANSITIONS[step, row.state]
    changes = {"state": to if isinstance(to, State) else to(row), "version": row.version + 1, **values}
    for name, value in changes.items():
        setattr(row, name, value)
    db.session.flush()
    if event is not None:
        change_set_moved.publish(row, event)
    return row


def locked(change_set_id: str) -> ChangeSet:
    """Return the present row of a set, locked until the transaction ends. Raises NotFound."""
    row = db.session.get(ChangeSet, change_set_id, with_for_update=True, populate_existing=True)
    if row is None:
        raise NotFound("Change set not found")
    return row


def is_busy(row: ChangeSet) -> bool:
    """Return whether a request or job works on the branch of a locked set."""
    return row.busy_until is not None and row.busy_until > utcnow_ms()


@contextmanager
def free_row(change_set_id: str) -> Iterator[ChangeSet]:
    """Run the block in a transaction with the locked row of a set whose branch no request or job is writing.

    Raises:
        SetBusy: a writer did not end in time.
        NotFound: the set does not exist.
    """
    deadline = time.monotonic() + WAIT_S
    while True:
        with transactions.write_transaction():
            row = locked(change_set_id)
            if not is_busy(row):
                yield row
                return
        if time.monotonic() > deadline:
            raise SetBusy
        time.sleep(POLL_S)


@contextmanager
def held(change_set_id: str, step: Step) -> Iterator[ChangeSet]:
    """Run the block while no other request or job writes to the branch of a set or publishes it.

    Call it outside of a transaction. The transaction that records the result releases the set. If the block raises,
    it is released at once. A killed process holds it for `LEASE`.

    Raises:
        StateConflict: the state does not permit the step.
        SetBusy: another writer did not end in time.
    """
    with free_row(change_set_id) as change_set:
        require(change_set, step)
        until = change_set.busy_until = utcnow_ms() + LEASE
    try:
        yield change_set
    except BaseException:
        with transactions.locked_row(ChangeSet, change_set_id) as row:
            if row is not None and row.busy_until == until:
                row.busy_until = None
        raise
