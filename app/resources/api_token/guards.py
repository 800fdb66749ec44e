"""Guards and declared changes of API tokens. A token cannot create, change or read tokens."""

from dataclasses import dataclass, replace

import sqlalchemy as sa

from app.access import targets
from app.access.caller import Caller
from app.access.guards import Guard, permission, verified
from app.access.scope import OrganizationScope, Scope
from app.access.tokens import SESSION_ONLY
from app.core.errors import NotFound
from app.core.ids import is_id
from app.core.permissions import Permission
from app.extensions import db
from app.http.actions import DeclaredAction
from app.models.login import ApiToken


@dataclass(frozen=True, kw_only=True)
class ApiTokenScope(Scope):
    """The scope of a route that names a personal token."""

    token: ApiToken


@dataclass(frozen=True, kw_only=True)
class ServiceAccountScope(OrganizationScope):
    """The scope of a route that names the token of a service account."""

    token: ApiToken


def own_token(param: str = "id") -> Guard:
    """Return a guard for the owner of a personal token. Other tokens are not found."""
    text = "Only for the owner of the personal token."
    return Guard("own token", lambda s: s.is_self, _own_token(param), description=text)


def manage_service_accounts() -> Guard:
    """Return a guard for members who may change the organization."""
    return permission(Permission.MANAGE_ORG).for_tokens(SESSION_ONLY)


def service_account(param: str = "id") -> Guard:
    """Return a guard like `manage_service_accounts` that resolves a service account of the organization."""
    return replace(manage_service_accounts(), find=_service_account(param))


def _own_token(param: str) -> targets.Resolver[Scope]:
    def find(caller: Caller | None, ids: targets.Ids) -> Scope:
        if caller is None or not caller.email_verified:
            return Scope(optional_caller=caller, path=ids)
        where = sa.and_(ApiToken.user_id == caller.id, ApiToken.organization_id.is_(None))
        token = _token(ids.get(param), where)
        return ApiTokenScope(token=token, is_self=True, optional_caller=caller, path=ids)

    return targets.Resolver(ApiTokenScope, find)


def _service_account(param: str) -> targets.Resolver[ServiceAccountScope]:
    organization = targets.organization("org_id")

    def find(caller: Caller | None, ids: targets.Ids) -> ServiceAccountScope:
        scope = organization.find(caller, ids)
        token = _token(ids.get(param), ApiToken.organization_id == scope.organization.id)
        return ServiceAccountScope(**vars(scope) | {"token": token})

    return targets.Resolver(ServiceAccountScope, find, ids=organization.ids)


def _token(token_id: object, where: sa.ColumnElement[bool]) -> ApiToken:
    row = None
    if is_id(token_id, "tok"):
        row = db.session.scalar(sa.select(ApiToken).where(ApiToken.id == token_id, where))
    if row is None:
        raise NotFound("The token does not exist")
    return row


CREATE = DeclaredAction(guard=verified(), rate="token_create", recent=True)
ROTATE = DeclaredAction(guard=own_token(), rate="token_create", recent=True)
UPDATE = DeclaredAction(guard=own_token(), etag_of="api_token.details", recent=True)
DELETE = DeclaredAction(guard=own_token(), etag_of="api_token.details")
CREATE_ACCOUNT = DeclaredAction(guard=manage_service_accounts(), rate="token_create", recent=True)
ROTATE_ACCOUNT = DeclaredAction(guard=service_account(), rate="token_create", recent=True)
UPDATE_ACCOUNT = DeclaredAction(guard=service_account(), etag_of="service_account.details", recent=True)
DELETE_ACCOUNT = DeclaredAction(guard=service_account(), etag_of="service_account.details", allow_archived=True)
