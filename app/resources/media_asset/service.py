"""Rules of images that users, organizations and projects refer to.

Functions for the services of these packages:

    image_error(key, user_id, organization_id=None, project_id=None) -> str | None
        before `image` is set to `key`: None if it may be used, else the message for a 400 of that field.
    release_image(key, *, user_id=None, organization_id=None, project_id=None) -> None
        after `image` was changed and flushed: `key` is the old value, the id names the owner of the image.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from app.extensions import db, jobs
from app.models.media import MediaAsset
from app.models.organization import Organization
from app.models.project import Project
from app.models.user import User
from app.resources.media_asset.events import asset_deleting

DELETE_OBJECTS = "media.delete_objects"
KEYS_PER_JOB = 100
INVALID_IMAGE_KEY = "This is not the key of an image that you may use here"


def image_error(
    key: str, user_id: str, organization_id: str | None = None, project_id: str | None = None
) -> str | None:
    """Return the reason why the user may not use `key` as an image; None if the user may.

    A user may use own uploads, and assets of the organization or project that the image is for (for a project, pass
    both ids). The message is equal for unknown, foreign and malformed keys, so it discloses no keys of others.
    """
    usable = [MediaAsset.uploader_id == user_id]
    if organization_id is not None:
        usable.append(MediaAsset.organization_id == organization_id)
    if project_id is not None:
        usable.append(MediaAsset.project_id == project_id)
    statement = sa.select(MediaAsset.id).where(
        MediaAsset.key == key, MediaAsset.stored_at.is_not(None), sa.or_(*usable)
    )
    return None if db.session.scalar(statement) else INVALID_IMAGE_KEY


def release_image(
    key: str | None, *, user_id: str | None = None, organization_id: str | None = None, project_id: str | None = None
) -> None:
    """Delete a replaced or removed image if it belongs to its former owner.

    An unattached upload belongs to its user, an attached one to its organization or project. An image that another
    column refers to is not deleted.
    """
    if key is None:
        return
    if organization_id is not None:
        own = MediaAsset.organization_id == organization_id
    elif project_id is not None:
        own = MediaAsset.project_id == project_id
    else:
        own = sa.and_(
            MediaAsset.uploader_id == user_id, MediaAsset.organization_id.is_(None), MediaAsset.project_id.is_(None)
        )
    asset = db.session.scalar(sa.select(MediaAsset).where(MediaAsset.key == key, own))
    if asset is not None and not _is_named(key):
        asset_deleting.publish(asset)
        delete_assets([asset.key])


def delete_assets(keys: Sequence[str]) -> int:
    """Delete the rows and, after the commit, the objects. Returns their number.

    Images that refer to them become null.
    """
    db.session.flush()
    count = 0
    for start in range(0, len(keys), KEYS_PER_JOB):
        statement = sa.delete(MediaAsset).where(MediaAsset.key.in_(keys[start : start + KEYS_PER_JOB]))
        deleted = sorted(db.session.scalars(statement.returning(MediaAsset.key)))
        if deleted:
            jobs.enqueue(DELETE_OBJECTS, unique=f"{DELETE_OBJECTS}:{deleted[0]}", keys=deleted)
        count += len(deleted)
    return count


def _is_named(key: str) -> bool:
    named = (sa.exists().where(table.image == key) for table in (User, Organization, Project))
    return bool(db.session.scalar(sa.select(sa.or_(*named))))
