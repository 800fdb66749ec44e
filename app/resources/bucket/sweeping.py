"""What became parted is brought together: rows without an object, objects without a row; each only when it is old."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

import sqlalchemy as sa
import structlog

from app import transactions
from app.core import clock
from app.drivers.storage.port import ObjectStore, StoredObject
from app.extensions import db
from app.models.media import MediaAsset, MediaUpload
from app.models.media_rules import delete_assets
from app.resources.bucket.keys import VARIANTS, Folder, asset_key, variants_of

BATCH = 500
SUSPICIOUS = 20
"""When more than this and more than half of the rows have no object, the store is not the one they were written to."""

PREFIXES = (*(f"{folder}/" for folder in Folder), VARIANTS)

log = structlog.get_logger(__name__)


def delete_object(key: str, store: ObjectStore) -> None:
    """Delete an asset's object and its other widths."""
    for variant in list(store.list(variants_of(key))):
        store.delete(variant.key)
    store.delete(key)


def forget_counted_uploads(after: timedelta) -> None:
    """Delete what was counted for the bytes of a day that is over."""
    with transactions.writing():
        db.session.execute(sa.delete(MediaUpload).where(MediaUpload.created_at < clock.now() - after))


def delete_unfinished_rows(after: timedelta) -> None:
    """Delete the rows of uploads that never came to their end, and what there may be of their objects."""
    with transactions.writing():
        old = MediaAsset.created_at < clock.now() - after
        delete_assets(db.session.scalars(sa.select(MediaAsset.key).where(MediaAsset.stored_at.is_(None), old)).all())


def delete_objects_without_row(store: ObjectStore, after: timedelta) -> int:
    """Delete objects that no row names; how many. Only below the folders that are ours: a bucket may hold more."""
    before, gone = clock.now() - after, 0
    for prefix in PREFIXES:
        objects = store.list(prefix)
        while some := list(islice(objects, BATCH)):
            for found in _without_row(some, before):
                store.delete(found.key)
                gone += 1
    log.info("media.swept", objects=gone)
    return gone


def delete_rows_without_object(store: ObjectStore, after: timedelta) -> int:
    """Delete rows whose object is gone, so that no image names what cannot be shown; how many."""
    missing, seen = [], 0
    for some in _stored_keys(clock.now() - after):
        seen += len(some)
        missing += [key for key in some if store.head(key) is None]
    if len(missing) > SUSPICIOUS and len(missing) * 2 > seen:
        log.error("media.store_looks_wrong", missing=len(missing), rows=seen)
        return 0
    with transactions.writing():
        delete_assets(missing)
    return len(missing)


def _without_row(objects: Sequence[StoredObject], before: datetime) -> list[StoredObject]:
    old = [found for found in objects if found.stored_at < before]
    keys = {asset_key(found.key) for found in old}
    transactions.start_reading()
    known = set(db.session.scalars(sa.select(MediaAsset.key).where(MediaAsset.key.in_(keys))))
    transactions.rest()
    return [found for found in old if asset_key(found.key) not in known]


def _stored_keys(before: datetime) -> Iterator[Sequence[str]]:
    last = ""
    while True:
        transactions.start_reading()
        some = db.session.scalars(
            sa.select(MediaAsset.key)
            .where(MediaAsset.key > last, MediaAsset.stored_at < before)
            .order_by(MediaAsset.key)
            .limit(BATCH)
        ).all()
        transactions.rest()
        if not some:
            return
        yield some
        last = some[-1]
