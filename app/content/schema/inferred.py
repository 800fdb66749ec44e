"""Collections and fields from the paths and the counted values of existing files."""

import re
from collections import Counter
from collections.abc import Collection as Values
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from app.content.field_values import ITEM, SEPARATOR, ValueKind
from app.content.schema.model import MAX_DEPTH, Collection, EntryTemplate, FieldType, SchemaField

REQUIRED_SHARE = 0.95
DATE_SHARE = 0.8
"""The share of dates among the values of a field that is a date. The other values are texts."""

MAX_OPTIONS, MIN_OPTION_FILES = 12, 20
MAX_COLLECTIONS, MAX_FIELDS = 120, 100
"""Enough for three folders in each of 40 languages."""

ROOTS = ("src/content", "site/content", "content", "src/pages", "pages", "source", "src", "docs", "site")
"""Folders whose sub-folders are collections. A collection of another folder is the first folder of its path."""

IGNORED = frozenset(
    (
        "archetypes",
        "layouts",
        "themes",
        "node_modules",
        "vendor",
        "public",
        "static",
        "assets",
        "templates",
        "_layouts",
        "_includes",
        "_site",
        "_sass",
        "test",
        "tests",
        "examples",
        "resources",
    )
)
_CONTENT = "/src/content/"
_NOT_SITES = frozenset(("__tests__", "test", "tests", "fixtures", "examples", "node_modules", "vendor", "templates"))
"""Folders above the content of a site that is no part of the project's own site."""

LANGUAGE = re.compile(r"[a-z]{2}(?:-[a-zA-Z]{2,4})?")
_DATED = re.compile(r"\d{4}-\d\d-\d\d-")
_DATED_FOLDER = re.compile(r"(?:19|20)\d\d(/(?:0[1-9]|1[0-2]))?")
_TEXTS = frozenset((ValueKind.STRING, ValueKind.TEXT, ValueKind.IMAGE))
_DATE_KINDS = frozenset((ValueKind.DATE, ValueKind.DATETIME))
_DATES = (FieldType.DATE, FieldType.DATETIME)
_TYPES = {
    ValueKind.BOOLEAN: FieldType.BOOLEAN,
    ValueKind.NUMBER: FieldType.NUMBER,
    ValueKind.DATE: FieldType.DATE,
    ValueKind.DATETIME: FieldType.DATETIME,
    ValueKind.STRING: FieldType.STRING,
    ValueKind.TEXT: FieldType.TEXT,
    ValueKind.IMAGE: FieldType.STRING,
    ValueKind.LIST: FieldType.LIST,
    ValueKind.OBJECT: FieldType.OBJECT,
}


@dataclass
class FolderFiles:
    """The files of one collection: their number, endings, kinds of names, and the folders that contain the entries."""

    folder: str
    files: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    dated: int = 0
    bundles: int = 0
    own_names: int = 0
    parents: Counter[str] = field(default_factory=Counter)

    def add(self, path: str) -> None:
        """Count a file."""
        folder, _slash, name = path.rpartition("/")
        self.files += 1
        self.endings[name.rpartition(".")[2]] += 1
        own = folder[len(self.folder) :].rpartition("/")[2]
        is_own = own != "" and name.startswith(f"{own}.")
        is_bundle = is_own or name.startswith("index.")
        entry = own if is_bundle else name
        self.dated += _DATED.match(entry) is not None
        self.bundles += is_bundle
        self.own_names += is_own
        if not name.startswith("_"):
            parent = (folder.rpartition("/")[0] if is_bundle else folder)[len(self.folder) :].strip("/")
            dated = _DATED_FOLDER.fullmatch(parent)
            self.parents["{{year}}/{{month}}" if dated and dated[1] else "{{year}}" if dated else parent] += 1

    @property
    def parent(self) -> str:
        """The folder below that of the collection, or its template with the date, that contains most entries."""
        return max(self.parents, key=self.parents.__getitem__, default="")


@dataclass(frozen=True)
class FieldCounts:
    """For each name the number of values of each kind, and the options of names with few different values."""

    kinds: Mapping[str, Mapping[ValueKind, int]]
    options: Mapping[str, Sequence[str]]

    @cached_property
    def names_by_parent(self) -> Mapping[str, Sequence[str]]:
        """The names of the fields of each object or item. The fields of an entry have the parent `""`."""
        names: dict[str, list[str]] = {}
        for name in self.kinds:
            names.setdefault(_parent_of(name, self), []).append(name)
        return names


def collection_from(files: FolderFiles, counts: FieldCounts) -> Collection:
    """Return the collection of a folder."""
    endings = sorted(ending for ending, _ in files.endings.most_common(4))
    ending = endings[0] if len(endings) == 1 else "{" + ",".join(endings) + "}"
    usual = files.endings.most_common(1)[0][0]
    slug = "{{year}}-{{month}}-{{day}}-{{slug}}" if files.dated * 2 > files.files else "{{slug}}"
    own = slug if files.own_names * 2 > files.files else "index"
    name = f"{slug}/{own}.{usual}" if files.bundles * 2 > files.files else f"{slug}.{usual}"
    parent = files.parent if files.parents[files.parent] * 5 > sum(files.parents.values()) * 4 else ""
    return Collection(
        name=files.folder.strip("_").replace("/", "-") or "pages",
        label=label_of(files.folder.rpartition("/")[2]) or "Pages",
        folder=files.folder,
        pattern=f"**/*.{ending}" if files.folder else f"*.{ending}",
        fields=_fields(counts, "", files.files, 0),
        template=EntryTemplate(f"{parent}/{name}" if parent else name),
    )


def folder_of(folder: str, known: Values[str] = ()) -> str | None:
    """Return the folder of the collection of a folder's files, or None if they are not content.

    Files below a folder of `known` belong to its collection.
    """
    own = folder
    while own and known:
        if own in known:
            return own
        own = own.rpartition("/")[0]
    parts = folder.split("/") if folder else []
    if any(part.startswith(".") for part in parts) or (parts and parts[0] in IGNORED):
        return None
    above, nested, _ = f"{folder}/".partition(_CONTENT)
    if nested and not _NOT_SITES.isdisjoint(above.split("/")):
        return None
    roots = (f"{above}{_CONTENT[:-1]}", *ROOTS) if nested else ROOTS
    root = next((root for root in roots if folder == root or folder.startswith(f"{root}/")), "")
    if not root and parts and parts[0].partition(".")[0] in ROOTS and LANGUAGE.fullmatch(parts[0].partition(".")[2]):
        root = parts[0]
    depth = root.count("/") + 1 if root else 0
    if root and len(parts) > depth and LANGUAGE.fullmatch(parts[depth]):
        depth += 1
    return "/".join(parts[: depth + 1])


def _fields(counts: FieldCounts, parent: str, files: int, depth: int) -> tuple[SchemaField, ...]:
    """Return the fields of an object, the most frequent first. `files` is the number of the objects."""
    if depth > MAX_DEPTH:
        return ()
    item = f"{parent}{SEPARATOR}{ITEM}" if parent else None
    names = [name for name in counts.names_by_parent.get(parent, ()) if name != item]
    names.sort(key=lambda name: (-sum(counts.kinds[name].values()), name))
    start = len(parent) + 1 if parent else 0
    return tuple(_field(counts, name, name[start:], files, depth) for name in names[:MAX_FIELDS])


def _field(counts: FieldCounts, name: str, own: str, files: int, depth: int) -> SchemaField:
    kinds, number = counts.kinds[name], sum(counts.kinds[name].values())
    kind = type_of(kinds)
    is_mixed = kind is FieldType.MIXED or (kind in _DATES and not _DATE_KINDS.issuperset(kinds))
    options = tuple(counts.options.get(name, ())) if kind is FieldType.STRING else ()
    item = f"{name}{SEPARATOR}{ITEM}"
    return SchemaField(
        name=own,
        type=FieldType.SELECT if options else kind,
        label=label_of(own) or None,
        required=bool(own) and number >= REQUIRED_SHARE * files,
        options=options,
        fields=_fields(counts, name, number, depth + 1) if kind is FieldType.OBJECT else (),
        item=_field(counts, item, "", 0, depth + 1) if kind is FieldType.LIST and item in counts.kinds else None,
        types=tuple(sorted({_TYPES[entry] for entry in kinds})) if is_mixed else (),
    )


def type_of(kinds: Mapping[ValueKind, int]) -> FieldType:
    """Return the type of values of these kinds with their numbers.

    Texts of several kinds have one type. Dates with few texts are dates, with the more frequent of both notations.
    Anything else is mixed.
    """
    present = {kind for kind, number in kinds.items() if number}
    dates = {kind: kinds.get(kind, 0) for kind in _DATE_KINDS}
    is_date = present <= _DATE_KINDS | _TEXTS and sum(dates.values()) >= DATE_SHARE * sum(kinds.values())
    if is_date and any(dates.values()):
        return _TYPES[max(sorted(dates), key=lambda kind: dates[kind])]
    if present <= _TEXTS:
        if present == {ValueKind.IMAGE}:
            return FieldType.IMAGE
        return FieldType.TEXT if ValueKind.TEXT in present else FieldType.STRING
    return _TYPES[present.pop()] if len(present) == 1 else FieldType.MIXED


def _parent_of(name: str, counts: FieldCounts) -> str:
    """Return the object or item that has a field. A dot may also be a part of a name."""
    parent = name
    while SEPARATOR in parent:
        parent = parent.rpartition(SEPARATOR)[0]
        if parent in counts.kinds:
            return parent
    return ""


def label_of(name: str) -> str:
    """Return the name of a folder or field as a label."""
    return re.sub(r"[-_\s]+", " ", name).strip().capitalize()
