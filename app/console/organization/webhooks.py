"""Pages of the webhooks of an organization, of their deliveries and of the results. A secret is shown once."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from flask import Response
from marshmallow import fields, validate

from app.access.scope import OrganizationScope, Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.core.errors import NotFound
from app.drivers.http.pinned import CallFailure
from app.extensions import current_settings, drivers, keyring
from app.http.actions import run
from app.http.validation import Cursor, Length, RequestQuery
from app.models.outbound_webhook import DeliveryState
from app.resources.outbound_webhook import actions, guards, queries, responses, service
from app.resources.outbound_webhook.delivery import UNREADABLE
from app.resources.outbound_webhook.schemas import requests as bodies
from app.resources.outbound_webhook.schemas.events import WEBHOOK_TEST, event_types
from app.resources.project import queries as projects

ALL = "/organizations/<org_id>/webhooks"
HOOK_URL = f"{ALL}/<webhook_id>"
DELIVERY = f"{HOOK_URL}/deliveries/<delivery_id>"
GUARD = guards.CREATE.guard
PER_PAGE = 50
TEST = WEBHOOK_TEST.name
DEPLOYED = [event_type.name for event_type in event_types.values() if event_type.is_deployed]
"""The types of the deliveries of a deploy hook."""

NAMES = {"project_id": "project", **{f"events.{index}": "events" for index in range(len(bodies.TYPES))}}


@dataclass(frozen=True, kw_only=True)
class NewWebhookQuery(RequestQuery):
    """The project that the form of a new webhook selects."""

    project: Annotated[str, fields.String(load_default="", validate=Length(max=40))]


@dataclass(frozen=True, kw_only=True)
class DeliveryListQuery(RequestQuery):
    """The filter and the position in the deliveries of a webhook."""

    state: Annotated[
        str | None, fields.String(load_default=None, validate=validate.OneOf([str(state) for state in DeliveryState]))
    ]
    type: Annotated[str | None, fields.String(load_default=None, validate=validate.OneOf(bodies.TYPES))]
    cursor: Cursor


def webhooks_url(scope: Scope, path: str = "") -> str:
    """Return the URL of a page of the webhooks of the organization."""
    return f"{ROOT}/organizations/{scope.path['org_id']}/webhooks{path}"


def with_newest_delivery(organization_id: str, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return webhooks of an organization with `newest`, their newest delivery or None."""
    newest = queries.newest_deliveries(organization_id)
    return [
        webhook | {"newest": responses.item(newest[webhook["id"]]) if webhook["id"] in newest else None}
        for webhook in listed
    ]


@blueprint.get(ALL)
@Page(guard=GUARD, query=NewWebhookQuery)
def list_webhooks(*, scope: OrganizationScope, query: NewWebhookQuery) -> Response:
    """List the webhooks of an organization."""
    listed = [responses.shown(row, keyring) for row in queries.of_organization(scope.organization.id)]
    return page(
        "organization/webhooks.html",
        webhooks=with_newest_delivery(scope.organization.id, listed),
        projects=_project_names(scope),
        project=query.project,
        groups=_groups(),
    )


@blueprint.post(ALL)
@Page(
    guard=GUARD,
    query=NewWebhookQuery,
    inputs=("url", "events", "project", "description"),
    shown_by="list_webhooks",
    names=NAMES,
)
def create_webhook(*, scope: OrganizationScope, query: NewWebhookQuery, form: Form) -> Response:
    """Create a webhook and show its secret."""
    data = form.texts("url", "description") | {
        "events": list(form.all("events")),
        "project_id": form.optional("project"),
    }
    return _secret(scope, create_hook(scope.organization.id, data))


@blueprint.get(HOOK_URL)
@Page(guard=GUARD, query=DeliveryListQuery)
def webhook(*, scope: OrganizationScope, query: DeliveryListQuery) -> Response:
    """Show a webhook with its deliveries, newest first."""
    details = read_webhook(scope)
    return page(
        "organization/webhook.html",
        webhook=details,
        **_deliveries(details["id"], query),
        query=query,
        types=[*(details["events"] or DEPLOYED), TEST],
        projects=_project_names(scope),
        groups=_groups(),
        days=service.recoverable_days(),
    )


def _deliveries(webhook_id: str, query: DeliveryListQuery) -> dict[str, Any]:
    """Return a page of deliveries, newest first, and the cursor of the next one."""
    state = DeliveryState(query.state) if query.state else None
    listed = queries.deliveries(
        webhook_id, limit=PER_PAGE, cursor=query.cursor, state=state, event_type=query.type, since=None
    )
    return {"deliveries": [responses.item(row) for row in listed.rows], "cursor": listed.next_cursor}


@blueprint.post(f"{HOOK_URL}/settings")
@Page(guard=GUARD, inputs=("url", "events", "description"), shown_by="webhook", names=NAMES)
def change_webhook(*, scope: OrganizationScope, form: Form) -> Response:
    """Change the URL, the events and the description. The URL of a deploy hook stays if the input is empty."""
    details = read_webhook(scope)
    data: dict[str, object] = {"description": form.text("description")}
    if details["url"] is not None or form.text("url"):
        data["url"] = form.text("url")
    if details["events"]:
        data["events"] = list(form.all("events"))
    change_hook(details["id"], data)
    return see_other(webhooks_url(scope, f"/{details['id']}?done=saved"))


@blueprint.post(f"{HOOK_URL}/state")
@Page(guard=GUARD, inputs=("state",), shown_by="webhook")
def change_webhook_state(*, scope: OrganizationScope, form: Form) -> Response:
    """Pause or activate a webhook."""
    webhook_id = read_webhook(scope)["id"]
    change_hook(webhook_id, form.texts("state"))
    return see_other(webhooks_url(scope, f"/{webhook_id}?done=saved"))


@blueprint.post(f"{HOOK_URL}/test")
@Page(guard=GUARD, inputs=(), shown_by="webhook")
def test_webhook(*, scope: OrganizationScope, form: Form) -> Response:
    """Send a test and show its delivery."""
    webhook_id = read_webhook(scope)["id"]
    return see_other(webhooks_url(scope, f"/{webhook_id}/deliveries/{send_test(webhook_id)}?done=tested"))


@blueprint.post(f"{HOOK_URL}/rotate")
@Page(guard=GUARD, inputs=(), shown_by="webhook")
def rotate_webhook(*, scope: OrganizationScope, form: Form) -> Response:
    """Replace the secret and show the new one."""
    ids = {"id": read_webhook(scope)["id"]}
    issued = run(lambda scope: service.rotate(scope.webhook, ring=keyring), ids, guard=guards.webhook())
    return _secret(scope, responses.signed(issued, keyring))


@blueprint.post(f"{HOOK_URL}/recover")
@Page(guard=GUARD, inputs=("since",), shown_by="webhook")
def recover_webhook(*, scope: OrganizationScope, form: Form) -> Response:
    """Send the failed and discarded messages since a day again."""
    webhook_id, day, limits = read_webhook(scope)["id"], form.text("since"), current_settings().limits.webhooks
    body = bodies.RecoverWebhookBody.loaded({"since": f"{day}T00:00:00Z" if day else None})
    ids = {"id": webhook_id}
    run(lambda scope: service.recover(scope.webhook, body.since, limits=limits), ids, guard=guards.webhook())
    return see_other(webhooks_url(scope, f"/{webhook_id}?done=resent"))


@blueprint.post(f"{HOOK_URL}/delete")
@Page(guard=GUARD, inputs=(), shown_by="webhook")
def delete_webhook(*, scope: OrganizationScope, form: Form) -> Response:
    """Delete a webhook with its deliveries."""
    run(lambda scope: service.delete(scope.webhook), {"id": read_webhook(scope)["id"]}, guards.DELETE)
    return see_other(webhooks_url(scope, "?done=deleted"))


@blueprint.get(DELIVERY)
@Page(guard=GUARD)
def webhook_delivery(*, scope: OrganizationScope) -> Response:
    """Show a delivery with its request and its attempts."""
    details = read_webhook(scope)
    delivery = read_delivery(details["id"], scope.path["delivery_id"])
    attempts = [attempt | {"result": failure_text(attempt)} for attempt in delivery["attempts"]]
    return page(
        "organization/webhook_delivery.html",
        webhook=details,
        delivery=delivery | {"attempts": attempts},
        projects=_project_names(scope),
    )


@blueprint.post(f"{DELIVERY}/replay")
@Page(guard=GUARD, inputs=(), shown_by="webhook_delivery")
def replay_delivery(*, scope: OrganizationScope, form: Form) -> Response:
    """Send a message again."""
    ids = {"id": read_webhook(scope)["id"], "delivery_id": scope.path["delivery_id"]}
    run(lambda scope: service.replay(scope.webhook, scope.delivery), ids, guard=guards.webhook_delivery())
    return see_other(webhooks_url(scope, f"/{ids['id']}/deliveries/{ids['delivery_id']}?done=resent"))


def create_hook(organization_id: str, data: dict[str, Any]) -> Any:
    """Create a webhook and return it with its secret. Raises the errors of the schema and of `actions.create`."""
    values, ids = vars(bodies.CreateWebhookBody.loaded(data)), {"org_id": organization_id}
    return run(lambda scope: actions.create(scope.organization, **values, client=drivers.webhooks), ids, guards.CREATE)


def change_hook(webhook_id: str, data: dict[str, Any]) -> None:
    """Change a webhook. Raises the errors of the schema and of `actions.update`."""
    body, client = bodies.UpdateWebhookBody.loaded(data, is_change=True), drivers.webhooks
    url, changes = body.sent().get("url"), body.changes()
    run(lambda scope: actions.update(scope.webhook, url, changes, client=client), {"id": webhook_id}, guards.UPDATE)


def send_test(webhook_id: str) -> str:
    """Send a test and return the id of its delivery."""
    return run(lambda scope: service.send_test(scope.webhook), {"id": webhook_id}, guard=guards.webhook())


def read_hook(webhook_id: str) -> dict[str, Any]:
    """Return a webhook that the user may change. Raises NotFound."""
    scope: Any = guards.webhook().resolve({"id": webhook_id}, is_read=True)
    return responses.shown(scope.webhook, keyring)


def read_delivery(webhook_id: str, delivery_id: str) -> dict[str, Any]:
    """Return a delivery with its request and its attempts. Raises NotFound."""
    scope: Any = guards.webhook_delivery().resolve({"id": webhook_id, "delivery_id": delivery_id}, is_read=True)
    return responses.detailed(queries.details(scope.delivery.id), scope.webhook)


def read_webhook(scope: OrganizationScope) -> dict[str, Any]:
    """Return the webhook of the URL. Raises NotFound, also for a webhook of another organization."""
    details = read_hook(scope.path["webhook_id"])
    if details["org_id"] != scope.organization.id:
        raise NotFound("The webhook does not exist")
    return details


def _project_names(scope: OrganizationScope) -> dict[object, object]:
    listed = projects.of_organization(scope.organization.id, user=scope.caller, status=None)
    return {project["project_id"]: project["project_name"] for project in listed}


def _groups() -> dict[str, list[str]]:
    """Return the types of events that can be selected, by group and in the order of their declarations."""
    groups = defaultdict(list)
    for event_type in event_types:
        if event_type != TEST:
            area = event_type.partition(".")[0]
            groups["content" if area in ("branch", "index", "connection") else area].append(event_type)
    return dict(groups)


def _secret(scope: Scope, issued: dict[str, Any]) -> Response:
    """Return the only page that contains the secret."""
    back = webhooks_url(scope, f"/{issued['id']}")
    return page("organization/webhook_secret.html", is_secret=True, webhook=issued, back=back)


def failure_text(attempt: Mapping[str, Any]) -> str:
    """Return the reason why an attempt has failed, or an empty text for an accepted one."""
    status = attempt["status"]
    if status is not None:
        return "" if 200 <= status < 300 else _("The receiver answered with the status %(status)s", status=status)
    texts: dict[str, str] = {
        CallFailure.NOT_RESOLVED: _("There is no host of this name"),
        CallFailure.REFUSED: _("The host has no public address"),
        CallFailure.NOT_CONNECTED: _("The host accepts no connection"),
        CallFailure.INSECURE: _("The certificate of the host is not valid"),
        CallFailure.LATE: _("The host did not answer within 20 seconds"),
        CallFailure.DROPPED: _("The host closed the connection"),
        CallFailure.INVALID: _("The answer of the host is not valid"),
        UNREADABLE: _("The stored URL cannot be read anymore. Enter it again"),
    }
    return texts.get(attempt["error"]) or str(attempt["error"])
