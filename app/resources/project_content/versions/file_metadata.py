"""Metadata of one file from the index, its bytes and its history, and its raw content. Metadata is stored."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from urllib.parse import urlencode

import sqlalchemy as sa

from app.concurrency.threadpool import offload
from app.content import describe
from app.content.filetypes import BINARY, file_type
from app.core.errors import NotFound
from app.core.ids import HasId
from app.core.limits import PushLimits
from app.database import transactions
from app.database.inserts import insert_rows
from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged, TooLargeToRead
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import EntryType, TreeEntry
from app.extensions import db
from app.models.base import Row
from app.models.project import Project
from app.models.project_content import ContentBlob, ContentFile, ContentIndex
from app.resources.project_content import queries, unreadable
from app.resources.project_content.source import Source, source_of
from app.resources.project_content.versions.history import commit_to_dict

KIND_LENGTH = 120
MAX_READ_BYTES = 10 * 1024 * 1024
MAX_INLINE_BYTES = 16 * 1024
# Built once and without ORM objects: building the statement and the objects costs more than its execution.
_FILES = sa.inspect(ContentFile).local_table
_BLOBS: sa.Table = sa.inspect(ContentBlob).local_table  # type: ignore[assignment]
_FILE = (
    sa.select(
        _FILES.c.index_id,
        _FILES.c.generation,
        _FILES.c.path,
        _FILES.c.type,
        _FILES.c.mode,
        _FILES.c.sha,
        _FILES.c.size,
        _FILES.c.last_commit,
        _BLOBS.c.facts,
    )
    .outerjoin(
        _BLOBS,
        sa.and_(
            _BLOBS.c.project_id == sa.bindparam("project"),
            _BLOBS.c.sha == _FILES.c.sha,
            _BLOBS.c.kind == sa.bindparam("kind"),
        ),
    )
    .where(
        _FILES.c.index_id == sa.bindparam("index"),
        _FILES.c.generation == sa.bindparam("generation"),
        _FILES.c.path == sa.bindparam("path"),
    )
)
STORED_FACTS = ("mime", "language", "encoding", "lines", "front_matter", "title", "headings", "links")
FOLDER = "tree"
SUBMODULE = "This path is a submodule, not a file"


def metadata(
    project: Project, index: ContentIndex | None, path: str, *, hosts: GitHosts, by: HasId
) -> dict[str, object]:
    """Return the metadata of a file (contract 4.9).

    Calls the Git host only for facts of this blob and path that are not stored. Raises NotFound.
    """
    file, facts = _known(project, index, path)
    last = file.last_commit
    if facts is None or last is None:
        source = source_of(project, hosts, branch=index.branch if index else None, user=by)
        facts = facts if facts is not None else _find_facts(project, file, source)
        last = last if last is not None else _find_last_commit(index, file, source)
    commit, indexed_at = (index.commit_sha, index.indexed_at) if index else (None, None)
    return to_dict(file, facts) | {"commit_sha": commit, "last_commit": last, "indexed_at": indexed_at}


def metadata_at_commit(source: Source, commit: str, path: str) -> dict[str, object]:
    """Return the same metadata as for the file of a branch; `indexed_at` is None. Raises NotFound."""
    entry = source.repository.entries(commit, [path]).get(path)
    if entry is None or entry.type == unreadable.FOLDER:
        raise NotFound("There is no such file at this commit")
    try:
        last = commit_to_dict(source.repository.last_commit(commit, path))
    except GitObjectMissing:
        last = None
    facts = to_dict(entry, read_facts(entry, source))
    return facts | {"commit_sha": commit, "last_commit": last, "indexed_at": None}


def to_dict(file: Row | TreeEntry, facts: dict[str, object]) -> dict[str, object]:
    """Return the part of the metadata that depends on the path and bytes of a file only."""
    name = file.path.rsplit("/", 1)[-1]
    return {
        "path": file.path,
        "name": name,
        "extension": name.rpartition(".")[2] if "." in name.lstrip(".") else "",
        "type": file.type,
        "unreadable": False,
        **facts,
        "size": file.size if file.size is not None else facts.get("size"),
        "sha": file.sha,
        "mode": file.mode,
    }


def kind_of(path: str) -> str:
    """Return the key of the file type under which facts of a blob are stored.

    Types interpret the same bytes differently.
    """
    kind = file_type(path)
    return f"{kind.language or ''};{kind.mime or ''}"[:KIND_LENGTH]


def facts_of(path: str, data: bytes) -> dict[str, object]:
    """Return the facts of a file's bytes in their stored form, with the size, which not every host reports."""
    if len(data) > MAX_READ_BYTES:
        facts = _facts_of_name(path)
    elif len(data) > MAX_INLINE_BYTES:
        facts = asdict(offload(describe, path, data))  # A long page takes up to 0.2 s. Other requests run in that time.
    else:
        facts = asdict(describe(path, data))
    return {name: facts[name] for name in STORED_FACTS} | {"size": len(data)}


def store_facts(project_id: str, blobs: list[tuple[str, str, dict[str, object]]]) -> None:
    """Store (sha, kind, facts) of blobs in the running transaction. Stored facts stay unchanged."""
    if not blobs:
        return
    rows = [{"project_id": project_id, "sha": sha, "kind": kind, "facts": facts} for sha, kind, facts in blobs]
    insert_rows(db.session.connection(), _BLOBS, rows, unique=("project_id", "sha", "kind"))


def _known(project: Project, index: ContentIndex | None, path: str) -> tuple[Row, dict[str, object] | None]:
    """Return the row of a file and the stored facts of its bytes with one statement. Raises NotFound."""
    parameters = {
        "project": project.id,
        "kind": kind_of(path),
        "path": path,
        "index": index.id if index else None,
        "generation": index.generation if index else 0,
    }
    row = db.session.execute(_FILE, parameters).first()
    if row is None:
        raise NotFound("There is no such file on this branch")
    return row, row.facts if _is_read(row) else _facts_of_name(path) | {"unreadable": row.type == unreadable.FOLDER}


def _is_read(file: Row | TreeEntry) -> bool:
    return file.type == EntryType.BLOB and (file.size or 0) <= MAX_READ_BYTES


def _facts_of_name(path: str) -> dict[str, object]:
    kind = file_type(path)
    facts: dict[str, object] = {"mime": kind.mime or BINARY, "language": kind.language, "headings": [], "links": []}
    return dict.fromkeys(STORED_FACTS, None) | facts


def read_facts(file: Row | TreeEntry, source: Source) -> dict[str, object]:
    """Return the facts of a file's bytes on the Git host, or those of its name if it is large or a submodule."""
    if not _is_read(file):
        return _facts_of_name(file.path)
    try:
        return facts_of(file.path, source.repository.blob(file.sha, max_bytes=MAX_READ_BYTES))
    except TooLargeToRead:
        return _facts_of_name(file.path)
    except RepositoryDamaged:
        return _facts_of_name(file.path) | {"unreadable": True}


def _find_facts(project: Project, file: Row, source: Source) -> dict[str, object]:
    project_id, sha, path = project.id, file.sha, file.path
    facts = read_facts(file, source)
    if facts.get("unreadable"):  # The repository may be repaired.
        return facts
    with transactions.write_transaction():
        store_facts(project_id, [(sha, kind_of(path), facts)])
    return facts


def _find_last_commit(index: ContentIndex | None, file: Row, source: Source) -> dict[str, str] | None:
    if index is None or index.commit_sha is None:
        return None
    here = (file.index_id, file.generation, file.path)
    try:
        with transactions.outside_transaction():
            last = commit_to_dict(source.repository.last_commit(index.commit_sha, file.path))
    except GitObjectMissing:
        return None
    with transactions.write_transaction():
        db.session.execute(
            sa.update(ContentFile)
            .where(ContentFile.index_id == here[0], ContentFile.generation == here[1], ContentFile.path == here[2])
            .where(ContentFile.sha == file.sha)
            .values(last_commit=last)
        )
    return last


@dataclass(frozen=True)
class RawFile:
    """An unread blob with the values for the headers of its response."""

    sha: str
    size: int | None
    mime: str
    source: Source

    def read(self) -> Iterator[bytes]:
        """Return the bytes in pieces. The first one is read at once, so that an error precedes the response."""
        with transactions.outside_transaction():
            pieces = self.source.repository.open_blob(self.sha, max_bytes=PushLimits.blob_bytes)
            return chain([next(pieces, b"")], pieces)


def raw_url(project_id: str, path: str, ref: str) -> str:
    """Return the URL of the bytes of a file at a branch or commit, below the origin of the API."""
    return f"/api/v1/project-content/{project_id}/raw?{urlencode({'file': path, 'ref': ref})}"


def find_raw_at_commit(source: Source, commit: str, path: str) -> RawFile:
    """Return the file at a commit. Reads the entry from the Git host. Raises NotFound."""
    entry = source.repository.entries(commit, [path]).get(path)
    if entry is None or entry.type == FOLDER:
        raise NotFound("There is no such file at this commit")
    if entry.type != EntryType.BLOB:
        raise NotFound(SUBMODULE)
    return RawFile(entry.sha, entry.size, file_type(path).mime or BINARY, source)


def find_raw(index: ContentIndex | None, path: str, source: Source) -> RawFile:
    """Return the file at the indexed commit of the branch. Raises NotFound."""
    file = queries.file(index, path)
    if file.type != EntryType.BLOB:
        raise NotFound(SUBMODULE)
    return RawFile(file.sha, file.size, file_type(path).mime or BINARY, source)
