"""The schema of a branch: from the first schema file of the repository, else inferred from the index.

Files are found in the index and read from Git once per blob. A broken file is a problem of the schema, never an error.
"""

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from app.content import galley_file
from app.content.schema import archetypes, schema_readers
from app.content.schema.archetypes import Archetype
from app.content.schema.model import Collection, ContentSchema, SchemaProblem, SourceKind
from app.core.ids import HasId
from app.database import session
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.drivers.git.hosts import GitHosts
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content.schema.schema_inference import infer
from app.resources.project_content.source import source_of
from app.resources.project_content.tree.folder_listing import folder_counts

Read = Callable[[Any], bytes]
PAGES, FRONT_MATTER = (".pages.yml", ".pages.yaml"), ("frontmatter.json",)
DECAP_FOLDERS = frozenset(("admin", "cms", "decap", "sveltia", "netlify", "netlify-cms"))
DECAP_FILES = ("config.yml", "config.yaml")
_IN_DECAP = (b"collections", b"backend")
MAX_DECAP_FILES, MAX_CANDIDATES, MAX_CACHED = 3, 1_000, 128
_cache: OrderedDict[tuple[str, ...], Any] = OrderedDict()
"""Read files by project and blob, and candidates and inferred collections by index and commits."""

_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
"""Locks of indexes whose collections are being inferred, so that parallel requests do it once."""


def content_schema(project: Project, index: ContentIndex | None, *, hosts: GitHosts, by: HasId) -> ContentSchema:
    """Return the schema of a branch.

    Raises:
        Disconnected, ReconnectRequired, DriverError: a schema file exists and the repository cannot be read.
    """
    if index is None or index.generation == 0:
        problem = SchemaProblem(None, "", "The branch is not indexed yet. Try again in a moment")
        return ContentSchema(SourceKind.INFERRED, None, problems=(problem,))
    key = (index.id, "files", str(index.generation), str(index.commit_sha))
    rows: dict[str, Any] = _cache[key] if key in _cache else _cached(key, _candidates(index))

    def read(row: Any) -> bytes:
        source = source_of(project, hosts, branch=index.branch, actor=by)
        session.release_connection()
        return source.git.blob(source.repo, row.sha)

    for kind, paths in (
        (SourceKind.GALLEY, galley_file.FILES),
        (SourceKind.DECAP, _decap_paths(rows)),
        (SourceKind.PAGES_CMS, PAGES),
        (SourceKind.FRONT_MATTER, FRONT_MATTER),
    ):
        for row in (rows[path] for path in paths if path in rows):
            schema = _file_schema(project.id, kind, row, read)
            if schema is not None:
                return schema
    return _inferred(project.id, index, [row for path, row in rows.items() if _is_archetype(path)], read)


def _candidates(index: ContentIndex) -> dict[str, Any]:
    """Return the files that may define the schema, by path. Only the names of folders are searched."""
    file, folder = ContentFile, archetypes.FOLDER
    names = [*galley_file.FILES, *PAGES, *FRONT_MATTER]
    names += [f"{path}{name}" for path, _ in folder_counts(index) if _is_decap_folder(path) for name in DECAP_FILES]
    statement = sa.select(file.path, file.sha, file.size).order_by(file.path).limit(MAX_CANDIDATES)
    statement = statement.where(file.index_id == index.id, file.generation == index.generation, file.type == "blob")
    below = sa.and_(file.path > f"{folder}/", file.path < f"{folder}0")
    rows = [row for part in (file.path.in_(names), below) for row in db.session.execute(statement.where(part))]
    return {row.path: row for row in rows}


def _is_decap_folder(path: str) -> bool:
    return path.removesuffix("/").rpartition("/")[2] in DECAP_FOLDERS


def _decap_paths(rows: dict[str, Any]) -> Sequence[str]:
    paths = [path for path in rows if path.endswith(DECAP_FILES) and not path.startswith(f"{archetypes.FOLDER}/")]
    return sorted(paths, key=lambda path: (path.count("/"), path))[:MAX_DECAP_FILES]


def _is_archetype(path: str) -> bool:
    return path.startswith(f"{archetypes.FOLDER}/") and path.endswith((".md", ".markdown", ".html", ".adoc"))


def _file_schema(project_id: str, kind: SourceKind, row: Any, read: Read) -> ContentSchema | None:
    """Return the schema of a file, or None if the file has another purpose."""
    key = (project_id, str(kind), row.path, row.sha)
    schema: ContentSchema | None
    if key in _cache:
        schema = _cache[key]
        return schema
    data = _read_bounded(row, read)
    if isinstance(data, str):
        return ContentSchema(kind, row.path, problems=(SchemaProblem(row.path, "", data),))
    if kind is SourceKind.DECAP and not all(part in data for part in _IN_DECAP):
        schema = None
    else:
        schema = schema_readers.READERS[kind](row.path, data)
    _cached(key, schema)
    return schema


def _read_bounded(row: Any, read: Read) -> bytes | str:
    """Return the bytes of a file, or the reason why they cannot be read."""
    if (row.size or 0) > galley_file.MAX_BYTES:
        return f"The file is larger than {galley_file.MAX_BYTES // 1024} KiB"
    try:
        return read(row)
    except (GitObjectMissing, TooLargeToRead):
        return "The file cannot be read from the repository"


def _inferred(project_id: str, index: ContentIndex, files: Sequence[Any], read: Read) -> ContentSchema:
    key = (index.id, str(index.generation), str(index.commit_sha), str(index.described_sha))
    if key not in _cache:
        session.release_connection()
        with _locks[index.id]:
            if key not in _cache:
                _cached(key, infer(project_id, index))
        _locks.pop(index.id, None)
    collections: tuple[Collection, ...] = _cache[key]
    problems = []
    if index.described_sha != index.commit_sha:
        problems.append(SchemaProblem(None, "", "Front matter of the last commits is still being read"))
    schema = ContentSchema(SourceKind.INFERRED, None, collections, tuple(problems))
    return _with_archetypes(project_id, schema, files[: archetypes.MAX_FILES], read) if files else schema


def _with_archetypes(project_id: str, schema: ContentSchema, files: Sequence[Any], read: Read) -> ContentSchema:
    """Return the schema with the templates of Hugo's archetypes.

    A section without an archetype uses the default one.
    """
    read_files = {}
    for row in files:
        key = (project_id, "archetype", row.path, row.sha)
        archetype = _cache[key] if key in _cache else _archetype(key, row, read)
        if archetype.section not in read_files:
            read_files[archetype.section] = archetype
    problems = tuple(SchemaProblem(a.path, "", a.problem) for a in read_files.values() if a.problem)
    usable = {section: a for section, a in read_files.items() if not a.problem}
    collections = [_with_archetype(collection, usable) for collection in schema.collections]
    folder_names = {collection.folder.rpartition("/")[2] for collection in collections}
    new = [
        archetypes.with_archetype(Collection(section, f"content/{section}", "**/*.md"), archetype)
        for section, archetype in usable.items()
        if section not in folder_names and section != archetypes.DEFAULT
    ]
    return replace(
        schema,
        kind=SourceKind.ARCHETYPES,
        path=archetypes.FOLDER,
        collections=(*collections, *new),
        problems=(*schema.problems, *problems),
    )


def _with_archetype(collection: Collection, usable: dict[str, Archetype]) -> Collection:
    archetype = usable.get(collection.folder.rpartition("/")[2]) or usable.get(archetypes.DEFAULT)
    return archetypes.with_archetype(collection, archetype) if archetype is not None else collection


def _archetype(key: tuple[str, ...], row: Any, read: Read) -> Archetype:
    data = _read_bounded(row, read)
    if isinstance(data, str):
        return Archetype(archetypes.section_of(row.path), row.path, problem=data)
    archetype: Archetype = _cached(key, archetypes.read_archetype(row.path, data))
    return archetype


def _cached(key: tuple[str, ...], value: Any) -> Any:
    _cache[key] = value
    while len(_cache) > MAX_CACHED:
        _cache.popitem(last=False)
    return value
