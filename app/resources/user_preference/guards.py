"""Declared changes of preferences, which the API and the console run."""

from app.access.guards import own_user
from app.access.tokens import EDITS
from app.http.actions import DeclaredAction

CHANGE = DeclaredAction(
    guard=own_user("id", spec_name="verifyAuth+self (decided)", token=EDITS), etag_of="user_preference.read"
)
