"""A field of the editor: its path, value, control and texts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from app.console.editor.relations import RelationChoices
from app.console.files.field_inputs import (
    InputKind,
    input_text,
    offset_of,
    zone_of,
)
from app.console.files.field_lists import (
    INPUT,
    ITEMS,
    KIND,
    NOTATION,
    ItemState,
    name_of,
)
from app.console.shell.dates import shown_zone, user_zone
from app.console.shell.forms import Form
from app.console.shell.translation import current_language
from app.console.shell.translation import gettext as _
from app.content.schema.validation import range_text
from app.core import clock

_WIDE = (None, InputKind.LONG, InputKind.LINES, InputKind.CHOICES, InputKind.JSON)
MAX_NARROW = 28
"""Characters that an input in one of three columns shows."""

_SUMMARY = (
    *(InputKind.TEXT, InputKind.LONG, InputKind.NUMBER, InputKind.DATE, InputKind.DATETIME, InputKind.SELECT),
    InputKind.RELATION,
)
SUMMARY_VALUES, SUMMARY_CHARACTERS = 3, 60
_EXPLAINED = (InputKind.LINES, InputKind.JSON, InputKind.DATETIME)
_COUNTED = (InputKind.TEXT, InputKind.LONG)


@dataclass(frozen=True)
class Option:
    """A value that can be chosen, as the text of an input and as the text that the user sees."""

    value: str
    label: str


@dataclass(frozen=True)
class Field:
    """An input, or a group of inputs if `kind` is None. The children of a list of objects are its items.

    `is_unfit`: the value does not match the type of the schema. `is_no_date`: it is a text where other files have
    dates. `notation`: the format of the date, or a date of another file whose notation a new one has. `variants`: the
    kinds of items that can be added to a list, by the target of the button. `is_key`: the value names the kind of an
    object. `state` and `is_replaced` belong to an item of a list. `is_closed`: the form has no inputs of the item.
    `is_too_large`: the value is shown as JSON because its inputs are too many.
    """

    path: tuple[str, ...]
    label: str
    kind: InputKind | None
    value: Any = None
    is_required: bool = False
    is_unfit: bool = False
    is_no_date: bool = False
    is_image: bool = False
    """The value is the address of an image, or a list of addresses."""
    is_list: bool = False
    default: str = ""
    options: tuple[Option, ...] = ()
    suggestions: tuple[str, ...] = ()
    relation: RelationChoices | None = None
    children: tuple["Field", ...] = ()
    hint: str = ""
    minimum: float | None = None
    maximum: float | None = None
    is_integer: bool = False
    notation: str = ""
    variants: tuple[Option, ...] = ()
    is_key: bool = False
    state: ItemState = ItemState.STORED
    is_replaced: bool = False
    is_closed: bool = False
    is_too_large: bool = False

    @property
    def name(self) -> str:
        return INPUT + self.target

    @property
    def kind_name(self) -> str:
        """The name of the hidden input with the kind."""
        return KIND + self.target

    @property
    def notation_name(self) -> str:
        """The name of the hidden input with the notation of a date."""
        return NOTATION + self.target

    @property
    def items_name(self) -> str:
        """The name of the hidden input with the order of a list."""
        return ITEMS + self.target

    @property
    def items(self) -> str:
        """The ids of the items of a list in their order."""
        return ",".join(child.path[-1] for child in self.children)

    @property
    def target(self) -> str:
        """The list or the item as the buttons of a list name it."""
        return name_of(self.path)

    @property
    def text(self) -> str:
        """The text that the input shows."""
        return input_text(self.kind, self.value, self.notation) if self.kind is not None else ""

    @property
    def chosen(self) -> list[str]:
        """The values of the checked choices."""
        return [json_text(value) for value in self.value or ()] if isinstance(self.value, list) else []

    @property
    def offset(self) -> str:
        """The offset of a date with a time."""
        return offset_of(self.value)

    @property
    def zone(self) -> str:
        """The offset in which the present time is written: that of the value, else that of the user."""
        now = clock.now().astimezone(user_zone())
        return self.offset if self.offset[:1] in ("+", "-") else "+00:00" if self.offset else f"{now:%z}"

    @property
    def zone_name(self) -> str:
        """The time zone that the input of a time names, or an empty text."""
        zone = zone_of(self.value, self.notation)
        return shown_zone(zone, current_language()) if zone else ""

    @property
    def shown_value(self) -> str:
        """The value as the user reads it: of a relation the title of the entry."""
        entry = self.relation.by_text.get(str(self.value)) if self.relation is not None else None
        return entry.title if entry is not None else text_of(self.value)

    @property
    def without_entry(self) -> list[object]:
        """The values of a relation that name no entry."""
        return self.relation.without_entry(self.value) if self.relation is not None else []

    @property
    def stored_titles(self) -> dict[str, str]:
        """The titles of stored values that are not among the first entries of a relation."""
        stored = self.relation.stored if self.relation is not None else {}
        return {str(option.value): option.title for option in stored.values() if option is not None}

    @property
    def is_group(self) -> bool:
        """Return whether the field is an object whose fields are shown."""
        return self.kind is None and not self.is_list

    @property
    def has_mark(self) -> bool:
        """Return whether the label can say that the field is required or optional. A switch always has a value."""
        return bool(self.label) and not self.is_key and self.kind is not InputKind.CHECKBOX

    @property
    def has_help(self) -> bool:
        """Return whether there is a text below the input."""
        texts = (self.hint, self.default, self.limits, self.counted, self.without_entry)
        return self.is_unfit or self.is_no_date or any(texts) or self.kind in _EXPLAINED

    @property
    def counted(self) -> int | None:
        """The number of characters that a text can have, or None."""
        return int(self.maximum) if self.maximum is not None and self.kind in _COUNTED else None

    @property
    def limits(self) -> str:
        """The limits of a number, of the characters of a text or of the entries of a list, as a text."""
        maximum = None if self.counted else self.maximum  # the counter contains it
        if self.minimum is None and maximum is None:
            return ""
        limits = range_text(self.minimum, maximum)
        if self.kind is InputKind.NUMBER:
            return _("Allowed: %(range)s", range=limits)
        if self.is_list or self.kind in (InputKind.LINES, InputKind.CHOICES):
            return _("Entries: %(range)s", range=limits)
        return _("Characters: %(range)s", range=limits) if self.kind in _COUNTED else ""

    @property
    def is_wide(self) -> bool:
        """Return whether the field takes the whole width."""
        return self.kind in _WIDE or len(self.text) > MAX_NARROW

    @property
    def is_title(self) -> bool:
        """Return whether the field is the title of the page, which the editor shows as its first line."""
        return self.path == ("title",) and self.kind in (InputKind.TEXT, InputKind.LONG) and not self.options

    @property
    def summary(self) -> str:
        """The first values of a group, as the line that stands for it while it is collapsed."""
        with_value = [child for child in self.children if child.value not in (None, "") and not child.is_key]
        shown = [child for child in with_value if child.kind in _SUMMARY]
        texts = (field.shown_value for field in [field for field in shown if not field.is_image] or shown)
        return " · ".join(text[:SUMMARY_CHARACTERS] for text in islice(texts, SUMMARY_VALUES))

    def was_sent(self, form: Form) -> bool:
        """Return whether a form that is shown again has the input, unlike an item that was just opened."""
        return form.was_sent() and self.kind_name in form.values

    def shown_text(self, form: Form) -> str:
        """Return the text of the input: the sent one if the form is shown again."""
        return form.text(self.name) if self.was_sent(form) else self.text

    def shown_choices(self, form: Form) -> Sequence[str]:
        """Return the checked choices: the sent ones if the form is shown again."""
        return form.all(self.name) if self.was_sent(form) else self.chosen

    def has_errors(self, form: Form) -> bool:
        """Return whether a form has an error at the field or at a field inside."""
        return bool(form.errors(self.name)) or any(child.has_errors(form) for child in self.children)


def text_of(value: object) -> str:
    """Return the text of a value as the user reads it."""
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    return value if isinstance(value, str) else json_text(value)


def json_text(value: object) -> str:
    """Return a value as JSON, which distinguishes texts from other values."""
    return json.dumps(value, ensure_ascii=False)
