"""Routes of outbound webhooks and their deliveries."""

from app.access.scope import OrganizationScope
from app.core.outbound import UnrecordedAct
from app.extensions import current_settings, drivers, keyring
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import PageResult, ViewResult, endpoint
from app.http.results import page_of
from app.http.validation import ListQuery
from app.models.outbound_webhook import WebhookState
from app.resources.outbound_webhook import actions, guards, queries, responses, service
from app.resources.outbound_webhook.guards import (
    WebhookDeliveryScope,
    WebhookScope,
    manage_webhooks,
    webhook,
    webhook_delivery,
)
from app.resources.outbound_webhook.responses import Shown
from app.resources.outbound_webhook.schemas import requests as bodies
from app.resources.outbound_webhook.schemas import results

blueprint = ApiBlueprint(
    "outbound_webhook",
    __name__,
    title="Webhooks",
    noun="webhook",
    description="Signed messages about events, and calls of deploy hooks.",
    parameters={
        "state": "Only deliveries in this state.",
        "type": "Only deliveries of this type of event.",
        "since": "Only deliveries that were created since this time.",
    },
)
ALL, WEBHOOK = "/organization/<org_id>/webhooks", "/webhook/<id>"
DELIVERIES, DELIVERY = f"{WEBHOOK}/deliveries", f"{WEBHOOK}/delivery/<delivery_id>"


@blueprint.get(ALL)
@endpoint(guard=manage_webhooks(), query=ListQuery, result=results.WebhookSchema, many=True, message="Webhooks")
def list_all(*, scope: OrganizationScope, query: ListQuery) -> PageResult:
    """List the webhooks of an organization and of its projects."""
    rows = [responses.shown(row, keyring) for row in queries.of_organization(scope.organization.id)]
    return page_of(rows, query, kind="webhooks", key=lambda row: str(row["id"]))


@blueprint.post(ALL)
@endpoint(
    **vars(guards.CREATE),
    body=bodies.CreateWebhookBody,
    result=results.SignedWebhookSchema,
    status=201,
    message="Webhook created",
    secret_fields=("secret",),
    errors=("LIMIT_REACHED", "NOT_FOUND"),
)
def create(*, scope: OrganizationScope, body: bodies.CreateWebhookBody) -> UnrecordedAct[Shown]:
    """Create a webhook. Only this response contains the secret."""
    return actions.create(scope.organization, **vars(body), client=drivers.webhooks)


@blueprint.get(WEBHOOK)
@endpoint(guard=webhook(), result=results.WebhookSchema, message="Webhook")
def details(*, scope: WebhookScope) -> Shown:
    """Read a webhook."""
    return responses.shown(scope.webhook, keyring)


@blueprint.patch(WEBHOOK)
@endpoint(**vars(guards.UPDATE), body=bodies.UpdateWebhookBody, result=results.WebhookSchema, message="Webhook updated")
def update(*, scope: WebhookScope, body: bodies.UpdateWebhookBody) -> UnrecordedAct[Shown]:
    """Change the URL, the events, the description or the state of a webhook."""
    return actions.update(scope.webhook, body.sent().get("url"), body.changes(), client=drivers.webhooks)


@blueprint.delete(WEBHOOK)
@endpoint(**vars(guards.DELETE), result=results.DeletedWebhookSchema, message="Webhook deleted")
def delete(*, scope: WebhookScope) -> dict[str, object]:
    """Delete a webhook with its deliveries."""
    return {"id": service.delete(scope.webhook), "deleted": True}


@blueprint.post(f"{WEBHOOK}/rotate")
@endpoint(
    guard=webhook(),
    result=results.SignedWebhookSchema,
    message="Webhook rotated",
    secret_fields=("secret",),
    errors=("NO_SECRET",),
)
def rotate(*, scope: WebhookScope) -> Shown:
    """Replace the secret of a webhook. Messages have signatures of both secrets for 24 hours."""
    return responses.signed(service.rotate(scope.webhook, ring=keyring), keyring)


@blueprint.post(f"{WEBHOOK}/test")
@endpoint(
    operation_id="sendWebhookTest",
    guard=webhook(),
    result=results.DeliverySchema,
    status=202,
    message="Test enqueued",
)
def send_test(*, scope: WebhookScope) -> Shown:
    """Send the event `webhook.test`, or call the deploy hook. The delivery shows the result."""
    return responses.item(queries.delivery(service.send_test(scope.webhook)))


@blueprint.post(f"{WEBHOOK}/recover")
@endpoint(
    operation_id="restoreWebhookDeliveries",
    guard=webhook(),
    body=bodies.RecoverWebhookBody,
    result=results.RecoveredSchema,
    status=202,
    message="Messages are sent again",
)
def recover(*, scope: WebhookScope, body: bodies.RecoverWebhookBody) -> ViewResult:
    """Send the failed and discarded messages since a time again, also those that wait for their next attempt."""
    limits = current_settings().limits.webhooks
    count = service.recover(scope.webhook, body.since, limits=limits)
    is_active = scope.webhook.state == WebhookState.ACTIVE
    when = "Messages are sent again" if is_active else "Messages are sent again when the webhook is active"
    return ViewResult({"recovered": count}, 202, message=when if count else "No message since then has failed")


@blueprint.get(DELIVERIES)
@endpoint(
    operation_id="listWebhookDeliveries",
    guard=webhook(),
    query=bodies.DeliveriesQuery,
    result=results.DeliverySchema,
    many=True,
    message="Deliveries",
)
def list_deliveries(*, scope: WebhookScope, query: bodies.DeliveriesQuery) -> PageResult:
    """List the deliveries of a webhook of the last 90 days, newest first."""
    page = queries.deliveries(
        scope.webhook.id,
        limit=query.limit,
        cursor=query.cursor,
        state=query.state,
        event_type=query.type,
        since=query.since,
    )
    meta = {"next_cursor": page.next_cursor, "total": page.total}
    return PageResult([responses.item(row) for row in page.rows], meta)


@blueprint.get(DELIVERY)
@endpoint(
    operation_id="getWebhookDelivery",
    guard=webhook_delivery(),
    result=results.DeliveryDetailsSchema,
    message="Delivery",
)
def delivery_details(*, scope: WebhookDeliveryScope) -> Shown:
    """Read a delivery with its request and its attempts."""
    return responses.detailed(queries.details(scope.delivery.id), scope.webhook)


@blueprint.post(f"{DELIVERY}/replay")
@endpoint(
    operation_id="sendWebhookDelivery",
    guard=webhook_delivery(),
    result=results.DeliverySchema,
    status=202,
    message="The message is sent again",
    errors=("BODY_EXPIRED",),
)
def replay(*, scope: WebhookDeliveryScope) -> Shown:
    """Send a message again with the same id and bytes and a new timestamp."""
    return responses.item(queries.delivery(service.replay(scope.webhook, scope.delivery)))
