"""Front matter values as form fields, and back. Only values whose text changed are written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.console.forms import Form
from app.core.errors import InvalidRequest

PREFIX = "fm."
LONG = 100


@dataclass(frozen=True)
class Field:
    """A value of the front matter. `kind` is text, long, number, checkbox, lines or json; `text` is what an input shows."""

    key: str
    kind: str
    text: str

    @property
    def name(self) -> str:
        """The name of the input."""
        return f"{PREFIX}{self.key}"

    @property
    def is_checked(self) -> bool:
        """The state of a checkbox."""
        return self.text == "true"


def fields_of(values: Mapping[str, Any]) -> list[Field]:
    """Return the fields in the order of the front matter, the title first."""
    fields = [Field(key, kind_of(value), text_of(value)) for key, value in values.items()]
    return sorted(fields, key=lambda field: field.key != "title")


def kind_of(value: object) -> str:
    """Return the kind of input for a value."""
    if isinstance(value, bool):
        return "checkbox"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str) or value is None:
        return "long" if value and (len(value) > LONG or "\n" in value) else "text"
    if isinstance(value, list) and value and all(isinstance(item, str) and "\n" not in item for item in value):
        return "lines"
    return "json"


def text_of(value: object) -> str:
    """Return the text of an input for a value."""
    match kind_of(value):
        case "lines" if isinstance(value, list):
            return "\n".join(value)
        case "text" | "long":
            return str(value or "")
        case _:
            return json.dumps(value, ensure_ascii=False)


def changes_of(values: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """Return the values that the form changes.

    Raises:
        InvalidRequest: a number or a structured value has a wrong form.
    """
    changes: dict[str, Any] = {}
    for field in fields_of(values):
        if field.kind == "checkbox":
            if form.is_checked(f"{PREFIX}{field.key}.shown") and form.is_checked(field.name) != field.is_checked:
                changes[field.key] = form.is_checked(field.name)
        elif field.name in form.values:
            sent = form.text(field.name).replace("\r\n", "\n")
            if sent != field.text:
                changes[field.key] = _parsed(field, sent)
    key = form.text("new.key").strip()
    if key and key not in values:
        changes[key] = form.text("new.value")
    return changes


def _parsed(field: Field, sent: str) -> object:
    if field.kind == "lines":
        return [line.strip() for line in sent.split("\n") if line.strip()]
    if field.kind not in ("number", "json"):
        return sent
    try:
        return json.loads(sent)
    except ValueError as error:
        raise InvalidRequest.field(field.name, "This value cannot be read") from error
