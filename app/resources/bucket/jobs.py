"""Jobs that synchronize the object store with the tables: rows without an object, and objects without a row."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

import sqlalchemy as sa
import structlog

from app.core import clock
from app.core.jobs import job
from app.core.limits import UploadLimits
from app.database import transactions
from app.drivers.storage.port import ObjectStore, StoredObject
from app.extensions import db
from app.models.media import MediaAsset, MediaUpload
from app.resources.bucket.storage_keys import VARIANTS, Folder, asset_key, variants_of
from app.resources.media_asset.service import DELETE_OBJECTS, delete_assets
from app.resources.system.retention import purge

BATCH_SIZE = 500
MASS_LOSS_THRESHOLD = 20
"""If more rows than this, and more than half of all rows, have no object, the configured store is a different one."""

PREFIXES = (*(f"{folder}/" for folder in Folder), VARIANTS)

log = structlog.get_logger(__name__)
CLEANUP_INTERVAL = timedelta(hours=6)


def delete_object(key: str, store: ObjectStore) -> None:
    """Delete the object of an asset and its variants."""
    for variant in list(store.list(variants_of(key))):
        store.delete(variant.key)
    store.delete(key)


def delete_unfinished_rows(after: timedelta) -> None:
    """Delete the rows of uploads that were never completed, and their objects."""
    with transactions.write_transaction():
        old = MediaAsset.created_at < clock.now() - after
        delete_assets(db.session.scalars(sa.select(MediaAsset.key).where(MediaAsset.stored_at.is_(None), old)).all())


def delete_objects_without_row(store: ObjectStore, after: timedelta, batch_size: int = BATCH_SIZE) -> int:
    """Delete objects without a row and return their number. Other folders of the bucket are ignored."""
    before, deleted = clock.now() - after, 0
    for prefix in PREFIXES:
        objects = store.list(prefix)
        while batch := list(islice(objects, batch_size)):
            for stored in _without_row(batch, before):
                store.delete(stored.key)
                deleted += 1
    log_result = log.info if deleted else log.debug
    log_result("media.unreferenced_deleted", objects=deleted)
    return deleted


def delete_rows_without_object(store: ObjectStore, after: timedelta, batch_size: int = BATCH_SIZE) -> int:
    """Delete rows whose object does not exist and return their number."""
    missing, checked = [], 0
    for keys in _stored_keys(clock.now() - after, batch_size):
        checked += len(keys)
        missing += [key for key in keys if store.head(key) is None]
    if len(missing) > MASS_LOSS_THRESHOLD and len(missing) * 2 > checked:
        log.error("media.store_mismatch_detected", missing=len(missing), rows=checked)
        return 0
    with transactions.write_transaction():
        delete_assets(missing)
    return len(missing)


def _without_row(objects: Sequence[StoredObject], before: datetime) -> list[StoredObject]:
    old = [stored for stored in objects if stored.stored_at < before]
    keys = {asset_key(stored.key) for stored in old}
    known_keys = set(db.session.scalars(sa.select(MediaAsset.key).where(MediaAsset.key.in_(keys))))
    transactions.release_connection()
    return [stored for stored in old if asset_key(stored.key) not in known_keys]


def _stored_keys(before: datetime, batch_size: int) -> Iterator[Sequence[str]]:
    last = ""
    while True:
        keys = db.session.scalars(
            sa.select(MediaAsset.key)
            .where(MediaAsset.key > last, MediaAsset.stored_at < before)
            .order_by(MediaAsset.key)
            .limit(batch_size)
        ).all()
        transactions.release_connection()
        if not keys:
            return
        yield keys
        last = keys[-1]


@job(DELETE_OBJECTS, retries=12, uses=("storage",), priority=2)
def delete_objects(*, keys: Sequence[str], storage: ObjectStore) -> None:
    """Delete the objects of deleted assets, with their variants. Idempotent."""
    for key in keys:
        delete_object(key, storage)


@job("media.sweep", every=CLEANUP_INTERVAL, retries=2, uses=("storage",))
def repair_differences(*, storage: ObjectStore) -> None:
    """Repair the differences between rows and objects that a crash has left, after a day."""
    after = timedelta(seconds=UploadLimits().orphan_ttl_s)
    purge(MediaUpload, MediaUpload.created_at < clock.now() - after)
    delete_unfinished_rows(after)
    delete_objects_without_row(storage, after)
    delete_rows_without_object(storage, after)
