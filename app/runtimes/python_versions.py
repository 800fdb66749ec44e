"""Versions of Python that a site declares: version files, the configuration of Read the Docs, or `requires-python`.

A range is a version specifier of PEP 440.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from app.content.front_matter.toml_reader import read_toml
from app.runtimes.recipe import Read, mapping

Version = tuple[int, ...]

VERSION_FILES = (".python-version", "runtime.txt")
READ_THE_DOCS = (".readthedocs.yaml", ".readthedocs.yml", "readthedocs.yml")
MAX_CHARACTERS, MAX_YAML_BYTES = 200, 16 * 1024
_VERSION = re.compile(r"(?:c?python-)?(\d{1,2})(?:\.(\d{1,3}))?(?:\.\d{1,3})?")


def declared_range(read: Read) -> str | None:
    """Return the range that a folder declares, or None. A version selects its minor version."""
    for text in _versions(read):
        match = _VERSION.fullmatch(text.strip()[:MAX_CHARACTERS])
        if match is not None:
            return f"=={'.'.join(filter(None, match.groups()))}.*"
    requires = mapping(_toml(read("pyproject.toml")).get("project")).get("requires-python")
    return requires if isinstance(requires, str) and len(requires) <= MAX_CHARACTERS else None


def is_satisfied(version: Version, declared: str) -> bool:
    """Return whether a version is in a range. Text that is not a range matches each version."""
    try:
        return SpecifierSet(declared).contains(".".join(map(str, version)), prereleases=True)
    except InvalidSpecifier:
        return True


def _versions(read: Read) -> Iterator[str]:
    for name in VERSION_FILES:
        yield (read(name) or b"").decode(errors="replace").strip().partition("\n")[0]
    content = next((content for content in map(read, READ_THE_DOCS) if content is not None), b"")
    version = mapping(mapping(_yaml(content).get("build")).get("tools")).get("python")
    yield version if isinstance(version, str) else ""


def _yaml(content: bytes) -> dict[str, Any]:
    try:
        # Without types: YAML reads an unquoted 3.10 as the number 3.1.
        return mapping(yaml.load(content[:MAX_YAML_BYTES], yaml.BaseLoader))  # noqa: S506 (a loader of texts only)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}


def _toml(content: bytes | None) -> dict[str, Any]:
    try:
        return read_toml((content or b"").decode())
    except (ValueError, RecursionError):
        return {}
