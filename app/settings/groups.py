"""Groups of settings: frozen dataclasses whose annotations carry the field of each environment variable.

An annotation is `Annotated[type, field]`. A group that is declared elsewhere has a mapping of fields instead.
"""

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard, TypeVar, get_args, get_type_hints

from marshmallow import Schema, fields

PROJECT = Path(__file__).resolve().parents[2]
Base = TypeVar("Base", bound=Schema)
Declaration = tuple[str, fields.Field[object]]


@dataclass(frozen=True)
class ReferenceSection:
    """The title under which the reference lists a group or a variable."""

    title: str


def declarations_of(group: type, prefix: str = "", title: str = "") -> Iterator[Declaration]:
    """Yield each variable of a group with its field, also those of groups inside it.

    The attribute of a field is the dotted name of its setting.
    """
    for name, kind, extras in _members(group):
        section = next((extra.title for extra in extras if isinstance(extra, ReferenceSection)), title)
        for extra in extras:
            if isinstance(extra, fields.Field):
                yield _declaration(extra, prefix + name, section)
            elif isinstance(extra, Mapping):
                for inner, field in extra.items():
                    yield _declaration(field, f"{prefix}{name}.{inner}", section)
        if _is_group(kind):
            yield from declarations_of(kind, f"{prefix}{name}.", section)


def _members(group: type) -> Iterator[tuple[str, object, tuple[object, ...]]]:
    """Yield the name, the type and the further parts of the annotation of each member."""
    hints = get_type_hints(group, include_extras=True)
    for member in dataclasses.fields(group):
        hint = hints[member.name]
        extras: tuple[object, ...] = getattr(hint, "__metadata__", ())
        yield member.name, get_args(hint)[0] if extras else hint, extras


def _is_group(kind: object) -> TypeGuard[type]:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _declaration(declared: fields.Field[object], attribute: str, section: str) -> Declaration:
    field = copy.copy(declared)
    field.attribute, field.metadata = attribute, {**declared.metadata, "section": section}
    return str(declared.metadata["variable"]), field


def schema_of(group: type, base: type[Base]) -> type[Base]:
    """Return the schema of all variables of a group."""
    return type(group.__name__, (base,), dict(declarations_of(group)))


def build_members(group: type, data: Mapping[str, Any]) -> dict[str, object]:
    """Return the arguments of a group from loaded data. The groups inside it are built."""
    return {
        name: kind(**build_members(kind, data[name])) if _is_group(kind) else data[name]
        for name, kind, _ in _members(group)
        if name in data
    }
