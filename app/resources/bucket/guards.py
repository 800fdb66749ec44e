"""Guards for uploads and for the deletion of assets."""

from typing import Any

import sqlalchemy as sa

from app.access import targets
from app.access.caller import Caller
from app.access.guards import Guard
from app.access.scope import AuthContext
from app.access.tokens import EDITS
from app.core.errors import NotFound
from app.core.permissions import Permission, Role, grants
from app.extensions import db
from app.models.media import MediaAsset
from app.models.organization import Membership, Organization
from app.models.project import Project
from app.resources.bucket.storage_keys import is_key


def can_upload() -> Guard:
    """Return a guard for verified users; for the owners and admins of an organization or project in the form."""

    def allows(context: AuthContext) -> bool:
        attaches_nothing = context.is_self
        return attaches_nothing or all(
            grants(role, Permission.MANAGE_ORG) for role in (context.role, context.second_role)
        )

    return Guard("verifyAuth", allows, _attached_to, target_in_body=True, token=EDITS)


def can_delete_asset(param: str = "key") -> Guard:
    """Return a guard for the uploader, the owners and admins of the attached organization, and platform admins."""

    def allows(context: AuthContext) -> bool:
        return context.is_self or context.admin or grants(context.role, Permission.MANAGE_ORG)

    return Guard("uploader, or MANAGE_ORG of the org the key is attached to", allows, _asset(param), token=EDITS)


def _attached_to(actor: Caller | None, ids: targets.Ids) -> targets.Targets:
    """Resolve the `project` of the form with its organization, and `destination`, the organization of the form."""
    resolved: dict[str, Any] = {}
    if ids["project_id"] is not None:
        resolved = targets.project("project_id")(actor, ids)
    if ids["org_id"] is not None:
        named = targets.organization("org_id")(actor, ids)
        resolved = named | resolved | {"destination": named["organization"], "second_role": named["role"]}
    return {"second_role": resolved["role"]} | resolved if resolved else {"is_self": True}


def _asset(param: str) -> targets.TargetResolver:
    def find(actor: Caller | None, ids: targets.Ids) -> targets.Targets:
        row = (
            db.session.execute(_asset_with_organization(str(ids[param]), actor)).first() if is_key(ids[param]) else None
        )
        if row is None:
            raise NotFound("The asset does not exist")
        asset, project, organization, role = row
        is_uploader = actor is not None and asset.uploader_id == actor.id
        resolved = {"asset": asset, "project": project, "organization": organization}
        return {name: value for name, value in resolved.items() if value is not None} | {
            "is_self": is_uploader,
            "role": role,
        }

    return find


def _asset_with_organization(key: str, actor: Caller | None) -> sa.Select[MediaAsset, Project, Organization, Role]:
    membership = sa.and_(
        Membership.organization_id == Organization.id, Membership.user_id == (actor.id if actor is not None else None)
    )
    return (
        sa.select(MediaAsset, Project, Organization, Membership.role)
        .outerjoin(Project, Project.id == MediaAsset.project_id)
        .outerjoin(
            Organization, Organization.id == sa.func.coalesce(MediaAsset.organization_id, Project.organization_id)
        )
        .outerjoin(Membership, membership)
        .where(MediaAsset.key == key, MediaAsset.stored_at.is_not(None))
    )
