"""Collections as an editor sees them: one for all its languages, with a label that no other collection has.

The languages of a collection are detected from folders around it (`content/de/posts`), folders in it (`docs/de`), the
endings of file names (`page.de.md`), or fields that contain an entry in each language. Collections can also be related
to the one with their originals.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from babel import Locale

from app.content.schema.inferred import ROOTS, label_of
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField
from app.content.schema.new_entry import is_single
from app.content.schema.path_sets import PathSet, alternatives, endings_of, path_set, with_language
from app.content.schema.patterns import matches

MAX_LANGUAGES, MAX_LABEL_PARTS, MAX_FOLDERS = 60, 4, 200
NEARLY_ALL = 0.9
TOP_LEVEL = "top level"
"""The part of a label that distinguishes the files outside of all folders."""

_CODE = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{2}|[a-z]{4}|\d{3}))?", re.IGNORECASE)
_FIRST_NAMES = ("posts", "blog", "news", "articles", "docs", "documentation", "guides", "pages")
"""Usual names of folders with content. In the order of inferred collections they precede others."""

_ANY_NAME = re.compile(r"(?:\*\*/)?\*\.[^*{}/]+")
_NOT_LANGUAGES = frozenset(("io", "ts"))
"""Codes of languages that are more often names of folders or of file types."""

DATA_ENDINGS = ("json", "toml", "yaml", "yml")


@dataclass(frozen=True)
class FolderCount:
    """The number of files of a folder (empty: the root) with one ending, and one language before the ending.

    `index_pages` of the files have the name `index`, or that of the folder if the generator omits it.
    """

    folder: str
    language: str
    ending: str
    files: int
    index_pages: int = 0


@dataclass(frozen=True)
class CollectionLanguage:
    """The files of a collection in one language. An empty language is the one without a mark.

    `suffix` is the mark of the language before the ending of file names, and `suffixes` are the marks of the others.
    `field` is the name of the field that contains the entry of a file with all languages. `folders` contain the
    entries, the folder of the collection first.
    """

    language: str
    collection: Collection
    paths: PathSet
    suffix: str = ""
    suffixes: tuple[str, ...] = ()
    field: str = ""
    files: int = 0
    folders: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[SchemaField, ...]:
        """The fields of an entry in the language."""
        own = self.collection.fields
        return next((field.fields for field in own if field.name == self.field), own) if self.field else own

    @property
    def has_all_endings(self) -> bool:
        """Return whether each file of the folder with one of the endings belongs to the collection."""
        collection, patterns = self.collection, alternatives(self.collection.pattern)
        return not collection.exclude and collection.filter is None and all(map(_ANY_NAME.fullmatch, patterns))

    def name_of(self, path: str) -> str | None:
        """Return the path below the folder without the language, which is equal in all languages, or None."""
        prefix = f"{self.paths.folder}/" if self.paths.folder else ""
        if not path.startswith(prefix) or any(path.startswith(f"{folder}/") for folder in self.paths.without):
            return None
        name = path[len(prefix) :]
        stem, _, ending = name.rpartition(".")
        if self.suffix:
            if not stem.endswith(f".{self.suffix}"):
                return None
            name = f"{stem.removesuffix(f'.{self.suffix}')}.{ending}"
        elif stem.rpartition(".")[2] in self.suffixes and "." in stem:
            return None
        return name if matches(self.collection, f"{self.collection.folder}/{name}".lstrip("/")) else None

    def path_of(self, name: str) -> str:
        """Return the path of an entry in this language. `name` is the result of `name_of` in another language."""
        return f"{self.paths.folder}/{with_language(name, self.suffix)}".lstrip("/")


@dataclass(frozen=True)
class CollectionGroup:
    """A collection in all its languages, that of the originals or the one with most entries first."""

    name: str
    label: str
    languages: tuple[CollectionLanguage, ...]

    @property
    def files(self) -> int:
        """The number of entries of the first language."""
        return self.languages[0].files

    @property
    def main(self) -> CollectionLanguage:
        """The first language."""
        return self.languages[0]

    def in_language(self, language: str | None) -> CollectionLanguage:
        """Return the files of a language, by default of the first one."""
        return next((candidate for candidate in self.languages if candidate.language == language), self.main)


def group_of(groups: Iterable[CollectionGroup], path: str) -> tuple[CollectionGroup, CollectionLanguage, str] | None:
    """Return collection, language and name of an entry: those with the longest folder."""
    candidates = [
        (group, language, name)
        for group in groups
        for language in group.languages
        if (name := language.name_of(path)) is not None
    ]
    return max(
        candidates, key=lambda candidate: (len(candidate[1].paths.folder), bool(candidate[1].suffix)), default=None
    )


def language_code(text: str) -> str | None:
    """Return a folder or suffix in the spelling of the repository if it is the code of a language."""
    match = _CODE.fullmatch(text)
    if match is None or match[1].lower() in _NOT_LANGUAGES or match[1].lower() not in _languages():
        return None
    return text


@cache
def _languages() -> frozenset[str]:
    return frozenset(code for code in map(str, Locale("en").languages) if len(code) == 2)


def collection_groups(schema: ContentSchema, counts: Sequence[FolderCount]) -> tuple[CollectionGroup, ...]:
    """Return the collections of a schema with their languages and numbers of files.

    They have the order of the schema. Those of an inferred schema have no order: usual names precede others, which are
    ordered by label and folder, and files outside of all folders are the last. The numbers of files have no influence.
    """
    firsts: dict[object, Collection] = {}
    for collection in schema.collections:
        if not is_single(collection):
            firsts.setdefault((collection.folder, collection.pattern, collection.filter), collection)
    collections = list(firsts.values())
    index = _Counts(counts)
    groups = list(_groups(collections, index, is_declared=schema.is_declared))
    counted = [_with_counts(group, index) for group in _without_others(groups)]
    return tuple(_labelled(counted if schema.is_declared else sorted(counted, key=_rank)))


def _rank(group: CollectionGroup) -> tuple[int, str, str]:
    """Return the key by which inferred collections are sorted."""
    folder, label = _folder_name(group), _folder_labels(group)[-1].casefold()
    first = _FIRST_NAMES.index(label) if label in _FIRST_NAMES else len(_FIRST_NAMES)
    is_top = not folder and len(group.languages) < 2
    return len(_FIRST_NAMES) + 1 if is_top else first, label, folder


class _Counts:
    """The numbers of files by folder, with those of all folders below."""

    def __init__(self, counts: Iterable[FolderCount]) -> None:
        self.direct: dict[str, list[FolderCount]] = defaultdict(list)
        self.below: dict[str, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
        self.children: dict[str, set[str]] = defaultdict(set)
        for count in counts:
            self.direct[count.folder].append(count)
            parts = count.folder.split("/") if count.folder else []
            for depth in range(len(parts) + 1):
                folder = "/".join(parts[:depth])
                self.below[folder][count.language, count.ending] += count.files
                if depth:
                    self.children["/".join(parts[: depth - 1])].add(parts[depth - 1])
        self._sorted = sorted(self.direct)

    def folders_below(self, folder: str) -> Sequence[str]:
        """Return the folders with files below a folder."""
        start = bisect_left(self._sorted, f"{folder}/" if folder else "")
        return self._sorted[start : bisect_left(self._sorted, f"{folder}0") if folder else None]

    def files(self, folder: str, endings: Iterable[str], language: str | None, *, is_recursive: bool) -> int:
        """Return the number of files with one of some endings in a language, or in all of them."""
        own: Iterable[tuple[tuple[str, str], int]] = self.below.get(folder, {}).items()
        if not is_recursive:
            own = (((count.language, count.ending), count.files) for count in self.direct.get(folder, ()))
        return sum(files for (mark, ending), files in own if ending in endings and language in (None, mark))


def _groups(collections: Sequence[Collection], counts: _Counts, *, is_declared: bool) -> Iterator[CollectionGroup]:
    """Yield the collections with their languages. An inferred label is derived again from the folder."""
    around = _languages_around(collections)
    joined = {id(member) for members in around.values() for _, member in members}
    firsts = {id(members[0][1]): (folder, members) for (folder, _), members in around.items()}
    for collection in collections:
        label = collection.label or "" if is_declared else ""
        if id(collection) in firsts:
            folder, members = firsts[id(collection)]
            languages = [CollectionLanguage(code, member, path_set(member)) for code, member in members]
            name = collection.name if is_declared else folder.strip("_") or "content"
            yield CollectionGroup(name, label, tuple(languages))
        elif id(collection) not in joined:
            yield CollectionGroup(collection.name, label, tuple(_languages_in(collection, counts)))


def _languages_around(
    collections: Sequence[Collection],
) -> dict[tuple[str, str], list[tuple[str, Collection]]]:
    """Return the languages of the collections of translations, and of those whose folders differ in a language only.

    The keys are the folder of the originals or the folder without the language, and the endings.
    """
    members: dict[tuple[str, str], list[tuple[str, Collection]]] = defaultdict(list)
    for item in collections:
        if item.translation_of is not None:
            members[item.translation_of, _kind(item)].append((item.language, item))
            continue
        parts = item.folder.split("/")
        number = next((n for n, part in enumerate(parts) if _language_of(part)), None)
        if number is not None:
            members[_neutral(parts, number), _kind(item)].append((_language_of(parts[number]), item))
    unmarked = {(collection.folder, _kind(collection)): collection for collection in reversed(collections)}
    groups = {}
    for key, own in members.items():
        plain = unmarked.get(key)
        if plain is not None and key[0]:
            own.insert(0, (plain.language, plain))
        if len(own) > 1 and len({code for code, _ in own}) == len(own):
            groups[key] = own[:MAX_LANGUAGES]
    return groups


def _language_of(part: str) -> str:
    """Return the language of a folder, which is its name or the ending of a root of content: `de`, `content.de`."""
    root, _, ending = part.rpartition(".")
    code = ending if not root or root in ROOTS else part
    return language_code(code) or ""


def _neutral(parts: Sequence[str], number: int) -> str:
    """Return a folder without the language in one of its parts."""
    return "/".join([*parts[:number], *filter(None, [parts[number].rpartition(".")[0]]), *parts[number + 1 :]])


def _without_languages(folder: str) -> str:
    for number in range(folder.count("/"), -1, -1):
        parts = folder.split("/")
        folder = _neutral(parts, number) if _language_of(parts[number]) else folder
    return folder


def _kind(collection: Collection) -> str:
    is_data = not endings_of(collection).isdisjoint(DATA_ENDINGS)
    return "data" if is_data else "pages"


def _languages_in(collection: Collection, counts: _Counts) -> Iterator[CollectionLanguage]:
    """Yield the languages of a collection whose files or fields have them."""
    fields = [field.name for field in collection.fields if field.type is FieldType.OBJECT and language_code(field.name)]
    if len(fields) > 1 and len(fields) == len(collection.fields):
        yield from (CollectionLanguage(name, collection, path_set(collection), field=name) for name in fields)
        return
    endings, is_recursive = endings_of(collection), "**" in collection.pattern
    main = next(iter(collection.locales), "")
    subfolders = sorted(_language_folders(collection, counts, endings)) if is_recursive else []
    if subfolders:
        folder = f"{collection.folder}/" if collection.folder else ""
        without = tuple(f"{folder}{name}" for name in subfolders)
        name = "" if main in subfolders else main
        yield CollectionLanguage(name, collection, replace(path_set(collection), without=without))
        for name in subfolders:
            yield CollectionLanguage(name, collection, path_set(collection, subfolder=name))
        return
    own = counts.below.get(collection.folder, {}) if is_recursive else {}
    marks = (
        own if is_recursive else {(count.language, count.ending) for count in counts.direct.get(collection.folder, ())}
    )
    suffixes = sorted({mark for mark, ending in marks if ending in endings and _is_language(collection, mark)})
    suffixes = suffixes[:MAX_LANGUAGES]
    paths = path_set(collection)
    unlike = tuple(pattern for name in suffixes for pattern in path_set(collection, language=name).patterns)
    name = "" if main in suffixes or not suffixes else main
    unmarked = replace(paths, unlike=(*paths.unlike, *unlike))
    yield CollectionLanguage(name, collection, unmarked, suffixes=tuple(suffixes))
    for name in suffixes:
        yield CollectionLanguage(name, collection, path_set(collection, language=name), suffix=name)


def _is_language(collection: Collection, mark: str) -> bool:
    """Return whether a mark is a declared locale, or without these the code of a language."""
    return mark in collection.locales if collection.locales else language_code(mark) is not None


def _language_folders(collection: Collection, counts: _Counts, endings: frozenset[str]) -> list[str]:
    """Return the folders of languages below a collection: several, or one that has the folders of the others."""
    below = f"{collection.folder}/" if collection.folder else ""
    children = counts.children.get(collection.folder, set())
    names = [
        name
        for name in children
        if _is_language(collection, name) and counts.files(below + name, endings, None, is_recursive=True)
    ]
    if len(names) == 1 and not collection.locales:
        own, others = counts.children.get(below + names[0], set()), children - set(names)
        return names if own and own & others and len(own & others) * 2 >= len(own) else []
    return names[:MAX_LANGUAGES]


def _without_others(groups: Sequence[CollectionGroup]) -> Iterator[CollectionGroup]:
    """Yield the groups. The files of a collection in a folder below another one belong to it only."""
    folders: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        for item in group.languages:
            folders[_kind(item.collection)].add(item.paths.folder)
    ordered = {kind: sorted(own) for kind, own in folders.items()}
    for group in groups:
        languages = [_without(language, ordered[_kind(language.collection)]) for language in group.languages]
        yield replace(group, languages=tuple(languages))


def _without(language: CollectionLanguage, folders: Sequence[str]) -> CollectionLanguage:
    """Return the files of a language without those in the folders below its own. `folders` are sorted."""
    paths = language.paths
    if paths.slashes is not None:
        return language
    first = bisect_right(folders, f"{paths.folder}/" if paths.folder else "")
    # The character after the slash is 0.
    end = bisect_left(folders, f"{paths.folder}0") if paths.folder else len(folders)
    outermost = dict.fromkeys(paths.without)
    for name in folders[first:end]:
        if outermost.keys().isdisjoint(_with_parents(name)):
            outermost[name] = None
    return replace(language, paths=replace(paths, without=tuple(outermost)))


def _with_parents(folder: str) -> Iterator[str]:
    """Yield a folder and the folders above it."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _with_counts(group: CollectionGroup, counts: _Counts) -> CollectionGroup:
    """Return a group with the numbers of its files. Originals, or else the language with most files, are the first.

    Files without a language, or in English, are the first if they are nearly as many: translations of a site often have
    the same number of files as their source. Languages without files remain if the site declares them.
    """
    languages = [
        replace(language, files=_files(language, counts), folders=tuple(_folders(language, counts)))
        for language in group.languages
    ]
    translated = {language.language for language in languages if language.collection.translation_of is not None}
    present = [
        language for language in languages if language.files or language.field or language.language in translated
    ]
    most = max((language.files for language in present), default=0)
    likely = {
        language.language
        for language in present
        if language.language in ("", "en") and language.files >= NEARLY_ALL * most
    }
    present.sort(
        key=lambda language: (
            language.language in translated,
            language.language not in likely,
            -language.files,
            language.language,
        )
    )
    return replace(group, languages=tuple(present or languages[:1]))


def _files(language: CollectionLanguage, counts: _Counts) -> int:
    endings, paths = endings_of(language.collection), language.paths
    mark = language.suffix if language.suffix or language.suffixes else None
    files = counts.files(paths.folder, endings, mark, is_recursive=paths.slashes is None)
    return files - sum(counts.files(folder, endings, mark, is_recursive=True) for folder in paths.without)


def _folders(language: CollectionLanguage, counts: _Counts) -> Iterator[str]:
    """Yield the folders that contain entries, at most 200. A folder that is an entry has its page alone."""
    paths, endings, below = language.paths, endings_of(language.collection), set[str]()
    yield paths.folder
    for folder in counts.folders_below(paths.folder) if paths.slashes is None else ():
        if not any(f"{folder}/".startswith(f"{other}/") for other in paths.without):
            own = [count for count in counts.direct[folder] if count.ending in endings]
            if any(count.files > count.index_pages for count in own):
                below.add(folder)
            elif own:
                below.add(folder.rpartition("/")[0])
    yield from sorted(below - {paths.folder, ""})[: MAX_FOLDERS - 1]


def _labelled(groups: Sequence[CollectionGroup]) -> Iterator[CollectionGroup]:
    """Yield the groups with different names and labels.

    Equal labels get the names of the folders above them, then the folder in parentheses.
    """
    labels = [[group.label] if group.label else [] for group in groups]
    parents = [_folder_labels(group) for group in groups]
    for own, above in zip(labels, parents, strict=True):
        if not own:
            own.append(above.pop())
        elif above[-1].casefold() == own[0].casefold():
            above.pop()
    for _ in range(MAX_LABEL_PARTS):
        repeated = Counter(" / ".join(own).casefold() for own in labels)
        for own, above in zip(labels, parents, strict=True):
            if repeated[" / ".join(own).casefold()] > 1 and above:
                own.insert(0, above.pop())
    texts = [" / ".join(own) for own in labels]
    repeated = Counter(text.casefold() for text in texts)
    names, used = Counter[str](), Counter[str]()
    for group, text in zip(groups, texts, strict=True):
        folder = _folder_name(group) if repeated[text.casefold()] > 1 else ""
        folder = folder or (TOP_LEVEL if used[text.casefold()] else "")
        name = unique(names, group.name.replace("/", "-"), "-")
        yield replace(group, name=name, label=unique(used, f"{text} ({folder})" if folder else text, " "))


def unique(numbers: Counter[str], text: str, separator: str) -> str:
    """Return a text with a number, unless it is the first of its kind."""
    numbers[text.casefold()] += 1
    number = numbers[text.casefold()]
    return text if number == 1 else f"{text}{separator}{number}"


def _folder_name(group: CollectionGroup) -> str:
    """Return the folder of a group without the language, empty if each language has a folder at the root."""
    folders = {_original_folder(language) for language in group.languages}
    if len(folders) == 1:
        return folders.pop()
    return _without_languages(min(folders, key=len))


def _original_folder(language: CollectionLanguage) -> str:
    own = language.collection
    return own.folder if own.translation_of is None else own.translation_of


def _folder_labels(group: CollectionGroup) -> list[str]:
    """Return the names of the folders of a group as words, without the language."""
    folders = {_original_folder(language) for language in group.languages}
    folder = min(folders, key=len)
    parts = (_without_languages(folder) if len(folders) > 1 else folder).split("/")
    if "/".join(parts) in ("", *ROOTS) and parts[-1] != "docs":
        return ["Pages"]
    return [label for part in parts if (label := label_of(part))] or ["Pages"]
