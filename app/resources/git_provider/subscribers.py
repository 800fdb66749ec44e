"""Removal of credentials with their users."""

from app.extensions import keyring
from app.models.user import User
from app.resources.git_provider import credentials
from app.resources.user.events import user_deleting


@user_deleting.subscribe
def disconnect(user: User) -> None:
    """Delete the credentials of a user and revoke their tokens."""
    credentials.disconnect_all(user, ring=keyring)
