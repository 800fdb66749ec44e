"""The rules of media: whose an asset is, how much a person may keep, what goes with what. Knows tables, no pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from app.core.errors import Invalid, LimitReached, NotFound, TooManyRequests
from app.core.imaging import Remade
from app.core.limits import MIB, Limits
from app.extensions import db
from app.models.base import moment
from app.models.media import MediaAsset, MediaUpload
from app.models.media_rules import delete_assets
from app.models.organization import Organization
from app.models.project import Project
from app.models.user import User
from app.resources.bucket.keys import new_key


@dataclass(frozen=True)
class Filing:
    """Where an upload goes and what it belongs to; an asset of a project moves with it, so it has no organization."""

    folder: str
    organization_id: str | None
    project_id: str | None


@dataclass(frozen=True)
class Reserved:
    """An asset that has a row and no object yet."""

    id: str
    key: str


def filing(folder: str, organization: Organization | None, project: Project | None) -> Filing:
    """Where an upload goes.

    Raises:
        Invalid: an organization and a project of another one.
    """
    if project is None:
        return Filing(folder, organization.id if organization else None, None)
    if organization is not None and project.organization_id != organization.id:
        raise Invalid.field("project_id", "This project belongs to another organization")
    return Filing(folder, None, project.id)


def check_quota(user_id: str, received: int, kept: int, limits: Limits, *, scale: float) -> None:
    """Make sure that the person may upload that many bytes, and keep that many (limits, section 1).

    Raises:
        TooManyRequests: too many bytes within a day.
        LimitReached: too many bytes kept.
    """
    daily = limits.rates.upload_bytes[0].scaled(scale)
    now, window = moment(), timedelta(seconds=daily.per_s)
    sent, oldest = db.session.execute(
        sa.select(sa.func.coalesce(sa.func.sum(MediaUpload.size), 0), sa.func.min(MediaUpload.created_at)).where(
            MediaUpload.user_id == user_id, MediaUpload.created_at > now - window
        )
    ).one()
    if sent + received > daily.times:
        wait = (oldest + window - now) if oldest is not None else window
        raise TooManyRequests(
            f"You may upload {daily.times // MIB} MiB a day", retry_after_s=int(wait.total_seconds()) + 1
        )
    total = db.session.scalar(
        sa.select(sa.func.coalesce(sa.func.sum(MediaAsset.size), 0)).where(MediaAsset.uploader_id == user_id)
    )
    if (total or 0) + kept > limits.upload.kept_bytes:
        raise LimitReached(f"You may keep {limits.upload.kept_bytes // MIB} MiB of images; delete some first")


def reserve(user_id: str, where: Filing, received: int, picture: Remade, limits: Limits, *, scale: float) -> Reserved:
    """Write the row of an asset whose object is about to be stored; its bytes count from here on.

    Raises:
        NotFound: the person, or what it is attached to, is gone by now.
        TooManyRequests, LimitReached: see `check_quota`; counted one upload of a person at a time.
    """
    if db.session.scalar(sa.select(User.id).where(User.id == user_id).with_for_update(key_share=True)) is None:
        raise NotFound("The account is gone")
    check_quota(user_id, received, picture.size, limits, scale=scale)
    asset = MediaAsset(
        key=new_key(where.folder, picture.hash, picture.extension),
        uploader_id=user_id,
        organization_id=where.organization_id,
        project_id=where.project_id,
        mimetype=picture.mimetype,
        size=picture.size,
        width=picture.width,
        height=picture.height,
        hash=picture.hash,
    )
    db.session.add(asset)
    try:
        db.session.flush()
    except sa.exc.IntegrityError as error:
        raise NotFound("What this was to be attached to is gone") from error
    db.session.add(MediaUpload(id=asset.id, user_id=user_id, size=received))
    db.session.flush()
    return Reserved(asset.id, asset.key)


def take_back(reserved: Reserved) -> None:
    """Forget an upload whose object could not be stored; what there may be of the object goes by a job."""
    db.session.execute(sa.delete(MediaUpload).where(MediaUpload.id == reserved.id))
    delete_assets([reserved.key])


def confirm(reserved: Reserved) -> MediaAsset:
    """Make the asset visible: its object is stored.

    Raises:
        NotFound: what it is attached to went meanwhile, and the row with it. The object goes with the next sweep.
    """
    asset = db.session.get(MediaAsset, reserved.id)
    if asset is None:
        raise NotFound("What this was to be attached to is gone")
    asset.stored_at = moment()
    db.session.flush()
    return asset


def delete(asset: MediaAsset) -> str:
    """Delete an asset; images that named it become null with its row, its object goes by a job. Returns its key.

    Raises:
        NotFound: somebody else was faster.
    """
    if not delete_assets([asset.key]):
        raise NotFound("There is no such asset")
    return asset.key


def delete_of_user(user_id: str) -> None:
    """Delete what a person uploaded and attached to nothing; the rest belongs to what it is attached to."""
    unattached = sa.and_(MediaAsset.organization_id.is_(None), MediaAsset.project_id.is_(None))
    delete_assets(_keys(MediaAsset.uploader_id == user_id, unattached))


def delete_of_organization(organization_id: str) -> None:
    """Delete what is attached to an organization."""
    delete_assets(_keys(MediaAsset.organization_id == organization_id))


def delete_of_project(project_id: str) -> None:
    """Delete what is attached to a project."""
    delete_assets(_keys(MediaAsset.project_id == project_id))


def stored(key: str) -> MediaAsset | None:
    """The asset under a key, once its object is stored."""
    return db.session.scalar(sa.select(MediaAsset).where(MediaAsset.key == key, MediaAsset.stored_at.is_not(None)))


def _keys(*which: sa.ColumnElement[bool]) -> Sequence[str]:
    return db.session.scalars(sa.select(MediaAsset.key).where(*which).order_by(MediaAsset.key)).all()
