"""Reader of archetypes of Hugo: default values and text of new entries.

Archetypes are templates, so expressions are replaced by placeholders before the front matter is read.
"""

import re
from dataclasses import dataclass, field, replace

from app.content.field_values import ValueKind, kind_of
from app.content.front_matter.reader import find_block, split_front_matter
from app.content.schema.model import TOML_START, Collection, EntryTemplate, FieldType, SchemaField
from app.content.text import decode

FOLDER, DEFAULT = "archetypes", "default"
MAX_BYTES, MAX_FILES = 64 * 1024, 50
# The second alternative consumes the text after an open expression, so that it is searched only once.
_EXPRESSION = re.compile(r"\{\{(?:.*?(\}\})|.*)", re.DOTALL)
_DATE, _TITLE, _OTHER = "galleyplaceholderdate", "galleyplaceholdertitle", "galleyplaceholder"
_PLACEHOLDERS = {_DATE: "{{date}}", _TITLE: "{{title}}"}
_TYPES = {
    ValueKind.BOOLEAN: FieldType.BOOLEAN,
    ValueKind.NUMBER: FieldType.NUMBER,
    ValueKind.DATE: FieldType.DATE,
    ValueKind.DATETIME: FieldType.DATETIME,
    ValueKind.LIST: FieldType.LIST,
    ValueKind.OBJECT: FieldType.OBJECT,
    ValueKind.TEXT: FieldType.TEXT,
    ValueKind.IMAGE: FieldType.IMAGE,
}


@dataclass(frozen=True)
class Archetype:
    """The values and the text of a new entry of a section. `default` serves sections without one."""

    section: str
    path: str
    values: dict[str, object] = field(default_factory=dict)
    body: str = ""
    problem: str | None = None


def section_of(path: str) -> str:
    """Return the section of an archetype file: `posts` of `archetypes/posts.md` and of `archetypes/posts/index.md`."""
    name = path.removeprefix(f"{FOLDER}/")
    return name.partition("/")[0] if "/" in name else name.rpartition(".")[0]


def read_archetype(path: str, data: bytes) -> Archetype:
    """Return an archetype. A broken file has a problem."""
    section = section_of(path)
    text, _ = decode(data[:MAX_BYTES])
    if text is None:
        return Archetype(section, path, problem="The archetype is not a text")
    front = split_front_matter(_EXPRESSION.sub(lambda match: _placeholder(match[0]) if match[1] else match[0], text))
    if front.problem:
        return Archetype(section, path, problem=front.problem)
    values = {name: _shown(value) for name, value in (front.values or {}).items()}
    body = "" if _OTHER in front.body else front.body
    is_toml = (block := find_block(text)) is not None and block.language == "toml"
    return Archetype(section, path, values, TOML_START + body.lstrip("\n") if is_toml else body)


def with_archetype(collection: Collection, archetype: Archetype) -> Collection:
    """Return the collection with the template of an archetype. Fields that no file has are added."""
    field_names = {inner.name for inner in collection.fields}
    added = [_field(name, value) for name, value in archetype.values.items() if name not in field_names]
    fields = [_with_default(inner, archetype.values.get(inner.name)) for inner in collection.fields]
    path = collection.template.path if collection.template is not None else "{{slug}}.md"
    template = EntryTemplate(path, archetype.values, archetype.body)
    return replace(collection, fields=(*fields, *added), template=template)


def _with_default(inner: SchemaField, value: object) -> SchemaField:
    return inner if value is None or value in _PLACEHOLDERS.values() else replace(inner, default=value)


def _field(name: str, value: object) -> SchemaField:
    if value is None or value == _PLACEHOLDERS[_TITLE]:
        return SchemaField(name, FieldType.STRING)
    if value == _PLACEHOLDERS[_DATE]:
        return SchemaField(name, FieldType.DATETIME)
    return SchemaField(name, _TYPES.get(kind_of(value), FieldType.STRING), default=value)


def _placeholder(expression: str) -> str:
    if ".Date" in expression or "now" in expression:
        return _DATE
    return _TITLE if ".Name" in expression or "title" in expression.lower() else _OTHER


def _shown(value: object) -> object:
    """Return a value with the placeholders of templates. A value with another expression is null."""
    if isinstance(value, dict):
        return {name: _shown(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shown(inner) for inner in value]
    if not isinstance(value, str):
        return value
    for name, shown in _PLACEHOLDERS.items():
        if name in value:
            return shown
    return None if _OTHER in value else value
