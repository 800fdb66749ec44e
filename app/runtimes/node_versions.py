"""Versions of Node.js that a site declares: `.nvmrc`, `.node-version` or `engines.node` of package.json.

A range is a text of node-semver: comparators, `^`, `~`, partial versions, hyphen ranges and `||`.
"""

import re

from app.runtimes.recipe import Read

Version = tuple[int, ...]

VERSION_FILES = (".nvmrc", ".node-version")
RELEASE_NAMES = {"gallium": 16, "hydrogen": 18, "iron": 20, "jod": 22, "krypton": 24}
MAX_CHARACTERS = 200
_COMPARATOR = re.compile(
    r"(>=|<=|>|<|=|\^|~)?v?(\d{1,6})?(?:\.(\d{1,6}|[xX*]))?(?:\.(\d{1,6}|[xX*]))?(?:[-+][\w.+-]*)?"
)
_HYPHEN = re.compile(r"(\S+)\s+-\s+(\S+)")


def declared_range(read: Read, engines: object) -> str | None:
    """Return the range that a folder declares, or None. A version file selects a major version."""
    for name in VERSION_FILES:
        text = (read(name) or b"")[:MAX_CHARACTERS].decode(errors="replace").strip().lower()
        match = re.match(r"v?(\d+)", text)
        major = int(match[1]) if match is not None else RELEASE_NAMES.get(text.removeprefix("lts/"))
        if major is not None:
            return f"^{major}"
    declared = engines.get("node") if isinstance(engines, dict) else None
    return declared if isinstance(declared, str) and len(declared) <= MAX_CHARACTERS else None


def is_satisfied(version: Version, declared: str) -> bool:
    """Return whether a version is in a range. Text that is not a version matches each version."""
    return any(_is_in_all(version, alternative.strip()) for alternative in declared.split("||"))


def _is_in_all(version: Version, text: str) -> bool:
    hyphen = _HYPHEN.fullmatch(text)
    comparators = [f">={hyphen[1]}", f"<={hyphen[2]}"] if hyphen else re.sub(r"([<>=^~])\s+", r"\1", text).split()
    return all(_is_in(version, comparator) for comparator in comparators)


def _is_in(version: Version, comparator: str) -> bool:
    match = _COMPARATOR.fullmatch(comparator)
    if match is None or match[2] is None:
        return True
    operator, *parts = match.groups()
    numbers = tuple(int(part) for part in parts if part is not None and part.isdigit())
    following = _next(numbers)
    match operator:
        case ">=":
            return version >= numbers
        case ">":
            return version >= following
        case "<":
            return version < numbers
        case "<=":
            return version < following
        case "^":
            return numbers <= version < _next(numbers[:1])
        case "~":
            return numbers <= version < _next(numbers[:2])
    return numbers <= version < following


def _next(numbers: Version) -> Version:
    """Return the lowest version above all versions that start with `numbers`, or above the complete version."""
    return (*numbers[:-1], numbers[-1] + 1)
