"""Guards for uploads and for the deletion of assets."""

from dataclasses import dataclass, replace

import sqlalchemy as sa

from app.access import targets
from app.access.caller import Caller
from app.access.guards import Guard
from app.access.scope import Scope
from app.access.tokens import EDITS
from app.core.errors import NotFound
from app.core.permissions import Permission, Role, grants
from app.extensions import db
from app.models.media import MediaAsset
from app.models.organization import Membership, Organization
from app.models.project import Project, role_in_project
from app.resources.bucket.storage_keys import is_key


@dataclass(frozen=True, kw_only=True)
class AssetScope(Scope):
    """The scope of a route that names an asset, with the project and organization to which it is attached."""

    asset: MediaAsset


def can_upload() -> Guard:
    """Return a guard for verified users; for the owners and admins of an organization or project in the form."""

    def allows(scope: Scope) -> bool:
        attaches_nothing = scope.is_self
        return attaches_nothing or all(grants(role, Permission.MANAGE_ORG) for role in (scope.role, scope.second_role))

    return Guard("verifyAuth", allows, targets.Resolver(Scope, _attached_to), target_in_body=True, token=EDITS)


def can_delete_asset(param: str = "key") -> Guard:
    """Return a guard for the uploader, the owners and admins of the attached organization, and platform admins."""

    def allows(scope: Scope) -> bool:
        return scope.is_self or scope.is_admin or grants(scope.role, Permission.MANAGE_ORG)

    return Guard(
        "uploader, or MANAGE_ORG of the org the key is attached to",
        allows,
        _asset(param),
        token=EDITS,
        description="For the user who uploaded the image, and for owners and admins of the organization that uses it.",
    )


def _attached_to(caller: Caller | None, ids: targets.Ids) -> Scope:
    """Resolve the project of the form with its organization, and `destination`, the organization of the form."""
    scope = Scope(optional_caller=caller, path=ids, is_self=True)
    if ids["project_id"] is not None:
        scope = targets.project("project_id").find(caller, ids)
        scope = replace(scope, second_role=scope.role)
    if ids["org_id"] is not None:
        named = targets.organization("org_id").find(caller, ids)
        first = scope if scope.project is not None else named
        scope = replace(first, destination=named.organization, second_role=named.role)
    return scope


def _asset(param: str) -> targets.Resolver[AssetScope]:
    def find(caller: Caller | None, ids: targets.Ids) -> AssetScope:
        statement = _asset_with_organization(str(ids[param]), caller)
        row = db.session.execute(statement).first() if is_key(ids[param]) else None
        if row is None:
            raise NotFound("The asset does not exist")
        asset, project, organization, role = row
        return AssetScope(
            asset=asset,
            project=project,
            organization=organization,
            role=role,
            is_self=caller is not None and asset.uploader_id == caller.id,
            optional_caller=caller,
            path=ids,
        )

    return targets.Resolver(AssetScope, find)


def _asset_with_organization(key: str, caller: Caller | None) -> sa.Select[MediaAsset, Project, Organization, Role]:
    user_id = caller.id if caller is not None else None
    membership = sa.and_(Membership.organization_id == Organization.id, Membership.user_id == user_id)
    role = sa.case((Project.id.is_(None), Membership.role), else_=role_in_project(user_id))
    return (
        sa.select(MediaAsset, Project, Organization, role)
        .outerjoin(Project, Project.id == MediaAsset.project_id)
        .outerjoin(
            Organization, Organization.id == sa.func.coalesce(MediaAsset.organization_id, Project.organization_id)
        )
        .outerjoin(Membership, membership)
        .where(MediaAsset.key == key, MediaAsset.stored_at.is_not(None))
    )
