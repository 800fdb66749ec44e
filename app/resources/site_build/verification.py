"""Comparison of the stored contents of builds with the rows of their files."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

import sqlalchemy as sa

from app.database import transactions
from app.drivers.storage.port import ObjectStore, StoredObject
from app.extensions import db
from app.models.site_build import SiteBuildFile
from app.resources.site_build.storing import PREFIX, object_key

BATCH_SIZE = 500


@dataclass
class BuildStorage:
    """Objects without a row that were stored before a time, and objects that rows name and that do not exist."""

    objects: int = 0
    unreferenced: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def compare(store: ObjectStore, *, before: datetime) -> BuildStorage:
    """Compare both. An output that is being stored has no rows yet, so newer objects are not reported."""
    result, keys = BuildStorage(), set[str]()
    objects = store.list(PREFIX)
    while batch := list(islice(objects, BATCH_SIZE)):
        result.objects += len(batch)
        keys.update(stored.key for stored in batch)
        result.unreferenced += [stored.key for stored in _without_row(batch) if stored.stored_at < before]
    own = sa.select(SiteBuildFile.project_id, SiteBuildFile.sha256).distinct()
    named = {object_key(project_id, sha256) for project_id, sha256 in db.session.execute(own)}
    transactions.release_connection()
    result.missing = sorted(key for key in named - keys if store.head(key) is None)
    return result


def _without_row(batch: list[StoredObject]) -> Iterator[StoredObject]:
    hashes = [stored.key.rpartition("/")[2] for stored in batch]
    own = sa.select(SiteBuildFile.project_id, SiteBuildFile.sha256).where(SiteBuildFile.sha256.in_(hashes)).distinct()
    named = {object_key(project_id, sha256) for project_id, sha256 in db.session.execute(own)}
    transactions.release_connection()
    return (stored for stored in batch if stored.key not in named)
