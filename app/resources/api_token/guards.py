"""Guards of API tokens. A token cannot use these routes: it cannot create, change or read tokens."""

from dataclasses import replace

import sqlalchemy as sa

from app.access import targets
from app.access.caller import Caller
from app.access.guards import Guard, permission
from app.access.tokens import SESSION_ONLY
from app.core.errors import NotFound
from app.core.ids import is_id
from app.core.permissions import Permission
from app.extensions import db
from app.models.api_token import ApiToken


def own_token(param: str = "id") -> Guard:
    """Return a guard for the owner of a personal token. Other tokens are not found."""
    return Guard("own token", lambda context: context.is_self, _own_token(param))


def manage_service_accounts() -> Guard:
    """Return a guard for members who may change the organization."""
    return permission(Permission.MANAGE_ORG).for_tokens(SESSION_ONLY)


def service_account(param: str = "id") -> Guard:
    """Return a guard like `manage_service_accounts` that resolves a service account of the organization."""
    return replace(manage_service_accounts(), find=_service_account(param))


def _own_token(param: str) -> targets.TargetResolver:
    def find(actor: Caller | None, ids: targets.Ids) -> targets.Targets:
        if actor is None or not actor.email_verified:
            return {}
        where = sa.and_(ApiToken.user_id == actor.id, ApiToken.organization_id.is_(None))
        return {"token": _token(ids.get(param), where), "is_self": True}

    return find


def _service_account(param: str) -> targets.TargetResolver:
    find_organization = targets.organization("org_id")

    def find(actor: Caller | None, ids: targets.Ids) -> targets.Targets:
        resolved = find_organization(actor, ids)
        token = _token(ids.get(param), ApiToken.organization_id == resolved["organization"].id)
        return resolved | {"token": token}

    return find


def _token(token_id: object, where: sa.ColumnElement[bool]) -> ApiToken:
    row = None
    if is_id(token_id, "tok"):
        row = db.session.scalar(sa.select(ApiToken).where(ApiToken.id == token_id, where))
    if row is None:
        raise NotFound("The token does not exist")
    return row
