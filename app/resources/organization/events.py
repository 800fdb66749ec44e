"""Events of organizations."""

from dataclasses import dataclass

from app.core.events import Event
from app.core.permissions import Role
from app.models.organization import Organization


@dataclass(frozen=True)
class MemberChange:
    """A change of a member. `user_id` is None for an invitation."""

    organization_id: str
    user_id: str | None
    email: str
    role: Role


organization_deleting: Event[[Organization]] = Event("organization_deleting")
"""Published before the rows are deleted, in the same transaction."""

membership_ended: Event[[Organization, str]] = Event("membership_ended")
"""Published after a user left an organization or was removed, with the id of the user."""

member_invited: Event[[MemberChange]] = Event("member_invited")
"""A person was invited, or an invitation was renewed."""

member_joined: Event[[MemberChange]] = Event("member_joined")
"""A user became a member."""

member_role_changed: Event[[MemberChange]] = Event("member_role_changed")
"""A member has another role, or sees other projects."""

member_removed: Event[[MemberChange]] = Event("member_removed")
"""A member or an invitation was removed, or a member left."""
