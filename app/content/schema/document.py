"""Tolerant access to the parsed document of a schema file. A fault is recorded as a problem, never raised."""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from app.content.front_matter.toml_reader import read_toml
from app.content.front_matter.values import ValueBudget, plain
from app.content.front_matter.yaml_reader import read_yaml
from app.content.galley_file import MAX_BYTES
from app.content.schema.model import (
    MAX_COLLECTIONS,
    MAX_DEPTH,
    MAX_FIELDS,
    MAX_PROBLEMS,
    MAX_TEXT,
    Collection,
    SchemaProblem,
)
from app.content.schema.text_patterns import UnsupportedPattern, text_pattern
from app.content.text import decode

BODY = "body"
"""The field whose value is the text below the front matter."""

MAX_HINT, MAX_NUMBER = 2_000, 1e15
MAX_PATTERN_SIZE, MIN_PATTERN_SIZE, REFUSED_PATTERN_SIZE = 100_000, 200, 2_000
"""Bounds of the time in which the patterns of a file are compiled: the size of all, of each, and of a refused one.

The size of a pattern is the length of its text and of its program. At most 501 patterns of a file are accepted.
"""

_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")
# Open strings and comments match to their end: a hostile text is scanned only once.
_JSONC = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|//[^\n]*+|/\*(?:.*?\*/|.*)', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]++|\\.)*+"?)|,(?=\s*[}\]])', re.DOTALL)


class SchemaDocument:
    """The values of one schema file with the problems that its reader reports.

    `groups` are lists of fields that several fields name.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.problems: list[SchemaProblem] = []
        self._reported: set[tuple[str, str]] = set()
        self._remaining_fields = MAX_FIELDS
        self._remaining_size = MAX_PATTERN_SIZE
        self._relations: list[tuple[str, str]] = []
        self.values = self._parse(data)
        self.groups: dict[str, Mapping[str, object]] = {}

    def report(self, pointer: str, message: str) -> None:
        """Record a problem once. Problems beyond the limit are dropped."""
        if len(self.problems) < MAX_PROBLEMS and (pointer, message) not in self._reported:
            self._reported.add((pointer, message))
            self.problems.append(SchemaProblem(self.path, pointer, message))

    def mapping(self, value: object, pointer: str) -> Mapping[str, object]:
        """Return a mapping. Anything else is a problem, and an empty mapping."""
        if isinstance(value, Mapping):
            return value
        if value is not None:
            self.report(pointer, "This must be a mapping")
        return {}

    def mappings(self, value: object, pointer: str, limit: int) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield the mappings of a list with their pointers. Other items are problems."""
        if value is not None and not isinstance(value, list):
            self.report(pointer, "This must be a list")
            return
        for number, item in enumerate(value or ()):
            if number >= limit:
                self.report(pointer, f"Only the first {limit} items are read")
                return
            if isinstance(item, Mapping):
                yield f"{pointer}/{number}", item
            else:
                self.report(f"{pointer}/{number}", "This must be a mapping")

    def has_body(self, value: object) -> bool:
        """Return whether a list of fields contains the text of a page, or no fields."""
        fields = value if isinstance(value, list) else []
        return not fields or self.body(value) is not None

    def body(self, value: object) -> Mapping[str, object] | None:
        """Return the properties of the text of a page in a list of fields, or None."""
        fields = value if isinstance(value, list) else []
        return next((field for field in fields if isinstance(field, Mapping) and field.get("name") == BODY), None)

    def fields(self, value: object, pointer: str) -> Iterator[tuple[str, str, Mapping[str, object]]]:
        """Yield pointer, name and properties of the fields of a list.

        The number of all fields and the depth are bounded.
        """
        if sum(map(pointer.count, ("/fields", "/item", "/variants", "/types", "/blocks"))) > MAX_DEPTH:
            self.report(pointer, "The fields are nested too deeply")
            return
        names: set[str] = set()
        for inner, properties in self.mappings(value, pointer, MAX_FIELDS):
            if not self.take_field(inner):
                return
            name = self.text(properties, "name", inner)
            if not name:
                self.report(f"{inner}/name", "A field needs a name")
            elif name in names:
                self.report(f"{inner}/name", f"The field “{name}” occurs twice")
            else:
                names.add(name)
                yield inner, name, properties

    def take_field(self, pointer: str) -> bool:
        """Count a field. Return False if the limit is reached."""
        self._remaining_fields -= 1
        if self._remaining_fields < 0:
            self.report(pointer, f"Only the first {MAX_FIELDS} fields are read")
        return self._remaining_fields >= 0

    def text(self, properties: Mapping[str, object], name: str, pointer: str, *, limit: int = MAX_TEXT) -> str | None:
        """Return a short text, or None. Anything else is a problem."""
        value = properties.get(name)
        if value is None or (isinstance(value, str) and len(value) <= limit):
            return value.strip() or None if value is not None else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self.report(f"{pointer}/{name}", f"This must be a text of at most {limit} characters")
        return None

    def number(self, properties: Mapping[str, object], name: str, pointer: str) -> float | None:
        """Return a number, or None. Anything else is a problem."""
        value = properties.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_NUMBER:
            return value
        if value is not None:
            self.report(f"{pointer}/{name}", "This must be a number")
        return None

    def pattern(self, value: object, pointer: str) -> str | None:
        """Return a regular expression, or None. An invalid or unsupported one is a problem."""
        if value is None:
            return None
        if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
            self.report(pointer, f"A pattern must be a text of at most {MAX_TEXT} characters")
            return None
        if self._remaining_size < 0:
            self.report(pointer, "The pattern is not compared with values: the file has too many patterns")
            return None
        try:
            self._remaining_size -= max(len(value) + text_pattern(value).size, MIN_PATTERN_SIZE)
        except UnsupportedPattern as error:
            self._remaining_size -= REFUSED_PATTERN_SIZE
            self.report(pointer, f"The pattern is not compared with values: {error}")
            return None
        return value

    def relation(
        self, properties: Mapping[str, object], name: str, pointer: str, *, file: str | None = None
    ) -> str | None:
        """Return the collection of a relation. `read_collections` reports those that do not exist."""
        collection = self.text(properties, name, pointer)
        if collection is None:
            self.report(f"{pointer}/{name}", "A relation needs a collection")
        elif file is not None:
            collection = f"{collection}.{file}"
        if collection is not None:
            self._relations.append((collection, f"{pointer}/{name}"))
        return collection

    def read_collections(self, collections: Iterator[Collection], pointer: str) -> tuple[Collection, ...]:
        """Return the first collections. Further ones, and relations to collections that do not exist, are problems."""
        first = tuple(itertools.islice(collections, MAX_COLLECTIONS))
        if next(collections, None) is not None:
            self.report(pointer, f"Only the first {MAX_COLLECTIONS} collections are read")
        self._check_relations(first)
        return first

    def _check_relations(self, collections: Iterable[Collection]) -> None:
        names = {collection.name for collection in collections}
        for collection, pointer in self._relations:
            if collection not in names:
                self.report(pointer, f"There is no collection “{collection}”")

    def flag(self, properties: Mapping[str, object], name: str, pointer: str, *, default: bool) -> bool:
        """Return a boolean. Anything else is a problem, and the default."""
        value = properties.get(name, default)
        if isinstance(value, bool):
            return value
        if value is not None:
            self.report(f"{pointer}/{name}", "This must be true or false")
        return default

    def folder_of(self, properties: Mapping[str, object], name: str, pointer: str) -> str | None:
        """Return the folder that a property names, or None. An empty text is the root, and a missing one a problem."""
        value = "" if properties.get(name) == "" else self.text(properties, name, pointer)
        return self.folder(value, f"{pointer}/{name}")

    def folder(self, value: str | None, pointer: str) -> str | None:
        """Return a folder of the repository; the root is an empty text. Anything else is a problem, and None."""
        if value is None:
            self.report(pointer, "A folder is required")
            return None
        folder = value.strip().strip("/").removeprefix("./").strip("/")
        if folder in ("", "."):
            return ""
        if _UNSAFE.search(folder) or not {"", ".", ".."}.isdisjoint(folder.split("/")) or len(folder) > MAX_TEXT:
            self.report(pointer, "This is not a folder of the repository")
            return None
        return folder

    def _parse(self, data: bytes) -> Mapping[str, object]:
        if len(data) > MAX_BYTES:
            self.report("", f"The file is larger than {MAX_BYTES // 1024} KiB")
            return {}
        text, _ = decode(data)
        if text is None:
            self.report("", "The file is not a text")
            return {}
        try:
            value = _read(self.path, text)
        except (ValueError, RecursionError) as error:
            self.report("", f"The file cannot be read: {str(error)[:200]}")
            return {}
        if not isinstance(value, Mapping):
            self.report("", "The file must contain a mapping")
            return {}
        return value


def _read(path: str, text: str) -> object:
    if path.endswith(".toml"):
        return plain(read_toml(text), ValueBudget())
    return _read_json(text) if path.endswith(".json") else read_yaml(text)


def _read_json(text: str) -> object:
    """Return the value of JSON with comments and trailing commas."""
    bare = _JSONC.sub(lambda match: match[0] if match[0].startswith('"') else " ", text)
    return plain(json.loads(_TRAILING_COMMA.sub(lambda match: match[1] or "", bare), parse_constant=str), ValueBudget())
