"""Events of organizations."""

from app.core.events import Event
from app.models.organization import Organization

organization_deleting: Event[[Organization]] = Event("organization_deleting")
"""Published before the rows are deleted, in the same transaction."""

membership_ended: Event[[Organization, str]] = Event("membership_ended")
"""Published after a user left an organization or was removed, with the id of the user."""
