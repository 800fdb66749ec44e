"""The comparison of a page in two builds: its changed texts, and the marks of changes in the served page."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

from app.concurrency.threadpool import offload
from app.content.page_addresses import files_at
from app.content.page_blocks import BlockChange, block_changes, blocks_of, with_changes_marked
from app.core.errors import NotFound
from app.core.ids import is_id
from app.core.limits import MIB
from app.database import transactions
from app.drivers.storage.port import ObjectStore
from app.extensions import db
from app.models.change_set import ChangeSet
from app.models.site_build import BuildState, SiteBuild, SiteBuildFile
from app.resources.site_build import queries
from app.resources.site_build.changed_pages import PageChange, newest_builds
from app.resources.site_build.storing import object_key

PARAMETER = "galley_changes"
"""The parameter of an address of a build that names a change set. The page is served with marks at its changes."""

MAX_BYTES, MAX_CHANGES = MIB, 100


@dataclass(frozen=True)
class ComparedPage:
    """A page of two builds. `changes` is None for a page that is too large, or that one of both does not have."""

    title: str
    kind: PageChange
    changes: Sequence[BlockChange] | None = None
    is_complete: bool = True


@dataclass(frozen=True)
class Counterpart:
    """The file of the same page in the other build. With `is_base`, it is the page before the changes."""

    file: SiteBuildFile
    is_base: bool


def compare_page(build: SiteBuild, base: SiteBuild, url: str, store: ObjectStore) -> ComparedPage:
    """Compare a page of the build of a change set with that of its base. Reads both from the store.

    Raises:
        NotFound: none of both builds has the page.
    """
    path, *_others = files_at(unquote(url))
    before, after = _file(base, path), _file(build, path)
    present = after or before
    if present is None:
        raise NotFound("The site has no such page")
    title = present.title or ""
    if before is None or after is None:
        return ComparedPage(title, PageChange.ADDED if before is None else PageChange.REMOVED)
    if max(before.size, after.size) > MAX_BYTES:
        return ComparedPage(title, PageChange.CHANGED)
    texts = [_read(file, store).decode(errors="replace") for file in (before, after)]
    changes = offload(_changes, *texts)
    shown = changes[:MAX_CHANGES] if changes is not None else None
    return ComparedPage(title, PageChange.CHANGED, shown, is_complete=len(changes or ()) <= MAX_CHANGES)


def counterpart(build_id: str, file: SiteBuildFile, change_set_id: str) -> Counterpart | None:
    """Return the other version of a page of a change set. None for equal or large pages and for other builds."""
    change_set = db.session.get(ChangeSet, change_set_id) if is_id(change_set_id, "chg") else None
    if change_set is None or change_set.project_id != file.project_id:
        return None
    build, base = newest_builds(change_set)
    if build is None or base is None or build_id not in (build.id, base.id):
        return None
    is_base = build_id == build.id
    other = _file(base if is_base else build, file.path)
    if other is None or other.sha256 == file.sha256 or max(other.size, file.size) > MAX_BYTES:
        return None
    return Counterpart(other, is_base)


def with_marks(content: bytes, other: Counterpart, store: ObjectStore) -> bytes:
    """Return the content of a page with marks at the parts that differ from the other version. Reads that version."""
    texts = [data.decode(errors="surrogateescape") for data in (content, _read(other.file, store))]
    return offload(with_changes_marked, *texts, is_after=other.is_base).encode(errors="surrogateescape")


def _file(build: SiteBuild, path: str) -> SiteBuildFile | None:
    return queries.files(build.id, [path]).get(path) if build.state is BuildState.READY else None


def _read(file: SiteBuildFile, store: ObjectStore) -> bytes:
    with transactions.outside_transaction():
        return b"".join(store.get(object_key(file.project_id, file.sha256), start=0, length=file.size))


def _changes(before: str, after: str) -> list[BlockChange] | None:
    blocks = blocks_of(before), blocks_of(after)
    if blocks[0] is None or blocks[1] is None:
        return None
    return list(islice(block_changes(blocks[0], blocks[1]), MAX_CHANGES + 1))
