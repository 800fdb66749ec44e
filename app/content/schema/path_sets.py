"""Sets of paths by which the database selects the files of a collection."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

from app.content.schema.model import Collection

MAX_ALTERNATIVES = 24
_PARTS = re.compile(r"\{[^{}]*\}|[^{]+|\{")
_ENDING = re.compile(r"\.[^./{}*,]+$")


@dataclass(frozen=True)
class PathSet:
    """Paths below a folder; an empty folder is the root.

    A path below the folder matches one of `patterns`, of which `**` is a text with slashes. `slashes` is the number of
    slashes below the folder if all patterns have the same. Paths that match one of `unlike` are excluded, and those
    below the folders `without`.
    """

    folder: str
    patterns: tuple[str, ...] = ()
    slashes: int | None = None
    unlike: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def path_set(collection: Collection, *, subfolder: str = "", language: str = "") -> PathSet:
    """Return the paths of a collection.

    Args:
        collection: its folder and pattern.
        subfolder: the folder of a language below the folder of the collection.
        language: the language before the ending of the file names: `de` for `page.de.md`.
    """
    folder = "/".join(part for part in (collection.folder, subfolder) if part)
    patterns = tuple(with_language(alternative, language) for alternative in alternatives(collection.pattern))
    slashes = None if "**" in collection.pattern else collection.pattern.count("/")
    unlike = tuple(pattern for name in collection.exclude for pattern in (name, f"*/{name}"))
    return PathSet(folder, patterns, slashes, unlike)


def alternatives(pattern: str) -> Sequence[str]:
    """Return the patterns without `{a,b}` of which a path matches one, at most 48.

    `**/` before a text also matches no folder. `*` matches slashes, so `*/` means any folders.
    """
    parts = [
        part[1:-1].split(",") if part[0] == "{" and part[-1] == "}" else [part] for part in _PARTS.findall(pattern)
    ]
    texts = list(islice(("".join(pieces) for pieces in product(*parts)), MAX_ALTERNATIVES))
    if pattern.startswith("**/") and not pattern.startswith("**/*"):
        names = [text.removeprefix("**/") for text in texts]
        return [*names, *(f"*/{name}" for name in names)]
    return texts


def with_language(name: str, language: str) -> str:
    """Return a file name or pattern with a language before its ending."""
    ending = _ENDING.search(name)
    return f"{name[: ending.start()]}.{language}{ending[0]}" if language and ending is not None else name


def endings_of(collection: Collection) -> frozenset[str]:
    """Return the endings of the file names of a collection without their dot, in lower case."""
    return _endings(collection.pattern)


@lru_cache(maxsize=512)
def _endings(pattern: str) -> frozenset[str]:
    endings = (_ENDING.search(alternative) for alternative in alternatives(pattern))
    return frozenset(ending[0][1:].lower() for ending in endings if ending is not None)
