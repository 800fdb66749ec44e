"""The options of relations: the entries of a collection, a search by title, and the entries of stored values.

Pages are read from the index. The values of data files are not in the index, so these files are read from Git, once per
version.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from app.concurrency.threadpool import switch
from app.content.entry_filters import PATH, EntryFilter, Operator
from app.content.field_values import key_of
from app.content.schema.collection_groups import DATA_ENDINGS, CollectionLanguage
from app.content.schema.model import Collection, ContentSchema
from app.content.schema.path_sets import endings_of, path_set
from app.content.schema.relations import (
    MAX_ITEMS,
    TITLES,
    RelationOption,
    TargetEntry,
    options_of,
    placeholders_of,
    slug_of,
    title_of,
)
from app.core.caches import Cache
from app.core.ids import HasId
from app.database import transactions
from app.drivers.git.hosts import GitHosts
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.resources.project_content.entries.entry_pages import entries
from app.resources.project_content.schema.schema_validation import values_of
from app.resources.project_content.schema.site_content import query_of
from app.resources.project_content.source import source_of
from app.resources.project_content.tree.folder_listing import existing_files, titles_of

MAX_OPTIONS = 200
"""Options of a relation that a page contains. Of a larger collection, a search returns some."""

MAX_RESULTS, MAX_STORED, MAX_SEARCHED = 50, 50, 3
MAX_CACHED, MAX_DATA_BYTES = 2_000, 2 * 1024 * 1024
"""Data files whose values are in memory, and the size of those that are read for one list."""

_values: Cache[tuple[str, str], Mapping[str, object]] = Cache(MAX_CACHED)
"""Values of data files by project and blob."""


@dataclass(frozen=True)
class Relation:
    """The collection to which a relation leads, the field whose value it stores, and that of the titles of entries."""

    collection: Collection
    value_field: str | None
    title_field: str | None = None

    @classmethod
    def of(
        cls, schema: ContentSchema, name: str | None, value_field: str | None, title_field: str | None
    ) -> "Relation | None":
        """Return the relation to the collection of this name, or None if the schema does not have it."""
        collection = next((candidate for candidate in schema.collections if candidate.name == name), None)
        return cls(collection, value_field, title_field) if collection is not None else None

    @property
    def is_data(self) -> bool:
        """Return whether the entries are data files."""
        return endings_of(self.collection) <= frozenset(DATA_ENDINGS)


@dataclass(frozen=True)
class RelationReader:
    """Access to the entries of a branch for a user."""

    project: Project
    index: ContentIndex | None
    hosts: GitHosts
    by: HasId

    def options(self, relation: Relation) -> list[RelationOption]:
        """Return the first options by path, and one more than `MAX_OPTIONS` if there are so many.

        Raises:
            DriverError: data files cannot be read.
        """
        return self._distinct(self._entries(relation, limit=MAX_OPTIONS + 1), relation, MAX_OPTIONS + 1)

    def titles(self, relation: Relation, values: Sequence[object]) -> dict[str, str]:
        """Return the titles of the entries by the keys of their values: the first ones, and those of some values.

        Raises:
            DriverError: data files cannot be read.
        """
        options = self.options(relation)
        titles = {key_of(option.value): option.title for option in options}
        if len(options) > MAX_OPTIONS:
            others = self.stored(relation, [value for value in values if key_of(value) not in titles])
            titles |= {key_of(option.value): option.title for option in others.values() if option is not None}
        return titles

    def find(self, relation: Relation, text: str) -> list[RelationOption]:
        """Return options whose title or value contains a text in any case, the best first.

        Raises:
            DriverError: data files cannot be read.
        """
        terms = text.casefold().split()
        options: dict[object, RelationOption] = {}
        for search in self._searches(relation, terms):
            for option in self._distinct(search, relation, MAX_ITEMS):
                if all(term in f"{option.title} {option.value}".casefold() for term in terms):
                    options.setdefault(option.value, option)
            if len(options) >= MAX_RESULTS:
                break
        first = terms[0] if terms else ""
        return sorted(options.values(), key=lambda option: not option.title.casefold().startswith(first))[:MAX_RESULTS]

    def _searches(self, relation: Relation, terms: Sequence[str]) -> Iterator[Iterator[TargetEntry]]:
        """Yield entries with the text as it is typed, with its longest word, and the first ones of the collection.

        Titles of data files, of items of lists and in other fields are not compared by the first search.
        """
        if terms:
            longest = max(terms, key=len)
            yield self._entries(relation, term=" ".join(terms), limit=MAX_OPTIONS)
            yield self._entries(relation, term=longest, limit=MAX_OPTIONS)
            names = {field.name for field in relation.collection.fields if field.name in TITLES}
            names |= placeholders_of(relation.title_field)
            for name in sorted(names)[:MAX_SEARCHED] if not relation.is_data else ():
                yield self._entries(relation, EntryFilter(name, Operator.CONTAINS, longest), limit=MAX_OPTIONS)
        yield self._entries(relation, limit=MAX_OPTIONS)

    def stored(self, relation: Relation, values: Sequence[object]) -> dict[object, RelationOption | None]:
        """Return the option of each of some stored values, None if it has no entry. Unknown ones are absent."""
        field = (relation.value_field or "{{slug}}").strip()
        if relation.is_data or "*" in field:
            return {}
        if field in ("{{slug}}", "{path}", "{{path}}"):
            return self._by_path(relation, [value for value in values[:MAX_STORED] if isinstance(value, str)], field)
        if "{" in field:
            return {}
        texts = [value for value in values[:MAX_STORED] if isinstance(value, str)]
        result = self._by_path(relation, texts, field) if field in ("slug", "path") else {}
        for value in values[:MAX_STORED]:
            equal = EntryFilter(field, Operator.EQUAL, str(value))
            options = self._distinct(self._entries(relation, equal, limit=1), relation, 1)
            # The title of an entry may be its first heading, which is no field.
            if options or (field != "title" and result.get(value) is None):
                result[value] = options[0] if options else None
        return result

    def _by_path(self, relation: Relation, values: Sequence[str], field: str) -> dict[object, RelationOption | None]:
        folder = f"{relation.collection.folder}/" if relation.collection.folder else ""
        endings = sorted(endings_of(relation.collection))
        ends = [f"{name}.{ending}" for ending in endings for name in ("", "/index", "/_index")]
        paths = {value: [value] if "path" in field else [f"{folder}{value}{end}" for end in ends] for value in values}
        present = existing_files(self.index, {path for candidates in paths.values() for path in candidates})
        result = dict[object, RelationOption | None]()
        for entry, candidates in paths.items():
            path = next((path for path in candidates if path in present), None)
            named = [] if path is None else self._entries(relation, EntryFilter(PATH, Operator.EQUAL, path), limit=1)
            result[entry] = next((option for option in self._distinct(named, relation, 1)), None)
        return result

    def _distinct(self, listed: Iterable[TargetEntry], relation: Relation, limit: int) -> list[RelationOption]:
        """Return the first options of entries. Of translations with one value, the first is an option."""
        options: dict[object, RelationOption] = {}
        for entry in listed:
            for option in options_of(entry, relation.value_field, relation.title_field):
                options.setdefault(option.value, option)
            if len(options) >= limit:
                break
        return list(islice(options.values(), limit))

    def _entries(self, relation: Relation, *filters: EntryFilter, term: str = "", limit: int) -> Iterator[TargetEntry]:
        collection = relation.collection
        every = query_of(CollectionLanguage("", collection, path_set(collection)))
        selection = replace(every.selection, term=term)
        query = replace(every, filters=(*every.filters, *filters), selection=selection, limit=limit)
        listed = entries(self.project, self.index, query).entries
        values = self._data(listed) if relation.is_data else {entry["path"]: entry["fields"] for entry in listed}
        titles = {} if relation.is_data else titles_of(self.project, self.index, list(values))
        for path, own in values.items():
            slug = slug_of(collection, path)
            if slug:
                yield TargetEntry(path, slug, title_of(own) or titles.get(path) or slug, own)

    def _data(self, listed: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, object]]:
        """Return the values of data files by path. A file that cannot be read has none."""
        known = {entry["sha"]: _values.find((self.project.id, entry["sha"])) for entry in listed}
        missing = {entry["sha"]: entry["path"] for entry in listed if known[entry["sha"]] is None}
        if missing:
            with transactions.outside_transaction():
                source = source_of(self.project, self.hosts, user=self.by)
                remaining = MAX_DATA_BYTES
                for sha, data in source.repository.blobs(missing, max_bytes=MAX_DATA_BYTES):
                    remaining -= len(data or b"")
                    values = values_of(missing[sha], data) if data is not None and remaining >= 0 else {}
                    known[sha] = _values.store((self.project.id, sha), values if isinstance(values, dict) else {})
                    switch()  # Other requests run between the files.
        return {entry["path"]: known[entry["sha"]] or {} for entry in listed}
