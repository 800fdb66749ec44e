"""Who may attach an upload to something, and who may delete an asset."""

from typing import Any

import sqlalchemy as sa

from app.core.errors import NotFound
from app.core.permissions import Permission, Role, grants
from app.extensions import db
from app.http import targets
from app.http.caller import Caller
from app.http.guards import Guard
from app.http.scope import Standing
from app.models.media import MediaAsset
from app.models.organization import Membership, Organization
from app.models.project import Project
from app.resources.bucket.keys import is_key


def uploader() -> Guard:
    """Anyone verified; with an organization or project in the form, its owners and admins."""

    def allows(standing: Standing) -> bool:
        attaches_nothing = standing.is_self
        return attaches_nothing or all(
            grants(role, Permission.MANAGE_ORG) for role in (standing.role, standing.second_role)
        )

    return Guard("verifyAuth", allows, _attached_to, ids_in_body=True)


def keeper(param: str = "key") -> Guard:
    """Who uploaded the asset, owners and admins of what it is attached to, and platform admins."""

    def allows(standing: Standing) -> bool:
        return standing.is_self or standing.admin or grants(standing.role, Permission.MANAGE_ORG)

    return Guard("uploader, or MANAGE_ORG of the org the key is attached to", allows, _asset(param))


def _attached_to(actor: Caller | None, ids: targets.Ids) -> targets.Found:
    """What the form names: `project` with its organization, and `destination`, the organization where it is named."""
    found: dict[str, Any] = {}
    if ids["project_id"] is not None:
        found = targets.project("project_id")(actor, ids)
    if ids["org_id"] is not None:
        named = targets.organization("org_id")(actor, ids)
        found = named | found | {"destination": named["organization"], "second_role": named["role"]}
    return {"second_role": found["role"]} | found if found else {"is_self": True}


def _asset(param: str) -> targets.Find:
    def find(actor: Caller | None, ids: targets.Ids) -> targets.Found:
        row = (
            db.session.execute(_asset_with_organization(str(ids[param]), actor)).first() if is_key(ids[param]) else None
        )
        if row is None:
            raise NotFound("There is no such asset")
        asset, project, organization, role = row
        mine = actor is not None and asset.uploader_id == actor.id
        found = {"asset": asset, "project": project, "organization": organization}
        return {name: value for name, value in found.items() if value is not None} | {"is_self": mine, "role": role}

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
