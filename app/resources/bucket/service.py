"""Rules of media: attachment of assets, quotas of users, deletion."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from app.core.errors import InvalidRequest, LimitReached, NotFound, TooManyRequests
from app.core.limits import MIB, Limits
from app.extensions import db
from app.images.worker import ReencodedImage
from app.models.base import utcnow_ms
from app.models.media import MediaAsset, MediaUpload
from app.models.organization import Organization
from app.models.project import Project
from app.models.user import User
from app.resources.bucket.storage_keys import new_key
from app.resources.media_asset.events import asset_deleting, asset_stored
from app.resources.media_asset.service import delete_assets


@dataclass(frozen=True)
class AssetTarget:
    """The folder of an upload and its owner.

    An asset of a project moves with the project, so it has no organization.
    """

    folder: str
    organization_id: str | None
    project_id: str | None


@dataclass(frozen=True)
class ReservedAsset:
    """An asset with a row and without an object."""

    id: str
    key: str


def filing(folder: str, organization: Organization | None, project: Project | None) -> AssetTarget:
    """Return the folder and the owner of an upload.

    Raises:
        InvalidRequest: the project belongs to a different organization.
    """
    if project is None:
        return AssetTarget(folder, organization.id if organization else None, None)
    if organization is not None and project.organization_id != organization.id:
        raise InvalidRequest.field("project_id", "This project belongs to another organization")
    return AssetTarget(folder, None, project.id)


def check_quota(user_id: str, received: int, stored: int, limits: Limits, *, scale: float) -> None:
    """Check the bytes that the user uploads per day and stores in total (limits, section 1).

    Raises:
        TooManyRequests: too many bytes within a day.
        LimitReached: too many stored bytes.
    """
    daily = limits.rates.upload_bytes[0].scaled(scale)
    now, window = utcnow_ms(), timedelta(seconds=daily.per_s)
    sent, oldest = db.session.execute(
        sa.select(sa.func.coalesce(sa.func.sum(MediaUpload.size), 0), sa.func.min(MediaUpload.created_at)).where(
            MediaUpload.user_id == user_id, MediaUpload.created_at > now - window
        )
    ).one()
    if sent + received > daily.times:
        wait = (oldest + window - now) if oldest is not None else window
        raise TooManyRequests(
            f"You can upload at most {daily.times // MIB} MiB per day", retry_after_s=int(wait.total_seconds()) + 1
        )
    total = db.session.scalar(
        sa.select(sa.func.coalesce(sa.func.sum(MediaAsset.size), 0)).where(MediaAsset.uploader_id == user_id)
    )
    if (total or 0) + stored > limits.upload.stored_bytes:
        raise LimitReached(
            f"You can store at most {limits.upload.stored_bytes // MIB} MiB of images. Delete some images first"
        )


def reserve(
    user_id: str, where: AssetTarget, received: int, picture: ReencodedImage, limits: Limits, *, scale: float
) -> ReservedAsset:
    """Write the row of an asset before its object is stored. Its bytes count from now on.

    Raises:
        NotFound: the user, or the attached organization or project, no longer exists.
        TooManyRequests, LimitReached: see `check_quota`. The uploads of one user are counted one after another.
    """
    if db.session.scalar(sa.select(User.id).where(User.id == user_id).with_for_update(key_share=True)) is None:
        raise NotFound("The account no longer exists")
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
        raise NotFound("The organization or project of the upload no longer exists") from error
    db.session.add(MediaUpload(id=asset.id, user_id=user_id, size=received))
    db.session.flush()
    return ReservedAsset(asset.id, asset.key)


def cancel_reservation(reserved: ReservedAsset) -> None:
    """Delete the row of an upload whose object could not be stored. A job deletes a partial object."""
    db.session.execute(sa.delete(MediaUpload).where(MediaUpload.id == reserved.id))
    delete_assets([reserved.key])


def confirm(reserved: ReservedAsset) -> MediaAsset:
    """Make the asset visible after its object is stored.

    Raises:
        NotFound: the attached organization or project was deleted with the row. The next cleanup deletes the object.
    """
    asset = db.session.get(MediaAsset, reserved.id)
    if asset is None:
        raise NotFound("The organization or project of the upload no longer exists")
    asset.stored_at = utcnow_ms()
    db.session.flush()
    asset_stored.publish(asset)
    return asset


def delete(asset: MediaAsset) -> str:
    """Delete an asset and return its key. Images that refer to it become null, and a job deletes the object.

    Raises:
        NotFound: another request has deleted it.
    """
    asset_deleting.publish(asset)
    if not delete_assets([asset.key]):
        raise NotFound("The asset does not exist")
    return asset.key


def delete_of_user(user_id: str) -> None:
    """Delete the unattached assets of a user. Attached assets belong to their organization or project."""
    unattached = sa.and_(MediaAsset.organization_id.is_(None), MediaAsset.project_id.is_(None))
    delete_assets(_keys(MediaAsset.uploader_id == user_id, unattached))


def delete_of_organization(organization_id: str) -> None:
    """Delete the assets of an organization."""
    delete_assets(_keys(MediaAsset.organization_id == organization_id))


def delete_of_project(project_id: str) -> None:
    """Delete the assets of a project."""
    delete_assets(_keys(MediaAsset.project_id == project_id))


def stored(key: str) -> MediaAsset | None:
    """Return the asset with this key if its object is stored."""
    return db.session.scalar(sa.select(MediaAsset).where(MediaAsset.key == key, MediaAsset.stored_at.is_not(None)))


def _keys(*which: sa.ColumnElement[bool]) -> Sequence[str]:
    return db.session.scalars(sa.select(MediaAsset.key).where(*which).order_by(MediaAsset.key)).all()
