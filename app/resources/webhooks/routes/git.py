"""Routes for notifications of Git hosts (contract 4.12)."""

from app.access.guards import public
from app.access.scope import Scope
from app.core.limits import InputLimits
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.resources.webhooks.prepare.git import read_a, read_b
from app.resources.webhooks.schemas import AcknowledgedSchema, GitHubEventSchema, GitLabEventSchema
from app.resources.webhooks.service import Notification, process_notification

blueprint = ApiBlueprint(
    "webhooks_git",
    __name__,
    title="Git notifications",
    description="Push events that Git hosts send.",
)


@blueprint.post("/provider_a")
@endpoint(
    guard=public("public+signature"),
    documented_body=GitHubEventSchema,
    result=AcknowledgedSchema,
    message="Received",
    upstream=read_a,
    max_bytes=InputLimits.webhook_bytes,
    rate="webhook",
    errors=(
        "BAD_SIGNATURE",
        "UNREADABLE_EVENT",
    ),
)
def receive_a(*, scope: Scope, prepared: Notification) -> dict[str, bool]:
    """Process a notification of provider A."""
    process_notification(prepared)
    return {"received": True}


@blueprint.post("/provider_b")
@endpoint(
    guard=public("public+signature"),
    documented_body=GitLabEventSchema,
    result=AcknowledgedSchema,
    message="Received",
    upstream=read_b,
    max_bytes=InputLimits.webhook_bytes,
    rate="webhook",
    errors=(
        "BAD_SIGNATURE",
        "UNREADABLE_EVENT",
    ),
)
def receive_b(*, scope: Scope, prepared: Notification) -> dict[str, bool]:
    """Process a notification of provider B."""
    process_notification(prepared)
    return {"received": True}
