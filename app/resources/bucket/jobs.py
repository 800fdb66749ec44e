"""Jobs that synchronize the object store with the tables."""

from collections.abc import Sequence
from datetime import timedelta

from app.core.jobs import job
from app.core.limits import UploadLimits
from app.drivers.storage.port import ObjectStore
from app.resources.bucket import cleanup
from app.resources.media_asset.service import DELETE_OBJECTS

CLEANUP_INTERVAL = timedelta(hours=6)


@job(DELETE_OBJECTS, retries=12, uses=("storage",), priority=2)
def delete_objects(*, keys: Sequence[str], storage: ObjectStore) -> None:
    """Delete the objects of deleted assets, with their variants. Idempotent."""
    for key in keys:
        cleanup.delete_object(key, storage)


@job("media.sweep", every=CLEANUP_INTERVAL, retries=2, uses=("storage",))
def repair_differences(*, storage: ObjectStore) -> None:
    """Repair the differences between rows and objects that a crash has left, after a day."""
    after = timedelta(seconds=UploadLimits().orphan_ttl_s)
    cleanup.delete_old_uploads(after)
    cleanup.delete_unfinished_rows(after)
    cleanup.delete_objects_without_row(storage, after)
    cleanup.delete_rows_without_object(storage, after)
