"""Which uploaded image may stand where, and what becomes of one that no longer does; knows tables and the job's name.

For the services of users, organizations and projects, which all lie below the bucket:

    image_fault(key, user_id, organization_id=None, project_id=None) -> str | None
        before setting `image` to `key`: None when it may be used, else a sentence for a 400 of that field.
    release_image(key, *, user_id=None, organization_id=None, project_id=None) -> None
        after `image` was changed and flushed: `key` is the old value, the id says whose image it was.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from app.extensions import db, jobs
from app.models.media import MediaAsset
from app.models.organization import Organization
from app.models.project import Project
from app.models.user import User

DELETE_OBJECTS = "media.delete_objects"
KEYS_A_JOB = 100
UNUSABLE = "This is not the key of an image that you may use here"


def image_fault(
    key: str, user_id: str, organization_id: str | None = None, project_id: str | None = None
) -> str | None:
    """Why `key` may not be set as an image by that user; None when it may.

    Usable is what the user uploaded, and what is attached to the organization or project the image is for (for a
    project, give both ids). One answer for unknown, foreign and made-up keys: it tells nobody what others have.
    """
    usable = [MediaAsset.uploader_id == user_id]
    if organization_id is not None:
        usable.append(MediaAsset.organization_id == organization_id)
    if project_id is not None:
        usable.append(MediaAsset.project_id == project_id)
    wanted = sa.select(MediaAsset.id).where(MediaAsset.key == key, MediaAsset.stored_at.is_not(None), sa.or_(*usable))
    return None if db.session.scalar(wanted) else UNUSABLE


def release_image(
    key: str | None, *, user_id: str | None = None, organization_id: str | None = None, project_id: str | None = None
) -> None:
    """Delete an image that was replaced or taken away, where it belonged to the one whose image it was.

    A user's own is what the user uploaded and attached to nothing; an organization's or project's own is what is
    attached to it. Whatever another image column still names stays.
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
        delete_assets([asset.key])


def delete_assets(keys: Sequence[str]) -> int:
    """Delete the rows and, once that is committed, the objects; how many there were.

    Images that named them become null with the rows.
    """
    db.session.flush()
    gone = 0
    for start in range(0, len(keys), KEYS_A_JOB):
        wanted = sa.delete(MediaAsset).where(MediaAsset.key.in_(keys[start : start + KEYS_A_JOB]))
        deleted = sorted(db.session.scalars(wanted.returning(MediaAsset.key)))
        if deleted:
            jobs.enqueue(DELETE_OBJECTS, unique=f"{DELETE_OBJECTS}:{deleted[0]}", keys=deleted)
        gone += len(deleted)
    return gone


def _is_named(key: str) -> bool:
    named = (sa.exists().where(table.image == key) for table in (User, Organization, Project))
    return bool(db.session.scalar(sa.select(sa.or_(*named))))
