"""The schema of a branch: from the first schema file of the repository, else inferred from the index.

Files are found in the index and read from Git once per blob. A broken file is a problem of the schema, never an error.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Values
from dataclasses import dataclass, field, replace
from posixpath import basename, dirname, join
from types import MappingProxyType

import sqlalchemy as sa

from app.content import galley_file
from app.content.field_values import SEPARATOR, ValueKind
from app.content.filetypes import endings_of
from app.content.schema import archetypes, docusaurus, front_matter_cms
from app.content.schema.archetypes import Archetype
from app.content.schema.decap import read_decap
from app.content.schema.front_matter_cms import read_front_matter_cms
from app.content.schema.galley import read_excluded, read_galley
from app.content.schema.inferred import (
    MAX_COLLECTIONS,
    MAX_OPTIONS,
    MIN_OPTION_FILES,
    FieldCounts,
    FolderFiles,
    collection_from,
    folder_of,
)
from app.content.schema.model import Collection, ContentSchema, SchemaProblem, SourceKind
from app.content.schema.pages_cms import read_pages_cms
from app.content.text import decode
from app.core.caches import Cache
from app.core.ids import HasId
from app.database import inserts, transactions
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.drivers.git.hosts import GitHosts
from app.extensions import db
from app.models.base import Row
from app.models.content_search import ContentField, ContentText
from app.models.project import Project
from app.models.project_content import FOLDER_OF_FILE, ContentFile, ContentIndex
from app.resources.project_content.conditions import literal_number
from app.resources.project_content.entries.entry_conditions import MARKUP
from app.resources.project_content.entries.entry_statements import SYMLINK
from app.resources.project_content.source import Source, source_of
from app.resources.project_content.tree.folder_listing import folder_counts

READERS: dict[SourceKind, Callable[[str, bytes], ContentSchema | None]] = {
    SourceKind.GALLEY: read_galley,
    SourceKind.DECAP: read_decap,
    SourceKind.PAGES_CMS: read_pages_cms,
    SourceKind.FRONT_MATTER: read_front_matter_cms,
}
"""A reader returns None if the file describes no collections. It never raises."""


MAX_FILES = 1_000
"""The number of files of a sample. The largest collections share what small ones do not need."""

MAX_FOLDERS, SHAS, VALUES_PER_FILE, FILES_PER_OPTION = 160, 100, 40, 20
MAX_NAMES, MAX_OTHER_NAMES, FILES_PER_NAME = 500, 200, 1_000
MIN_WITHOUT_TEXT, MAX_START = 3, 200
_MARKUP_ENDINGS = tuple(ending for language in MARKUP for ending in endings_of(language))
_folder_of_file: sa.ColumnElement[str] = sa.literal_column(FOLDER_OF_FILE, sa.Text())
PAGES, FRONT_MATTER = (".pages.yml", ".pages.yaml"), (front_matter_cms.FILE,)
DECAP_FOLDERS = frozenset(("admin", "cms", "decap", "sveltia", "netlify", "netlify-cms"))
DECAP_FILES = ("config.yml", "config.yaml", "config.json", "config.toml")
_IN_DECAP = (b"collections", b"backend")
MAX_DECAP_FILES, MAX_CANDIDATES, MAX_CACHED = 3, 1_000, 128


@dataclass
class _Sample:
    """Sampled files of one collection: paths by blob, counts of values, and the blobs of short texts by their keys."""

    files: FolderFiles
    is_complete: bool
    has_text: bool = False
    paths: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    kinds: dict[str, Counter[ValueKind]] = field(default_factory=lambda: defaultdict(Counter))
    keys: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))

    def add(self, sha: str, values: Sequence[tuple[str, int, ValueKind, str]]) -> None:
        """Count the values of a blob for each of its files."""
        entries = [path for path in self.paths[sha] if values or path.lower().endswith(_MARKUP_ENDINGS)]
        for path in entries:
            self.files.add(path)
        for name, number, kind, key in values:
            self.kinds[name][kind] += len(entries)
            if number == 0 and kind is ValueKind.STRING and SEPARATOR not in name:
                self.keys[name][key].append(sha)

    def option_names(self) -> list[str]:
        """Return the names of short texts with few different values."""
        return [
            name
            for name, keys in self.keys.items()
            if set(self.kinds[name]) == {ValueKind.STRING}
            and self.kinds[name][ValueKind.STRING] >= MIN_OPTION_FILES
            and len(keys) <= MAX_OPTIONS
            and not set('"\\') & set(name)
        ]


def infer(
    project_id: str,
    index: ContentIndex,
    *,
    max_files: int = MAX_FILES,
    originals: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Collection, ...]:
    """Return the collections of a branch with the types of their fields. Folders without front matter are left out.

    `originals` are folders of translations, and of their originals, with the folder of the originals. Translations have
    no own collection if there are originals.
    """
    samples = [sample for sample in _samples(project_id, index, max_files, originals) if sample.kinds]
    samples = samples[:MAX_COLLECTIONS]
    samples.sort(key=lambda sample: sample.files.folder)
    return tuple(
        replace(
            collection_from(sample.files, FieldCounts(sample.kinds, _options(project_id, sample))),
            has_body=sample.has_text or sample.files.files < MIN_WITHOUT_TEXT,
        )
        for sample in samples
    )


def _samples(project_id: str, index: ContentIndex, max_files: int, originals: Mapping[str, str]) -> list[_Sample]:
    """Return the samples of the largest collections, the largest first."""
    folders: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for folder, files in folder_counts(index):
        name = folder_of(folder.removesuffix("/"), originals)
        if name is not None:
            folders[name].append((files, folder))
    for name in [name for name in folders if originals.get(name, name) != name and originals[name] in folders]:
        del folders[name]
    sizes = {name: sum(files for files, _ in listed) for name, listed in folders.items()}
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))[:MAX_FOLDERS]
    samples, remaining = list[_Sample](), max_files
    for number, name in enumerate(reversed(largest)):
        time.sleep(0)  # yields to other requests
        share = min(sizes[name], remaining // (len(largest) - number))
        remaining -= share
        sample = _Sample(FolderFiles(name), is_complete=share == sizes[name])
        for path, sha in _files(index, folders[name], share):
            sample.paths[sha].append(path)
        samples.append(sample)
    _read_values(project_id, samples)
    incomplete = [sample for sample in samples if sample.kinds and not sample.is_complete]
    if incomplete:
        by_folder = {folder: sample for sample in incomplete for _files, folder in folders[sample.files.folder]}
        _add_other_fields(project_id, index, incomplete, by_folder)
    return samples[::-1]


def _in(index: ContentIndex) -> tuple[sa.ColumnElement[bool], ...]:
    file = ContentFile
    return file.index_id == index.id, file.generation == index.generation, file.type == sa.literal_column("'blob'")


def _files(index: ContentIndex, folders: Sequence[tuple[int, str]], limit: int) -> Sequence[tuple[str, str]]:
    """Return path and blob of some files of a collection, from its largest folders.

    They are the last ones by path: new entries follow the newest ones, whose names often start with their date.
    """
    names, files = list[str](), 0
    for number, folder in sorted(folders, key=lambda pair: (-pair[0], pair[1])):
        if files >= limit:
            break
        names.append(folder)
        files += number
    statement = sa.select(ContentFile.path, ContentFile.sha).where(*_in(index), ContentFile.mode != SYMLINK)
    statement = statement.where(_folder_of_file.in_(names)).order_by(_folder_of_file.desc(), ContentFile.path.desc())
    return [(path, sha) for path, sha in db.session.execute(statement.limit(limit))]


def _read_values(project_id: str, samples: Sequence[_Sample]) -> None:
    """Add the values of the sampled blobs, within a limit."""
    value = ContentField
    columns = (value.sha, value.name, value.number, value.kind, value.key)
    for shas in inserts.batches(sorted({sha for sample in samples for sha in sample.paths}), SHAS):
        time.sleep(0)
        statement = sa.select(*columns).where(value.project_id == project_id, value.sha.in_(shas))
        values: dict[str, list[tuple[str, int, ValueKind, str]]] = {sha: [] for sha in shas}
        for sha, name, number, kind, key in db.session.execute(statement.limit(len(shas) * VALUES_PER_FILE)):
            values[sha].append((name, number, ValueKind(kind), key))
        start = sa.func.ltrim(sa.func.substr(ContentText.body, 1, MAX_START), " \t\r\n")
        texts = sa.select(ContentText.sha).where(ContentText.project_id == project_id, ContentText.sha.in_(shas))
        with_text = set(db.session.scalars(texts.where(start != "")))
        for sample in samples:
            sample.has_text |= not with_text.isdisjoint(sample.paths)
            for sha in values.keys() & sample.paths.keys():
                sample.add(sha, values[sha])


def _field_names(project_id: str) -> list[str]:
    """Return the first names of the fields of all files of the project. Each is read with an index."""
    value, names, last = ContentField, list[str](), ""
    first = sa.select(value.name).where(value.project_id == project_id).order_by(value.name).limit(literal_number(1))
    while len(names) < MAX_NAMES:
        name = db.session.scalar(first.where(value.name > last))
        if name is None:
            break
        names.append(last := name)
    return names


def _add_other_fields(
    project_id: str, index: ContentIndex, samples: Sequence[_Sample], by_folder: Mapping[str, _Sample]
) -> None:
    """Add the fields that only files outside of a sample have, from some files of the project with each field.

    There is at most one statement for a name, for all samples together.
    """
    file, remaining = ContentFile, MAX_OTHER_NAMES
    for name in _field_names(project_id):
        time.sleep(0)
        lacking = {sample.files.folder for sample in samples if name not in sample.kinds}
        if not lacking or not remaining:
            continue
        remaining -= 1
        some = sa.select(ContentField.sha, ContentField.kind)
        some = some.where(ContentField.project_id == project_id, ContentField.name == name)
        rows = some.limit(literal_number(FILES_PER_NAME)).subquery()
        statement = sa.select(_folder_of_file, rows.c.kind).join_from(rows, file, file.sha == rows.c.sha)
        for folder, kind in db.session.execute(statement.where(*_in(index)).limit(literal_number(FILES_PER_NAME))):
            sample = by_folder.get(folder)
            if sample is not None and sample.files.folder in lacking:
                sample.kinds[name][ValueKind(kind)] += 1


def _options(project_id: str, sample: _Sample) -> Mapping[str, Sequence[str]]:
    """Return the values of texts with few different values. Two spellings of a value are two options.

    If the sample is not complete, the project may have more values. Then one blob of each value is read.
    """
    options: dict[str, Sequence[str]] = {}
    for name in sample.option_names():
        shas = {key: own[:FILES_PER_OPTION] for key, own in sample.keys[name].items()}
        if not sample.is_complete:
            all_shas = _shas_of_values(project_id, name)
            shas = {} if all_shas is None else all_shas | shas
        spellings = _spellings(project_id, name, {sha for own in shas.values() for sha in own})
        if 0 < len(spellings) <= MAX_OPTIONS:
            options[name] = spellings
    return options


def _shas_of_values(project_id: str, name: str) -> dict[str, list[str]] | None:
    """Return a blob of each value of a field, or None if there are more than `MAX_OPTIONS`.

    Each is read with an index.
    """
    value, shas, last = ContentField, dict[str, list[str]](), ""
    first = sa.select(value.key, value.sha).where(value.project_id == project_id, value.name == name)
    first = first.order_by(value.key, value.sha).limit(literal_number(1))
    while len(shas) <= MAX_OPTIONS:
        row = db.session.execute(first.where(value.key > last)).first()
        if row is None:
            return shas
        last = row.key
        shas[row.key] = [row.sha]
    return None


def _spellings(project_id: str, name: str, shas: Values[str]) -> list[str]:
    text = ContentText
    value = text.front_matter[name].as_string()
    statement = sa.select(value).where(text.project_id == project_id, text.sha.in_(sorted(shas)))
    return sorted({spelling for spelling in db.session.scalars(statement) if spelling is not None}) if shas else []


Read = Callable[[Row], bytes]
_schemas: Cache[tuple[str, ...], ContentSchema] = Cache(MAX_CACHED)
_excluded: Cache[tuple[str, ...], tuple[str, ...]] = Cache(MAX_CACHED)
_archetypes: Cache[tuple[str, ...], Archetype] = Cache(MAX_CACHED)
"""Read files by project, path and blob."""

_candidates: Cache[tuple[str, ...], dict[str, Row]] = Cache(MAX_CACHED)
_translated: Cache[tuple[str, ...], list[docusaurus.TranslatedSite]] = Cache(MAX_CACHED)
_collections: Cache[tuple[str, ...], tuple[Collection, ...]] = Cache(MAX_CACHED)
"""Values by index and commits."""

_NO_SCHEMA = ContentSchema(SourceKind.DECAP, None)
"""The stored schema of a file that has another purpose."""

_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
"""Locks of indexes whose collections are being inferred, so that parallel requests do it once."""


def content_schema(project: Project, index: ContentIndex | None, *, hosts: GitHosts, by: HasId) -> ContentSchema:
    """Return the schema of a branch.

    Raises:
        Disconnected, ReconnectRequired, DriverError: a schema file, an archetype or the configuration of a Docusaurus
            site exists and the repository cannot be read.
    """
    if index is None or index.generation == 0:
        problem = SchemaProblem(None, "", "The branch is not indexed yet. Try again in a moment")
        return ContentSchema(SourceKind.INFERRED, None, problems=(problem,))
    rows = _rows(index)

    def read(row: Row) -> bytes:
        source = source_of(project, hosts, branch=index.branch, user=by)
        return source.repository.blob(row.sha, max_bytes=galley_file.MAX_BYTES)

    declared = _declared(project.id, rows, read)
    if declared is not None:
        return _with_translations(declared, _sites(index, rows, read))
    start, endings = f"{archetypes.FOLDER}/", (".md", ".markdown", ".html", ".adoc")
    samples = [row for path, row in rows.items() if path.startswith(start) and path.endswith(endings)]
    sites = _sites(index, rows, read)
    return _with_translations(_inferred(project.id, index, samples, read, sites), sites)


def declared_schema(index: ContentIndex, source: Source) -> ContentSchema | None:
    """Return the schema that a file of the branch declares, or None."""
    rows = _rows(index)
    with transactions.outside_transaction():
        return _declared(
            index.project_id, rows, lambda row: source.repository.blob(row.sha, max_bytes=galley_file.MAX_BYTES)
        )


def _declared(project_id: str, rows: dict[str, Row], read: Read) -> ContentSchema | None:
    for kind, paths in (
        (SourceKind.GALLEY, galley_file.FILES),
        (SourceKind.DECAP, _decap_paths(rows)),
        (SourceKind.PAGES_CMS, PAGES),
        (SourceKind.FRONT_MATTER, FRONT_MATTER),
    ):
        schemas = (_file_schema(project_id, kind, rows[path], read) for path in paths if path in rows)
        schema = next((schema for schema in schemas if schema is not None), None)
        if schema is not None:
            return schema
    return None


def is_schema_file(path: str) -> bool:
    """Return whether a file with this path can declare the schema of a branch."""
    folder, _, name = path.rpartition("/")
    return path in (*galley_file.FILES, *PAGES, *FRONT_MATTER) or (name in DECAP_FILES and _is_decap_folder(folder))


def excluded_folders(project: Project, index: ContentIndex, *, hosts: GitHosts, by: HasId) -> tuple[str, ...]:
    """Return the folders that `.galley.yml` excludes from lists.

    Raises:
        Disconnected, ReconnectRequired, DriverError: the file exists and the repository cannot be read.
    """
    rows = _rows(index)
    row = next((rows[path] for path in galley_file.FILES if path in rows), None)
    if row is None:
        return ()

    def read() -> tuple[str, ...]:
        source = source_of(project, hosts, branch=index.branch, user=by)
        data = _read_bounded(row, lambda row: source.repository.blob(row.sha, max_bytes=galley_file.MAX_BYTES))
        return tuple(read_excluded(row.path, data)) if isinstance(data, bytes) else ()

    return _excluded.get((project.id, row.path, row.sha), read)


def _rows(index: ContentIndex) -> dict[str, Row]:
    """Return the files that may define the schema, by path."""
    key = (index.id, str(index.generation), str(index.commit_sha))
    return _candidates.get(key, lambda: _find_candidates(index))


def _find_candidates(index: ContentIndex) -> dict[str, Row]:
    """Return the files that may define the schema, by path. Only the names of folders are searched."""
    file, folder = ContentFile, archetypes.FOLDER
    folders = [path for path, _ in folder_counts(index)]
    names = [*galley_file.FILES, *PAGES, *FRONT_MATTER]
    names += [f"{path}{name}" for path in folders if _is_decap_folder(path) for name in DECAP_FILES]
    names += [join(root, name) for root in docusaurus.roots_of(folders) for name in docusaurus.CONFIG_FILES]
    statement = sa.select(file.path, file.sha, file.size).order_by(file.path).limit(MAX_CANDIDATES)
    statement = statement.where(file.index_id == index.id, file.generation == index.generation, file.type == "blob")
    below = sa.and_(file.path > f"{folder}/", file.path < f"{folder}0")
    rows = [row for part in (file.path.in_(names), below) for row in db.session.execute(statement.where(part))]
    return {row.path: row for row in rows}


def _is_decap_folder(path: str) -> bool:
    return path.removesuffix("/").rpartition("/")[2] in DECAP_FOLDERS


def _decap_paths(rows: dict[str, Row]) -> Sequence[str]:
    paths = [path for path in rows if path.endswith(DECAP_FILES) and not path.startswith(f"{archetypes.FOLDER}/")]
    return sorted(paths, key=lambda path: (path.count("/"), path))[:MAX_DECAP_FILES]


def _file_schema(project_id: str, kind: SourceKind, row: Row, read: Read) -> ContentSchema | None:
    """Return the schema of a file, or None if the file has another purpose."""
    key = (project_id, str(kind), row.path, row.sha)
    schema = _schemas.find(key)
    if schema is None:
        data = _read_bounded(row, read)
        if isinstance(data, str):
            return ContentSchema(kind, row.path, problems=(SchemaProblem(row.path, "", data),))
        is_other = kind is SourceKind.DECAP and not all(part in data for part in _IN_DECAP)
        schema = _schemas.store(key, (None if is_other else READERS[kind](row.path, data)) or _NO_SCHEMA)
    return schema if schema is not _NO_SCHEMA else None


def _read_bounded(row: Row, read: Read) -> bytes | str:
    """Return the bytes of a file, or the reason why they cannot be read."""
    try:
        return read(row)
    except TooLargeToRead:
        return f"The file is larger than {galley_file.MAX_BYTES // 1024} KiB"
    except GitObjectMissing:
        return "The file cannot be read from the repository"


def _sites(index: ContentIndex, rows: dict[str, Row], read: Read) -> list[docusaurus.TranslatedSite]:
    """Return the sites of Docusaurus that have several languages."""
    configs = {dirname(path): row for path, row in rows.items() if basename(path) in docusaurus.CONFIG_FILES}

    def read_sites() -> list[docusaurus.TranslatedSite]:
        data = {root: _read_bounded(row, read) for root, row in configs.items()}
        texts = {root: decode(own)[0] if isinstance(own, bytes) else None for root, own in data.items()}
        folders = [path for path, _ in folder_counts(index)]
        sites = [docusaurus.read_site(root, text or "", folders) for root, text in texts.items()]
        return [site for site in sites if site.languages]

    key = (index.id, str(index.generation), str(index.commit_sha))
    return _translated.get(key, read_sites) if configs else []


def _with_translations(schema: ContentSchema, sites: Sequence[docusaurus.TranslatedSite]) -> ContentSchema:
    if not sites:
        return schema
    collections = docusaurus.with_translations(schema.collections, sites, is_declared=schema.is_declared)
    return replace(schema, collections=collections)


def _inferred(
    project_id: str, index: ContentIndex, files: Sequence[Row], read: Read, sites: Sequence[docusaurus.TranslatedSite]
) -> ContentSchema:
    key = (index.id, str(index.generation), str(index.commit_sha), str(index.described_sha))
    collections = _collections.find(key)
    if collections is None:
        with transactions.outside_transaction(), _locks[index.id]:
            originals = docusaurus.originals_by_folder(sites)
            collections = _collections.get(key, lambda: infer(project_id, index, originals=originals))
        _locks.pop(index.id, None)
    problems = []
    if index.described_sha != index.commit_sha:
        problems.append(SchemaProblem(None, "", "Front matter of the last commits is still being read"))
    schema = ContentSchema(SourceKind.INFERRED, None, collections, tuple(problems))
    return _with_archetypes(project_id, schema, files[: archetypes.MAX_FILES], read) if files else schema


def _with_archetypes(project_id: str, schema: ContentSchema, files: Sequence[Row], read: Read) -> ContentSchema:
    """Return the schema with the templates of Hugo's archetypes.

    A section without an archetype uses the default one.
    """
    read_files = {}
    for row in files:
        key = (project_id, row.path, row.sha)
        archetype = _archetypes.find(key) or _archetype(key, row, read)
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


def _archetype(key: tuple[str, ...], row: Row, read: Read) -> Archetype:
    data = _read_bounded(row, read)
    if isinstance(data, str):
        return Archetype(archetypes.section_of(row.path), row.path, problem=data)
    return _archetypes.store(key, archetypes.read_archetype(row.path, data))
