"""Events of user accounts."""

from app.core.events import Event
from app.models.user import User

email_verified: Event[[User]] = Event("email_verified")
"""Published in the transaction that verifies the e-mail address."""

password_reset: Event[[User]] = Event("password_reset")
"""Published in the transaction that sets a forgotten password. All sessions, codes and tokens of the user end."""

user_deleting: Event[[User]] = Event("user_deleting")
"""Published before the rows are deleted, in the same transaction. Subscribers enqueue jobs for external objects."""
