"""Inference of collections from the values of a sample of the files of a branch. A small branch is read completely.

The sample bounds the duration of a request. It contains files of each collection, the same for the same files.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Collection as Values
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from app.content.field_values import SEPARATOR, ValueKind
from app.content.filetypes import endings_of
from app.content.schema.inferred import (
    MAX_COLLECTIONS,
    MAX_OPTIONS,
    MIN_OPTION_FILES,
    FieldCounts,
    FolderFiles,
    collection_from,
    folder_of,
)
from app.content.schema.model import Collection
from app.database import bulk
from app.extensions import db
from app.models.content_search import ContentField, ContentText
from app.models.project_content import FOLDER_OF_FILE, ContentFile, ContentIndex
from app.resources.project_content.entries.entry_conditions import MARKUP, literal_number
from app.resources.project_content.entries.entry_statements import SYMLINK
from app.resources.project_content.tree.folder_listing import folder_counts

MAX_FILES = 1_000
"""The number of files of a sample. The largest collections share what small ones do not need."""

MAX_CANDIDATES, SHAS, VALUES_PER_FILE, FILES_PER_OPTION = 60, 100, 40, 20
_MARKUP_ENDINGS = tuple(ending for language in MARKUP for ending in endings_of(language))
_folder_of_file: sa.ColumnElement[str] = sa.literal_column(FOLDER_OF_FILE, sa.Text())


@dataclass
class _Sample:
    """Sampled files of one collection: paths by blob, counts of values, and the blobs of short texts by their keys."""

    files: FolderFiles
    is_complete: bool
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


def infer(project_id: str, index: ContentIndex, *, max_files: int = MAX_FILES) -> tuple[Collection, ...]:
    """Return the collections of a branch with the types of their fields. Folders without front matter are left out."""
    samples = [sample for sample in _samples(project_id, index, max_files) if sample.kinds][:MAX_COLLECTIONS]
    samples.sort(key=lambda sample: sample.files.folder)
    return tuple(
        collection_from(sample.files, FieldCounts(sample.kinds, _options(project_id, sample))) for sample in samples
    )


def _samples(project_id: str, index: ContentIndex, max_files: int) -> list[_Sample]:
    """Return the samples of the largest collections, the largest first."""
    folders: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for folder, files in folder_counts(index):
        name = folder_of(folder.removesuffix("/"))
        if name is not None:
            folders[name].append((files, folder))
    sizes = {name: sum(files for files, _ in listed) for name, listed in folders.items()}
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))[:MAX_CANDIDATES]
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
    return samples[::-1]


def _in(index: ContentIndex) -> tuple[sa.ColumnElement[bool], ...]:
    file = ContentFile
    return file.index_id == index.id, file.generation == index.generation, file.type == sa.literal_column("'blob'")


def _files(index: ContentIndex, folders: Sequence[tuple[int, str]], limit: int) -> Sequence[tuple[str, str]]:
    """Return path and blob of some files of a collection, from its largest folders."""
    names, files = list[str](), 0
    for number, folder in sorted(folders, key=lambda one: (-one[0], one[1])):
        if files >= limit:
            break
        names.append(folder)
        files += number
    statement = sa.select(ContentFile.path, ContentFile.sha).where(*_in(index), ContentFile.mode != SYMLINK)
    statement = statement.where(_folder_of_file.in_(names)).order_by(_folder_of_file, ContentFile.path)
    return [(path, sha) for path, sha in db.session.execute(statement.limit(limit))]


def _read_values(project_id: str, samples: Sequence[_Sample]) -> None:
    """Add the values of the sampled blobs, within a limit."""
    value = ContentField
    columns = (value.sha, value.name, value.number, value.kind, value.key)
    for shas in bulk.batches(sorted({sha for sample in samples for sha in sample.paths}), SHAS):
        time.sleep(0)
        statement = sa.select(*columns).where(value.project_id == project_id, value.sha.in_(shas))
        values: dict[str, list[tuple[str, int, ValueKind, str]]] = {sha: [] for sha in shas}
        for sha, name, number, kind, key in db.session.execute(statement.limit(len(shas) * VALUES_PER_FILE)):
            values[sha].append((name, number, ValueKind(kind), key))
        for sample in samples:
            for sha in values.keys() & sample.paths.keys():
                sample.add(sha, values[sha])


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
