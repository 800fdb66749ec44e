"""Translated content of Docusaurus: the folders of originals and translations, from the text of the configuration.

The configuration is a program. It is not run: only values that are written as texts are read.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.content.schema.model import MAX_LOCALES, Collection

CONFIG_FILES = tuple(f"docusaurus.config.{ending}" for ending in ("js", "ts", "mjs", "cjs", "mts", "cts"))
MAX_SITES, MAX_DEPTH = 20, 2
_FOLDERS = frozenset(("blog", "docs", "i18n", "src", "static", "versioned_docs"))
"""Folders of a site. The folder above them can have a configuration."""

_PLUGIN = "docusaurus-plugin-content-"
_ORIGINALS = {"docs": "docs", "blog": "blog", "pages": "src/pages"}
_TRANSLATION = re.compile(rf"i18n/([\w-]{{2,20}})/{_PLUGIN}((?:docs|blog|pages)(?:-[\w-]+)?)(?:/|$)", re.ASCII)
_TOKEN = re.compile(
    r"""//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?+|"(?:[^"\\\n]|\\.)*+"?+|'(?:[^'\\\n]|\\.)*+'?+|`(?:[^`\\]|\\.)*+`?+"""
    r"""|[\w$]++|[][{}:,]""",
    re.DOTALL,
)


@dataclass(frozen=True)
class TranslatedSite:
    """The languages of a site, and the folders of its content.

    `originals` are the folders of the default language by content plugin: `docs`, `blog-news`. All folders are
    relative to the repository. An empty default language is not known.
    """

    root: str
    default_language: str
    languages: tuple[str, ...]
    originals: Mapping[str, str]

    @property
    def translated(self) -> Iterator[tuple[str, str, str]]:
        """Yield each folder of originals with a language and the folder of its translations."""
        for language in self.languages:
            for plugin, folder in self.originals.items():
                own = posixpath.join(self.root, "i18n", language, f"{_PLUGIN}{plugin}")
                if not plugin.startswith("docs"):
                    yield folder, language, own
                    continue
                name = plugin.removeprefix("docs").lstrip("-")
                versions = posixpath.join(self.root, f"{name}_versioned_docs" if name else "versioned_docs")
                yield folder, language, f"{own}/current"
                yield versions, language, own


@dataclass
class _Object:
    """An open object or list of the configuration. `texts` are the items of a list."""

    bracket: str
    name: str = ""
    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


@dataclass
class _Config:
    """The values of a configuration that are written as texts."""

    default_language: str = ""
    languages: list[str] = field(default_factory=list)
    originals: dict[str, str] = field(default_factory=lambda: dict(_ORIGINALS))


def roots_of(folders: Iterable[str]) -> Sequence[str]:
    """Return the folders that can have a configuration, the outermost first. `folders` have files."""
    roots = set()
    for folder in folders:
        parts = folder.split("/")
        depth = next((n for n, part in enumerate(parts[: MAX_DEPTH + 1]) if part in _FOLDERS), None)
        if depth is not None:
            roots.add("/".join(parts[:depth]))
    return sorted(roots, key=lambda root: (root.count("/"), root))[:MAX_SITES]


def read_site(root: str, text: str, folders: Iterable[str]) -> TranslatedSite:
    """Return a site from the text of its configuration and the folders of the repository.

    A plugin whose path is not written as a text has the folder of its id.
    """
    config = _read_config(text)
    languages, originals = dict.fromkeys(config.languages), dict(config.originals)
    prefix = f"{root}/" if root else ""
    for folder in folders:
        match = _TRANSLATION.match(folder, len(prefix)) if folder.startswith(prefix) else None
        if match is not None:
            languages[match[1]] = None
            originals.setdefault(match[2], match[2].partition("-")[2])
    paths = {plugin: posixpath.normpath(posixpath.join(root, path)) for plugin, path in originals.items()}
    return TranslatedSite(
        root,
        config.default_language,
        tuple(sorted(language for language in languages if language != config.default_language))[:MAX_LOCALES],
        {plugin: path for plugin, path in paths.items() if not path.startswith((".", "/"))},
    )


def originals_by_folder(sites: Iterable[TranslatedSite]) -> dict[str, str]:
    """Return the folders of the content of translated sites with the folder of their originals."""
    folders = dict[str, str]()
    for site in sites:
        for original, _language, folder in site.translated:
            folders |= {original: original, folder: original}
    return folders


def with_translations(
    collections: Sequence[Collection], sites: Iterable[TranslatedSite], *, is_declared: bool
) -> tuple[Collection, ...]:
    """Return the collections with those of the translations, also of languages without files.

    A declared schema gets no more collections: those for folders of translations are related to the originals.
    """
    known = {collection.folder: number for number, collection in reversed(list(enumerate(collections)))}
    result = list(collections)
    for site in sites:
        for original, language, folder in site.translated:
            source = result[known[original]] if original in known else None
            if source is not None:
                result[known[original]] = source = replace(source, language=site.default_language)
            if folder in known:
                own = result[known[folder]]
                result[known[folder]] = replace(own, language=language, translation_of=original)
            elif source is not None and not is_declared:
                label = f"{source.label or source.name} ({language})"
                copy = replace(source, name=folder.replace("/", "-"), label=label, folder=folder)
                result.append(replace(copy, language=language, translation_of=original))
    return tuple(result)


def _read_config(text: str) -> _Config:
    config, opened = _Config(), [_Object("{")]
    key, is_value = "", False
    for match in _TOKEN.finditer(text):
        part, last = match[0], opened[-1]
        if part.startswith(("//", "/*")):
            continue
        if part in "{[":
            opened.append(_Object(part, key if is_value else ""))
            key, is_value = "", False
        elif part in "}]":
            if len(opened) > 1:
                _read_object(config, opened.pop(), opened[-1])
            key, is_value = "", False
        elif part == ":":
            is_value = bool(key)
        elif part == ",":
            key, is_value = "", False
        else:
            value = part.strip("\"'`")
            if part[0] in "\"'`" and is_value:
                last.values.setdefault(key, value)
            elif part[0] in "\"'`" and last.bracket == "[":
                last.texts.append(value)
            key, is_value = "" if is_value else value, False
    return config


def _read_object(config: _Config, own: _Object, parent: _Object) -> None:
    """Add the values of a closed object to the configuration."""
    if own.bracket == "[":
        parent.lists.setdefault(own.name, own.texts)
    elif "defaultLocale" in own.values:
        config.default_language = config.default_language or own.values["defaultLocale"]
        config.languages = config.languages or own.lists.get("locales", [])
    elif own.name in _ORIGINALS and "path" in own.values:
        config.originals[own.name] = own.values["path"]
    elif parent.bracket == "[" and parent.texts:
        plugin = parent.texts[-1].rpartition("content-")[2]
        name, path = own.values.get("id", "default"), own.values.get("path")
        if plugin in _ORIGINALS and (path or name != "default"):
            config.originals[plugin if name == "default" else f"{plugin}-{name}"] = path or name
