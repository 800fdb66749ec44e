"""Use cases of webhooks: a creation and a change check the addresses of the URL before they write."""

from collections.abc import Mapping
from typing import Any

from app.core.outbound import UnrecordedAct
from app.drivers.http.pinned import PinnedClient
from app.extensions import current_settings, keyring
from app.models.organization import Organization
from app.models.outbound_webhook import WebhookEndpoint
from app.resources.outbound_webhook import responses, service
from app.resources.outbound_webhook.responses import Shown


def create(organization: Organization, *, url: str, client: PinnedClient, **values: Any) -> UnrecordedAct[Shown]:
    """Create a webhook. The result contains its secret. Raises as `check_destination` and `service.create`."""
    destination, limits = service.check_destination(url, client), current_settings().limits.webhooks

    def record() -> Shown:
        issued = service.create(organization, destination, **values, ring=keyring, limits=limits)
        return responses.signed(issued, keyring)

    return UnrecordedAct(record)


def update(
    endpoint: WebhookEndpoint, url: str | None, changes: Mapping[str, Any], *, client: PinnedClient
) -> UnrecordedAct[Shown]:
    """Change a webhook. None keeps its URL. Raises as `check_destination` and `service.update`."""
    destination = service.check_destination(url, client) if url is not None else None
    return UnrecordedAct(
        lambda: responses.shown(service.update(endpoint, destination, **changes, ring=keyring), keyring)
    )
