"""Declared connections of accounts and creations of repositories, which the API and the console run."""

from app.access.guards import permission, verified
from app.core.permissions import Permission
from app.http.actions import DeclaredAction

START = DeclaredAction(guard=verified(), outside=True, rate="provider_exchange")
EXCHANGE = DeclaredAction(
    guard=verified(
        "verifyAuth + state",
        description="Needs a user with a verified e-mail address. The state of the start is checked.",
    ),
    outside=True,
    rate="provider_exchange",
)
CREATE_REPOSITORY = DeclaredAction(guard=permission(Permission.MANAGE_PROJECTS, in_body=True), outside=True)
