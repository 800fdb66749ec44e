"""How credentials follow their people."""

from app.extensions import vault
from app.models.user import User
from app.resources.git_provider import removal
from app.resources.user.events import user_deleting


@user_deleting.subscribe
def disconnect(user: User) -> None:
    """An account that goes takes its connections along; their tokens are ended at their hosts."""
    removal.disconnect_all(user, ring=vault.ring)
