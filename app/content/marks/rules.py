"""Rules of the values that are marked: the fields of the schema, their names, and the values that code compares."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from app.content.marks.characters import MARK_CHARACTERS
from app.content.marks.prose import is_never, is_prose, is_technical
from app.content.marks.values import Path, pointer_of
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField
from app.content.schema.validation import collection_of

_TEXT_TYPES = (FieldType.STRING, FieldType.TEXT)


@dataclass(frozen=True)
class MarkRules:
    """The values of a site that are marked.

    Attributes:
        schema: the collections of the site.
        excluded: values that are choices, or that code, configuration or file names contain.
        unmarked: paths and pointers of values that are never marked.
        reads_markdown_as_mdx: the generator reads `.md` as MDX.
        limits: numbers of characters that code permits for values. A mark can exceed them.
    """

    schema: ContentSchema | None = None
    excluded: frozenset[str] = frozenset()
    unmarked: frozenset[tuple[str, str]] = frozenset()
    reads_markdown_as_mdx: bool = False
    limits: frozenset[int] = frozenset()

    def for_file(self, path: str, values: Mapping[str, object] | None) -> "FileRules":
        """Return the rules of a file with its values."""
        return FileRules(self, path, self._collection(path, values))

    def _collection(self, path: str, values: Mapping[str, object] | None) -> Collection | None:
        """Return the collection of a file. Only those of the folders above it are compared."""
        if self.schema is None:
            return None
        folder, candidates = path, list[Collection]()
        while folder:
            folder = folder.rpartition("/")[0]
            candidates += self._by_folder.get(folder, ())
        if not candidates:
            return None
        return collection_of(replace(self.schema, collections=tuple(candidates)), path, values)

    @cached_property
    def _by_folder(self) -> Mapping[str, list[Collection]]:
        folders: dict[str, list[Collection]] = {}
        for collection in self.schema.collections if self.schema is not None else ():
            folders.setdefault(collection.folder, []).append(collection)
        return folders


@dataclass(frozen=True)
class FileRules:
    """The rules of the values of one file."""

    rules: MarkRules
    path: str
    collection: Collection | None

    def is_text(self, path: Path, value: str) -> bool:
        """Return whether a value is marked."""
        if is_never(path) or value.strip() in self.rules.excluded or is_technical(value):
            return False
        if not self.rules.limits.isdisjoint(range(len(value), len(value) + MARK_CHARACTERS)):
            return False
        if self.rules.unmarked and (self.path, pointer_of(path)) in self.rules.unmarked:
            return False
        schema = self.rules.schema
        known = field_at(self.collection.fields, path) if self.collection is not None else None
        if known is not None and known.type is not FieldType.MIXED:
            if known.type not in _TEXT_TYPES or known.pattern is not None:
                return False
            if schema is not None and schema.is_declared:
                return True
        return is_prose(path, value)


def field_at(fields: Iterable[SchemaField], path: Path) -> SchemaField | None:
    """Return the field of a value, or None if the schema does not have it. Choices have no inner fields."""
    current: SchemaField | None = SchemaField("", FieldType.OBJECT, fields=tuple(fields))
    for step in path:
        if current is None or current.type in (FieldType.SELECT, FieldType.RELATION):
            return current
        if isinstance(step, int):
            current = current.item
        else:
            variants = (inner for variant in current.variants for inner in variant.fields)
            current = next((inner for inner in (*current.fields, *variants) if inner.name == step), None)
    return current
