"""What organizations announce; whoever keeps something of theirs subscribes."""

from app.core.events import Event
from app.models.organization import Organization

organization_deleting: Event[[Organization]] = Event("organization_deleting")
"""The organization and its rows are still there; they go with this transaction."""

member_left: Event[[Organization, str]] = Event("member_left")
"""The user of that id has left the organization or was removed from it."""
