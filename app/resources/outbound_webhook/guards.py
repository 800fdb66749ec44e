"""Guards and declared changes of webhooks. Messages contain data, so reading needs the scope `admin` as well."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from app.access import targets
from app.access.caller import Caller
from app.access.guards import Guard, permission
from app.access.scope import OrganizationScope, Scope
from app.access.tokens import TokenRule
from app.core.api_tokens import TokenScope
from app.core.errors import NotFound
from app.core.ids import is_id
from app.core.permissions import Access, Permission, grants
from app.extensions import db
from app.http.actions import DeclaredAction
from app.models.organization import Membership, Organization
from app.models.outbound_webhook import WebhookDelivery, WebhookEndpoint
from app.models.project import Project

_ADMIN = frozenset({TokenScope.ADMIN})
RULE = TokenRule(_ADMIN, _ADMIN)
ENDPOINT_ID, DELIVERY_ID = targets.IdKind("whe", "a webhook"), targets.IdKind("dlv", "a delivery")
HIDDEN = "Needs the permission `org:MANAGE_ORG` in the organization of the webhook. Others receive 404."

_E = WebhookEndpoint
_FIND = (
    sa.select(_E, Organization, Project, Membership.role)
    .join(Organization, Organization.id == _E.organization_id)
    .join(
        Membership,
        sa.and_(
            Membership.organization_id == _E.organization_id,
            Membership.user_id == sa.bindparam("user_id"),
            Membership.access == Access.ALL,
        ),
    )
    .outerjoin(Project, sa.and_(Project.id == _E.project_id, Project.organization_id == _E.organization_id))
    .where(_E.id == sa.bindparam("endpoint_id"))
)


@dataclass(frozen=True, kw_only=True)
class WebhookScope(OrganizationScope):
    """The scope of a route that names a webhook."""

    webhook: WebhookEndpoint


@dataclass(frozen=True, kw_only=True)
class WebhookDeliveryScope(WebhookScope):
    """The scope of a route that names a delivery of a webhook."""

    delivery: WebhookDelivery


def manage_webhooks() -> Guard:
    """Return a guard for members who may change the organization."""
    return permission(Permission.MANAGE_ORG).for_tokens(RULE)


def webhook(param: str = "id") -> Guard:
    """Return a guard like `manage_webhooks` that resolves a webhook. Other users do not find it."""
    return Guard(
        "org:MANAGE_ORG of the webhook",
        lambda s: grants(s.role, Permission.MANAGE_ORG),
        _webhook(param),
        token=RULE,
        description=HIDDEN,
    )


def webhook_delivery(param: str = "id", delivery: str = "delivery_id") -> Guard:
    """Return a guard like `webhook` that resolves a delivery of the webhook."""
    return replace(webhook(param), find=_delivery(param, delivery))


def _webhook(param: str) -> targets.Resolver[Scope]:
    def find(caller: Caller | None, ids: targets.Ids) -> Scope:
        if caller is None or not caller.email_verified:
            return Scope(optional_caller=caller, path=ids)
        return WebhookScope(optional_caller=caller, path=ids, **_fields(ids.get(param), caller))

    return targets.Resolver(WebhookScope, find, ids={param: ENDPOINT_ID})


def _delivery(param: str, delivery: str) -> targets.Resolver[Scope]:
    def find(caller: Caller | None, ids: targets.Ids) -> Scope:
        if caller is None or not caller.email_verified:
            return Scope(optional_caller=caller, path=ids)
        fields = _fields(ids.get(param), caller)
        row, delivery_id = None, ids.get(delivery)
        if is_id(delivery_id, DELIVERY_ID.prefix):
            row = db.session.get(WebhookDelivery, delivery_id)
        if row is None or row.endpoint_id != fields["webhook"].id:
            raise NotFound("The delivery does not exist")
        return WebhookDeliveryScope(optional_caller=caller, path=ids, delivery=row, **fields)

    return targets.Resolver(WebhookDeliveryScope, find, ids={param: ENDPOINT_ID, delivery: DELIVERY_ID})


def _fields(endpoint_id: object, caller: Caller) -> Mapping[str, Any]:
    row = None
    if is_id(endpoint_id, ENDPOINT_ID.prefix):
        row = db.session.execute(_FIND, {"endpoint_id": endpoint_id, "user_id": caller.id}).one_or_none()
    if row is None:
        raise NotFound("The webhook does not exist")
    return dict(zip(("webhook", "organization", "project", "role"), row, strict=True))


CREATE = DeclaredAction(guard=manage_webhooks(), outside=True)
UPDATE = DeclaredAction(guard=webhook(), outside=True, etag_of="outbound_webhook.details")
DELETE = DeclaredAction(guard=webhook(), allow_archived=True, etag_of="outbound_webhook.details")
