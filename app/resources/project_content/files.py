"""One file's metadata: what the index has, and what is told by the file's bytes and history, kept once found."""

from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from app import transactions
from app.core.content import describe
from app.core.content.filetypes import BINARY, file_type
from app.core.errors import NotFound
from app.core.ids import Identified
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import EntryType, ObjectNotFound, TooLargeToRead
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentBlob, ContentFile, ContentIndex
from app.resources.project_content import indexing
from app.resources.project_content.source import Source, source_of

KIND_LENGTH = 120
READ_AT_MOST = 10 * 1024 * 1024
# Built once, and asked for columns only: putting a statement together, and objects, cost more than running it.
_FILES, _BLOBS = sa.inspect(ContentFile).local_table, sa.inspect(ContentBlob).local_table
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
        _FILES.c.generation == sa.bindparam("of"),
        _FILES.c.path == sa.bindparam("wanted"),
    )
)
KEPT = ("mime", "language", "encoding", "lines", "front_matter", "title", "headings", "links")


def metadata(
    project: Project, index: ContentIndex | None, path: str, *, hosts: GitHosts, by: Identified
) -> dict[str, Any]:
    """Everything the contract's 4.9 tells of a file.

    Asks the Git host only for what nobody has asked about this blob and path before. Raises NotFound.
    """
    file, facts = _known(project, index, path)
    last = file.last_commit
    if facts is None or last is None:
        source = source_of(project, hosts, branch=index.branch if index else None, actor=by)
        facts = facts if facts is not None else _find_facts(project, file, source)
        last = last if last is not None else _find_last_commit(index, file, source)
    name = path.rsplit("/", 1)[-1]
    return {
        "path": path,
        "name": name,
        "extension": name.rpartition(".")[2] if "." in name.lstrip(".") else "",
        "type": file.type,
        **facts,
        "size": file.size if file.size is not None else facts.get("size"),
        "sha": file.sha,
        "mode": file.mode,
        "commit_sha": index.commit_sha if index else None,
        "last_commit": last,
        "indexed_at": index.indexed_at if index else None,
    }


def kind_of(path: str) -> str:
    """Under which reading a blob's facts are kept: the same bytes mean other things as another type of file."""
    kind = file_type(path)
    return f"{kind.language or ''};{kind.mime or ''}"[:KIND_LENGTH]


def facts_of(path: str, data: bytes) -> dict[str, Any]:
    """What the bytes tell, as it is kept: also their number, which not every host tells before."""
    told = asdict(describe(path, data)) if len(data) <= READ_AT_MOST else _told_by_name(path)
    return {name: told[name] for name in KEPT} | {"size": len(data)}


def keep_facts(project_id: str, found: list[tuple[str, str, dict[str, Any]]]) -> None:
    """Keep (sha, kind, facts) of blobs in the running transaction; what is kept already stays."""
    if not found:
        return
    dialect: Any = postgresql if db.engine.dialect.name == "postgresql" else sqlite
    rows = [{"project_id": project_id, "sha": sha, "kind": kind, "facts": facts} for sha, kind, facts in found]
    db.session.execute(dialect.insert(ContentBlob).on_conflict_do_nothing(), rows)


def _known(project: Project, index: ContentIndex | None, path: str) -> tuple[Any, dict[str, Any] | None]:
    """A file's row with what is known of its bytes already, in one statement. Raises NotFound."""
    given = {"project": project.id, "kind": kind_of(path), "wanted": path}
    place = {"index": index.id if index else None, "of": index.generation if index else 0}
    found: Any = db.session.execute(_FILE, given | place).first()
    if found is None:
        raise NotFound("There is no such file on this branch")
    return found, found.facts if _is_read(found) else _told_by_name(path)


def _is_read(file: Any) -> bool:
    return file.type == EntryType.BLOB and (file.size or 0) <= READ_AT_MOST


def _told_by_name(path: str) -> dict[str, Any]:
    kind = file_type(path)
    told: dict[str, Any] = {"mime": kind.mime or BINARY, "language": kind.language, "headings": [], "links": []}
    return dict.fromkeys(KEPT, None) | told


def _find_facts(project: Project, file: Any, source: Source) -> dict[str, Any]:
    project_id, sha, path = project.id, file.sha, file.path
    try:
        facts = facts_of(path, source.git.blob(source.repo, sha))
    except TooLargeToRead:
        facts = _told_by_name(path)
    with transactions.writing():
        keep_facts(project_id, [(sha, kind_of(path), facts)])
    return facts


def _find_last_commit(index: ContentIndex | None, file: Any, source: Source) -> dict[str, Any] | None:
    if index is None or index.commit_sha is None:
        return None
    here = (file.index_id, file.generation, file.path)
    try:
        last = indexing.told(source.git.last_commit(source.repo, index.commit_sha, file.path))
    except ObjectNotFound:
        return None
    with transactions.writing():
        db.session.execute(
            sa.update(ContentFile)
            .where(ContentFile.index_id == here[0], ContentFile.generation == here[1], ContentFile.path == here[2])
            .where(ContentFile.sha == file.sha)
            .values(last_commit=last)
        )
    return last
