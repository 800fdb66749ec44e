"""What the account of a person announces."""

from app.core.events import Event
from app.models.user import User

email_verified: Event[[User]] = Event("email_verified")
"""The person has shown that the e-mail is theirs."""

user_deleting: Event[[User]] = Event("user_deleting")
"""The account goes in this transaction; its rows are still there. What lives outside is ended by jobs."""
