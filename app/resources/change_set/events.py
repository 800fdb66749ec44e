"""Events of change sets."""

from enum import StrEnum

from app.core.events import Event
from app.models.change_set import ChangeSet


class ChangeSetEvent(StrEnum):
    """A step of a change set that other packages observe."""

    SUBMITTED = "submitted"
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    SCHEDULED = "scheduled"
    PUBLISHED = "published"
    PUBLISH_FAILED = "publish_failed"
    REVERTED = "reverted"
    CLOSED = "closed"


change_set_moved: Event[[ChangeSet, ChangeSetEvent]] = Event("change_set_moved")
"""A change set reached a state, in the transaction of the change."""

change_set_changed: Event[[ChangeSet]] = Event("change_set_changed")
"""An open change set has another head, in the transaction that records it."""
