"""The rules of a site: values of several entries, and values that code, configuration and file names contain."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.content.data_text import is_data, read_data
from app.content.filetypes import file_type
from app.content.front_matter.reader import read_values, split_front_matter
from app.content.marks.paths import MAX_BYTES, is_content
from app.content.marks.rules import MarkRules
from app.content.schema.model import ContentSchema
from app.content.text import decode

MAX_LITERAL, MAX_LITERALS, MAX_VALUES = 200, 500_000, 500_000
"""The characters of a literal of code, and the different literals and values that are compared."""

MAX_EQUAL_VALUES, MAX_EQUAL_ITEMS = 2, 1
"""Values of more entries are choices, and items of lists of more entries are tags."""


def mark_rules(
    schema: ContentSchema | None,
    files: Iterable[tuple[str, bytes]],
    *,
    unmarked: frozenset[tuple[str, str]] = frozenset(),
    reads_markdown_as_mdx: bool = False,
) -> MarkRules:
    """Return the rules of a site from its schema and its files: content, templates, scripts and configuration.

    Files above `MAX_BYTES` are ignored.
    """
    uses = _Uses()
    for path, data in files:
        uses.read(path, data)
    return MarkRules(schema, uses.excluded(), unmarked, reads_markdown_as_mdx, frozenset(uses.limits))


_LIMIT = re.compile(r"(?:(?<!Math)\.max\(|\bmax_?length[\"']?\s*+[:=(])\s*+(\d{1,4})\b", re.IGNORECASE)
"""A limit of the characters of values, for example in the schema of a content collection of Astro."""


@dataclass
class _Uses:
    """The values of the content with the number of their entries, and the literals of the other files."""

    values: Counter[str] = field(default_factory=Counter)
    items: Counter[str] = field(default_factory=Counter)
    literals: set[str] = field(default_factory=set)
    limits: set[int] = field(default_factory=set)
    names: dict[str, set[str]] = field(default_factory=dict)
    references: set[str] = field(default_factory=set)

    def read(self, path: str, data: bytes) -> None:
        """Count the values of a file, or add its literals."""
        name = path.rpartition("/")[2]
        self._add(path, name, name.partition(".")[0])
        text = decode(data)[0] if len(data) <= MAX_BYTES else None
        if text is None:
            return
        if is_content(path):
            values = read_data(path, data, has_notation=False) if is_data(path) else split_front_matter(text).values
            self._count(values)
            return
        self.limits.update(map(int, _LIMIT.findall(text)))
        if is_data(path):
            self._add(*_texts(read_values(file_type(path).language or "", text)[0]))
            self._add_quoted(text)
        else:
            self._add_quoted(text)

    def excluded(self) -> frozenset[str]:
        """Return the values that are not prose."""
        repeated = {value for value, count in self.values.items() if count > MAX_EQUAL_VALUES}
        repeated |= {value for value, count in self.items.items() if count > MAX_EQUAL_ITEMS}
        return frozenset(repeated | self.references | {value for value in self.values if value in self.literals})

    def _count(self, values: object) -> None:
        """Count each value of an entry once."""
        if not isinstance(values, dict) or len(self.values) > MAX_VALUES:
            return
        self.values.update({value.strip() for value in _texts(values, with_keys=False)})
        self.items.update({value.strip() for value in _items(values)})
        self._add_references(values)

    def _add_references(self, values: dict[str, object]) -> None:
        """Add the values that other entries have with another name, for example the title of a parent."""
        names: dict[str, set[str]] = {}
        for name, value in values.items():
            if isinstance(value, str):
                names.setdefault(value.strip(), set()).add(name)
        for value, own in names.items():
            known = self.names.setdefault(value, own)
            if known.isdisjoint(own):
                self.references.add(value)

    def _add_quoted(self, text: str) -> None:
        for quote in "\"'`":
            self._add(*(part for part in text.split(quote) if len(part) <= MAX_LITERAL and "\n" not in part))

    def _add(self, *literals: str) -> None:
        if len(self.literals) <= MAX_LITERALS:
            self.literals.update(literals)


def _texts(value: object, *, with_keys: bool = True) -> Iterator[str]:
    """Yield the texts of a value, and its keys. Its depth is limited by the reader."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if with_keys:
                yield key
            yield from _texts(inner, with_keys=with_keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, with_keys=with_keys)


def _items(value: object) -> Iterator[str]:
    """Yield the texts that are items of a list."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _items(inner)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, str):
                yield inner
            else:
                yield from _items(inner)
