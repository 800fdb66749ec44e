"""The jobs that keep the object store in step with the tables."""

from collections.abc import Sequence
from datetime import timedelta

from app.core.jobs import job
from app.core.limits import UploadLimits
from app.drivers.storage.port import ObjectStore
from app.models.media_rules import DELETE_OBJECTS
from app.resources.bucket import sweeping

SWEEP_EVERY = timedelta(hours=6)


@job(DELETE_OBJECTS, retries=12, uses=("storage",), priority=2)
def delete_objects(*, keys: Sequence[str], storage: ObjectStore) -> None:
    """Delete the objects of assets whose rows are gone, with their other widths; safe to run twice."""
    for key in keys:
        sweeping.delete_object(key, storage)


@job("media.sweep", every=SWEEP_EVERY, retries=2, uses=("storage",))
def sweep(*, storage: ObjectStore) -> None:
    """Bring rows and objects together again where a crash has parted them, a day after it."""
    after = timedelta(seconds=UploadLimits().orphan_ttl_s)
    sweeping.forget_counted_uploads(after)
    sweeping.delete_unfinished_rows(after)
    sweeping.delete_objects_without_row(storage, after)
    sweeping.delete_rows_without_object(storage, after)
