"""The content of a branch for editors: collections with their languages and counts, and files of their own."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from app.content.entry_filters import EntryFilter, Operator
from app.content.filetypes import file_type
from app.content.schema.collection_groups import (
    DATA_ENDINGS,
    CollectionGroup,
    CollectionLanguage,
    FolderCount,
    collection_groups,
    group_of,
    unique,
)
from app.content.schema.inferred import label_of
from app.content.schema.model import Collection, ContentSchema, SourceKind
from app.content.schema.new_entry import is_single
from app.core.caches import Cache
from app.core.errors import NotFound
from app.core.ids import HasId
from app.drivers.git.hosts import GitHosts
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.resources.project_content.entries.entry_conditions import FileSelection
from app.resources.project_content.entries.entry_pages import EntryQuery, count_entries
from app.resources.project_content.schema.schema_sources import content_schema, excluded_folders
from app.resources.project_content.tree.folder_listing import HiddenFolders, data_files, existing_files, file_counts

DATA_FOLDERS = frozenset(("data", "_data"))
MAX_CACHED, MAX_COUNTED = 128, 40
NOT_EXCLUDED = HiddenFolders()
NO_SCHEMA = ContentSchema(SourceKind.INFERRED, None)
_contents: Cache[str, "SiteContent"] = Cache(MAX_CACHED)
"""The last content of each index."""


@dataclass(frozen=True)
class SingleFile:
    """A file that is edited by itself: a file that the schema names, or a data file."""

    path: str
    label: str


@dataclass(frozen=True)
class FileGroup:
    """A collection of single files that the schema lists."""

    name: str
    label: str
    members: tuple[SingleFile, ...]

    @property
    def files(self) -> int:
        """The number of files."""
        return len(self.members)


Listed = CollectionGroup | FileGroup | SingleFile


@dataclass(frozen=True)
class SiteContent:
    """The collections of a branch, its data files that no schema describes, its images, and folders that lists omit.

    `navigation` are the collections and the existing files that the schema describes by themselves, in its order.
    `version` is the state of the index from which they were read, and `schema` the one without omitted collections.
    """

    groups: tuple[CollectionGroup, ...] = ()
    navigation: tuple[Listed, ...] = ()
    singles: tuple[SingleFile, ...] = ()
    images: int = 0
    hidden: HiddenFolders = NOT_EXCLUDED
    version: tuple[object, ...] = ()
    schema: ContentSchema = NO_SCHEMA

    @property
    def is_declared(self) -> bool:
        """Return whether a file declares the schema."""
        return self.schema.is_declared

    def group(self, name: str) -> CollectionGroup | None:
        """Return a collection by its name."""
        return next((group for group in self.groups if group.name == name), None)

    def file_group(self, name: str) -> FileGroup | None:
        """Return a collection of single files by its name."""
        return next((item for item in self.navigation if isinstance(item, FileGroup) and item.name == name), None)

    def described(self, path: str) -> tuple[FileGroup | None, SingleFile] | None:
        """Return a file that the schema describes by itself, with its collection, or None."""
        for item in self.navigation:
            group = item if isinstance(item, FileGroup) else None
            for file in group.members if group is not None else (item,):
                if isinstance(file, SingleFile) and file.path == path:
                    return group, file
        return None


@dataclass(frozen=True)
class Translation:
    """An entry in a language. Without a translation the path is the one that it would have."""

    language: str
    path: str
    exists: bool


def site_content(project: Project, index: ContentIndex | None, *, hosts: GitHosts, by: HasId) -> SiteContent:
    """Return the content of a branch. It is counted once for each state of the index.

    Raises:
        Disconnected, ReconnectRequired, DriverError: a schema file exists and the repository cannot be read.
    """
    if index is None or index.generation == 0:
        return SiteContent()
    known, version = _contents.find(index.id), (index.generation, index.commit_sha, index.described_sha)
    if known is not None and known.version == version:
        return known
    if known is not None and index.described_sha != index.commit_sha:
        # Until a job has read the last commit, its new files have no fields, so their collections cannot be inferred.
        schema, hidden = known.schema, known.hidden
    else:
        schema = content_schema(project, index, hosts=hosts, by=by)
        hidden = HiddenFolders(paths=excluded_folders(project, index, hosts=hosts, by=by))
        schema = replace(schema, collections=tuple(c for c in schema.collections if not hidden.contains(c.folder)))
    counts = file_counts(index, project.generator)
    groups = tuple(_exact(project, index, collection_groups(schema, counts)))
    images = sum(count.files for count in counts if is_image_ending(count.ending))
    navigation, singles = tuple(_navigation(index, schema, groups)), tuple(_singles(index, schema, groups, counts))
    return _contents.store(index.id, SiteContent(groups, navigation, singles, images, hidden, version, schema))


def translations(index: ContentIndex | None, groups: Sequence[CollectionGroup], path: str) -> list[Translation]:
    """Return an entry in all languages of its collection. An entry of a collection in one language has none."""
    member = group_of(groups, path)
    if member is None or len(member[0].languages) < 2:
        return []
    group, _, name = member
    paths = {language.language: language.path_of(name) for language in group.languages}
    present = existing_files(index, set(paths.values()))
    return [Translation(language, own, own in present) for language, own in sorted(paths.items())]


def translation_path(index: ContentIndex | None, groups: Sequence[CollectionGroup], path: str, language: str) -> str:
    """Return the path of a file in another language. Raises NotFound if its collection does not have the language."""
    listed = translations(index, groups, path)
    target = next((choice.path for choice in listed if choice.language == language), None)
    if target is None:
        raise NotFound
    return target


def query_of(language: CollectionLanguage) -> EntryQuery:
    """Return the query of all entries of a collection in a language.

    Of a filter of the schema with several values, none is applied: the entries of the other collections are listed too.
    """
    condition, filters = language.collection.filter, list[EntryFilter]()
    if condition is not None and len(condition.values) == 1:
        name = f"{language.field}.{condition.field}" if language.field else condition.field
        filters.append(EntryFilter(name, Operator.EQUAL, _text_of(condition.values[0])))
    return EntryQuery(
        folder=language.paths.folder or None, filters=tuple(filters), selection=FileSelection(language.paths)
    )


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_image_ending(ending: str) -> bool:
    """Return whether files with an ending are images."""
    return (file_type(f"image.{ending}").mime or "").startswith("image/")


def _exact(project: Project, index: ContentIndex, groups: Sequence[CollectionGroup]) -> Iterator[CollectionGroup]:
    """Yield the groups with the numbers of the files that match their patterns. Most patterns name an ending only."""
    remaining = MAX_COUNTED
    for group in groups:
        languages = list[CollectionLanguage]()
        for language in group.languages:
            is_counted = language.files > 0 and not language.has_all_endings and remaining > 0
            remaining -= is_counted
            languages.append(
                replace(language, files=count_entries(project, index, query_of(language))) if is_counted else language
            )
        yield replace(group, languages=tuple(languages))


def _navigation(index: ContentIndex, schema: ContentSchema, groups: Sequence[CollectionGroup]) -> list[Listed]:
    """Return the collections, and the existing files that the schema describes by themselves, in its order."""
    existing = existing_files(index, {_path_of(item) for item in schema.collections if is_single(item)})
    listed: dict[tuple[str, str], list[Collection]] = defaultdict(list)
    for item in schema.collections:
        if is_single(item) and _path_of(item) in existing:
            listed[item.group, "" if item.group else item.name].append(item)
    if not listed:
        return list(groups)  # Those of an inferred schema have another order.
    order = {item.name: number for number, item in reversed([*enumerate(schema.collections)])}
    names = Counter(group.name.casefold() for group in groups)
    labels = Counter(group.label.casefold() for group in groups)
    placed: list[tuple[int, Listed]] = []
    placed += [(min(order[language.collection.name] for language in group.languages), group) for group in groups]
    placed += [(order[items[0].name], _file_group(items, names, labels)) for items in listed.values()]
    return [item for _, item in sorted(placed, key=itemgetter(0))]


def _file_group(items: Sequence[Collection], names: Counter[str], labels: Counter[str]) -> FileGroup | SingleFile:
    files = [SingleFile(_path_of(item), item.label or label_of(item.name.rpartition(".")[2])) for item in items]
    group, label = items[0].group, items[0].group_label
    if not group:
        return files[0]
    name = unique(names, group.replace("/", "-"), "-")
    return FileGroup(name, unique(labels, label or label_of(group), " "), tuple(files))


def _path_of(item: Collection) -> str:
    return f"{item.folder}/{item.pattern}".lstrip("/")


def _singles(
    index: ContentIndex, schema: ContentSchema, groups: Sequence[CollectionGroup], counts: Sequence[FolderCount]
) -> Iterator[SingleFile]:
    """Yield the files of data folders that no schema describes."""
    described = {_path_of(item) for item in schema.collections if is_single(item)}
    folders = {
        count.folder for count in counts if count.ending in DATA_ENDINGS and DATA_FOLDERS & set(count.folder.split("/"))
    }
    for path in data_files(index, sorted(folders)):
        if path not in described and group_of(groups, path) is None:
            yield SingleFile(path, label_of(path.rpartition("/")[2].rpartition(".")[0]))
