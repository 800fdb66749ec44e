"""Rules of the values that are marked: the fields of the schema, their names, and the values that code compares."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from app.content.field_values import ValueKind, kind_of
from app.content.json_pointer import pointer_of
from app.content.marks.characters import MARK_CHARACTERS
from app.content.marks.string_values import Path
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField
from app.content.schema.validation import collection_of

MAX_CHARACTERS = 200
"""The characters of a value that are read."""

_NEVER_NAMES = """
    layout type slug url permalink template tags tag categories category id ref weight aliases alias color colour
    currency email format icon language lang locale key page path route status theme unit username variant website
    class classes css style classname identifier keywords author authors series date lastmod href src link image file
"""
_NEVER = frozenset(_NEVER_NAMES.split())
_NEVER_ENDS = ("class", "parent", "_id", "_url", "_path")
_NEVER_BELOW = frozenset(("seo", "meta", "opengraph", "og"))
_TITLES = frozenset(("title", "heading", "headline", "subtitle", "caption", "description", "summary"))
_MONTHS = """
    jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august september
    october november december
"""
_DAYS = "mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday"
_TIMES = "am pm utc gmt cet cest est edt cst cdt mst mdt pst pdt bst t z st nd rd th of"
_DATE_TERMS = frozenset(f"{_MONTHS} {_DAYS} {_TIMES}".split())
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}:\S*\Z|//\S")
_PATH = re.compile(r"\.{0,2}/[^\n]*+\Z|[\w.@-]++/[^\n]*\.\w{1,8}\Z|[^\s/]*+/\S*+\Z")
_TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{|\{\[")
_TERM = re.compile(r"[^\W\d_]{2}")
_LETTERS = re.compile(r"[^\W\d_]++")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of scripts that have no spaces between words."""
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

    def is_text(self, path: Path, value: str, marks: int) -> bool:
        """Return whether a value has a number of marks."""
        if _is_never(path) or value.strip() in self.rules.excluded or _is_technical(value):
            return False
        if not self.rules.limits.isdisjoint(range(len(value), len(value) + marks * MARK_CHARACTERS)):
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
        return _is_prose(path, value)


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


def _is_technical(value: str) -> bool:
    """Return whether a value is an address, a path, a date, or contains a template."""
    text = value.strip()
    if not _TERM.search(text) and not _UNSPACED.search(text):
        return True
    if _TEMPLATE.search(text) or _SCHEME.match(text):
        return True
    if len(text) > MAX_CHARACTERS or "\n" in text:
        return False
    if _PATH.match(text) or kind_of(text) is not ValueKind.STRING:
        return True
    return any(map(str.isdigit, text)) and all(term.lower() in _DATE_TERMS for term in _LETTERS.findall(text))


def _is_prose(path: Path, value: str) -> bool:
    """Return whether a value that no schema describes is prose: two words, or the title of a page."""
    if len(_UNSPACED.findall(value[:MAX_CHARACTERS])) >= 4:
        return True
    terms = [term for term in value[:MAX_CHARACTERS].split() if _TERM.search(term)]
    if len(terms) >= 2:
        return True
    return str(path[-1]).lower() in _TITLES and len(terms) == 1 and value[0].isupper() and value.isalpha()


def _is_never(path: Path) -> bool:
    """Return whether the values of a key are no texts of a page in any site."""
    names = [step.lower() for step in path if isinstance(step, str)]
    if not names or names[-1] in _NEVER or names[-1].endswith(_NEVER_ENDS):
        return True
    return any(name in _NEVER_BELOW or name.startswith("_") for name in names)
