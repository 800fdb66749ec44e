"""The fields of the editor: from the schema of a collection, else from the values of the file."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from app.console.editor.field import Field, Option, json_text, text_of
from app.console.editor.relations import Relate, RelationChoices, no_choices
from app.console.files.field_inputs import (
    DATES,
    InputKind,
    are_lines,
    in_format,
    is_date,
    is_iso,
    kind_of,
)
from app.console.files.field_lists import (
    INPUT,
    KIND,
    MAX_ITEMS,
    ItemState,
    is_object_list,
    items_of,
    name_of,
    plain,
    variant_target,
)
from app.console.shell.field_labels import label_of
from app.console.shell.pages import current_form
from app.console.shell.translation import gettext as _
from app.content.schema.date_formats import has_time, is_day
from app.content.schema.model import Collection, FieldType, SchemaField
from app.content.schema.relations import relation_of
from app.content.schema.validation import is_date_in_format
from app.core.limits import InputLimits

MAX_FIELDS, MAX_RARE = 300, 30
MAX_INPUTS = InputLimits.form_fields - 100
_INPUTS = 2
_TEXTS = (FieldType.STRING, FieldType.TEXT, FieldType.IMAGE, FieldType.RELATION)
FEW = 12
"""A relation to at most this number of entries is a choice."""
MAX_GROUPS = 6
"""Levels of objects without a schema that are shown as groups."""


def fields_of(values: Mapping[str, object]) -> list[Field]:
    """Return the fields of values without a schema, in their order, the title first."""
    return _title_first(_inferred((key,), value) for key, value in values.items())


def declared_fields(collection: Collection, values: Mapping[str, object], relate: Relate) -> list[Field]:
    """Return the fields of a declared schema in its order, then those of other values."""
    return _title_first(_group(collection.fields, values, (), relate))


def usual_fields(collection: Collection, values: Mapping[str, object]) -> list[Field]:
    """Return the fields of an inferred schema: the values in their order, then the fields of nearly all files."""
    known = {field.name: field for field in collection.fields}
    missing = [field.name for field in collection.fields if field.required and field.name not in values]
    fields = []
    for key in (*values, *missing):
        value = values.get(key)
        shown = (
            _field(_usual(known[key], value), value, (key,), no_choices) if key in known else _inferred((key,), value)
        )
        options = tuple(map(str, known[key].options)) if key in known else ()
        fields.append(replace(shown, suggestions=shown.suggestions or options, is_unfit=False))
    return _title_first(fields)


def rare_fields(collection: Collection, values: Mapping[str, object]) -> list[Field]:
    """Return the fields of an inferred schema that only some files have, without a value, frequent ones first."""
    fields = [field for field in collection.fields if not field.required and field.name not in values][:MAX_RARE]
    return list(_within_limits(_field(_usual(field, None), None, (field.name,), no_choices) for field in fields))


def _usual(field: SchemaField, value: object) -> SchemaField:
    """Return an inferred field without rules. Its options are those that exist; a text input accepts others."""
    values = value if isinstance(value, dict) else {}
    inner = tuple(
        _usual(child, values.get(child.name)) for child in field.fields if child.required or child.name in values
    )
    kind = FieldType.STRING if field.type is FieldType.SELECT else field.type
    item = field.item and replace(field.item, fields=tuple(_usual(child, None) for child in field.item.fields))
    return replace(field, label=None, type=kind, required=False, options=(), fields=inner, item=item)


def _title_first(fields: Iterable[Field]) -> list[Field]:
    return list(_within_limits(sorted(fields, key=lambda field: field.path != ("title",))[:MAX_FIELDS]))


def _within_limits(fields: Iterable[Field]) -> Iterator[Field]:
    """Yield the fields. With too many inputs for a form, items of lists have none, else the value is shown as JSON.

    These are the items with the values of the file: those whose inputs the form did not have, then the others.
    """
    free, form = MAX_INPUTS, current_form()
    for field in fields:
        for state in (ItemState.STORED, ItemState.SHOWN):
            if _inputs_of(field) > free:
                field = _closed(field, state)
        if field.kind is InputKind.JSON and isinstance(field.value, list) and len(field.value) > MAX_ITEMS:
            field = replace(field, is_too_large=True)
        was_sent = form.was_sent() and KIND + field.target not in form.values
        if _inputs_of(field) + _largest_closed(field) > max(free, _INPUTS) and not was_sent:
            value = plain(field.value)
            field = replace(field, kind=InputKind.JSON, value=value, children=(), is_list=False, is_too_large=True)
        free -= _inputs_of(field)
        yield field


def _closed(field: Field, state: ItemState) -> Field:
    """Return a field without the inputs of those items of lists whose state is at most `state`."""
    if field.is_list:
        return replace(
            field, children=tuple(replace(child, is_closed=child.state <= state) for child in field.children)
        )
    return (
        replace(field, children=tuple(_closed(child, state) for child in field.children)) if field.is_group else field
    )


def _largest_closed(field: Field) -> int:
    """Return the largest number of inputs of an item without inputs."""
    if field.is_closed:
        return _inputs_of(replace(field, is_closed=False))
    return max(map(_largest_closed, field.children), default=0)


def _inputs_of(field: Field) -> int:
    """Return the largest number of fields that a form sends for a field: its kind and value, or all checked choices."""
    if field.is_closed:
        return 0
    if field.kind is None:
        return int(field.is_list or field.is_replaced) + sum(map(_inputs_of, field.children))
    return 1 + len(field.options) if field.kind == InputKind.CHOICES else _INPUTS + bool(field.notation)


def _group(
    fields: Sequence[SchemaField], values: Mapping[str, object], path: tuple[str, ...], relate: Relate
) -> Iterator[Field]:
    for field in fields:
        yield _field(field, values.get(field.name), (*path, field.name), relate)
    names = {field.name for field in fields}
    yield from (_inferred((*path, key), value) for key, value in values.items() if key not in names)


def _inferred(path: tuple[str, ...], value: object, others: Sequence[object] = ()) -> Field:
    """Return the field of a value without a schema. A missing one has the kind of its values in other items."""
    example = _example(others) if value is None else value
    kind = _kind_of_value(plain(example))
    shown = Field(path, label_of(path[-1]), kind, plain(value))
    if example and isinstance(example, dict) and not is_object_list(example) and len(path) <= MAX_GROUPS:
        inner = value if isinstance(value, dict) else dict.fromkeys(example)
        children = tuple(_inferred((*path, key), entry, [example[key]]) for key, entry in inner.items())
        return replace(shown, kind=None, children=children)
    if example and is_object_list(example):
        lists = [list(items_of(entry).values()) for entry in (value, *others) if entry and is_object_list(entry)]
        items = next(filter(any, lists), [])
        keys = dict.fromkeys(key for item in items for key in item)
        known = {key: [item.get(key) for item in items] for key in keys}
        return _with_items(
            replace(shown, value=value),
            lambda item, at: (_inferred((*at, key), item.get(key), known[key]) for key in keys),
        )
    return replace(shown, notation=str(example)) if value is None and kind in DATES else shown


def _kind_of_value(value: object) -> InputKind:
    """Return the kind of input for a value without a declared type. A text in the notation of a date is a date."""
    if not isinstance(value, str) or not is_iso(value):
        return kind_of(value)
    return InputKind.DATE if is_date(value) else InputKind.DATETIME


def _example(values: Sequence[object]) -> object:
    """Return the last one of values that have the same kind of input, or None. Empty lists and objects say less."""
    present = [value for value in values if value is not None]
    present = [value for value in present if value not in ([], {})] or present
    kinds = {_kind_of_value(plain(value)) for value in present}
    return present[-1] if len(kinds) == 1 or (kinds and kinds <= set(DATES)) else None


def _with_items(shown: Field, fields: Callable[[dict[str, object], tuple[str, ...]], Iterable[Field]]) -> Field:
    """Return the field of a list of objects with a group for each item."""
    items = items_of(shown.value)
    groups = tuple(
        Field(
            at := (*shown.path, id_),
            "",
            None,
            children=tuple(fields(item, at)),
            state=items.states.get(id_, ItemState.STORED),
            is_replaced=id_ in items.replaced,
        )
        for id_, item in items.items()
    )
    return replace(shown, kind=None, is_list=True, children=groups)


def _field(field: SchemaField, value: object, path: tuple[str, ...], relate: Relate) -> Field:
    shown = Field(
        path,
        field.label or label_of(field.name),
        kind_of(value),
        value,
        field.required,
        hint=" ".join(filter(None, (field.hint, field.pattern_hint))),
        minimum=field.minimum,
        maximum=field.maximum,
        is_integer=field.integer,
    )
    has_fields = field.type is FieldType.OBJECT and (field.fields or field.variants)
    if has_fields and (value is None or (isinstance(value, dict) and not is_object_list(value))):
        return replace(shown, kind=None, children=tuple(_object(field, value or {}, path, relate)))
    item = field.item if field.type is FieldType.LIST and (value is None or is_object_list(value)) else None
    if item is not None and (item.fields or item.variants):
        return _object_list(shown, item, relate)
    value = plain(value)
    shown = replace(shown, kind=kind_of(value), value=value)
    relation = relation_of(field)
    choices = relate(relation) if relation is not None else None
    if choices is not None:
        shown = replace(shown, relation=choices)
    if choices is not None and field.type is FieldType.RELATION and not field.multiple:
        kind = _relation_kind(choices, value)
        if kind is InputKind.SELECT:
            return replace(shown, kind=kind, options=tuple(_relation_options(choices, value)))
    else:
        kind = _kind(field, value)
    if kind is None:
        is_date = field.type in (FieldType.DATE, FieldType.DATETIME)
        is_unfit = not (value is None or field.type is FieldType.MIXED or is_date_in_format(field, value))
        return replace(shown, is_unfit=is_unfit, is_no_date=is_date and is_unfit)
    options = _options(field, value, kind)
    inner_type = field.item.type if field.item is not None else None
    return replace(
        shown,
        kind=kind,
        notation=field.date_format or "" if kind in DATES else "",
        options=options,
        is_unfit=len({option.label for option in options}) > len(_declared_options(field)),
        is_image=field.type is FieldType.IMAGE or (inner_type is FieldType.IMAGE and kind is InputKind.LINES),
        default=text_of(field.default) if value is None and field.default is not None else "",
    )


def _relation_kind(choices: RelationChoices, value: object) -> InputKind | None:
    """Return the input of a relation to one entry: a choice of few, else its value."""
    if isinstance(value, dict | list | bool) or (isinstance(value, str) and "\n" in value):
        return None
    if not choices.search_url and 0 < len(choices.options) <= FEW:
        return InputKind.SELECT
    if value is None and choices.options and not isinstance(choices.options[0].value, str):
        return InputKind.NUMBER
    return InputKind.RELATION if isinstance(value, str | None) else kind_of(value)


def _relation_options(choices: RelationChoices, value: object) -> Iterator[Option]:
    """Yield the entries by title, with the present value as it is written, and a value that names no entry."""
    titles = Counter(option.title for option in choices.options)
    for item in choices.options:
        label = item.title if titles[item.title] == 1 else f"{item.title} ({item.value})"
        yield Option(json_text(value if value is not None and str(value) == str(item.value) else item.value), label)
    if value is not None and str(value) not in choices.by_text:
        yield Option(json_text(value), str(value))


def _object_list(shown: Field, item: SchemaField, relate: Relate) -> Field:
    """Return a list of objects, whose items may have the fields of one of several variants."""
    listed = _with_items(shown, lambda value, at: _object(item, value, at, relate))
    key = item.variant_key
    if key is None or not item.variants:
        return listed
    labels = {variant.name: variant.label or label_of(variant.name) for variant in item.variants}
    options = tuple(Option(variant_target(shown.path, key, name), label) for name, label in labels.items())
    items = items_of(shown.value)
    groups = tuple(
        replace(group, label=labels.get(_sent_or(group.path, key, items[group.path[-1]]), ""))
        for group in listed.children
    )
    return replace(listed, variants=options, children=groups)


def _object(field: SchemaField, values: Mapping[str, object], path: tuple[str, ...], relate: Relate) -> Iterator[Field]:
    """Yield the fields of an object: the key of its variant, the fields of all, and those of its variant."""
    key = field.variant_key
    if key is None or not field.variants:
        yield from _group(field.fields, values, path, relate)
        return
    name = _sent_or(path, key, values)
    variant = next((candidate for candidate in field.variants if candidate.name == name), None)
    if not name and len(field.variants) == 1:
        variant = field.variants[0]
    known = Field((*path, key), label_of(key), InputKind.TEXT, values.get(key), is_key=True, is_unfit=variant is None)
    if field.name:  # an object by itself: its kind can be chosen
        options = tuple(
            Option(candidate.name, candidate.label or label_of(candidate.name)) for candidate in field.variants
        )
        other = () if variant is not None or not name else (Option(name, name),)
        known = replace(known, label=_("Kind"), options=(*options, *other), is_unfit=bool(other))
    yield known
    form = current_form()
    others = {
        name: value
        for name, value in values.items()
        if name != key and (value is not None or not form.was_sent() or KIND + name_of((*path, name)) in form.values)
    }
    yield from _group((*field.fields, *(variant.fields if variant is not None else ())), others, path, relate)


def _sent_or(path: tuple[str, ...], key: str, values: Mapping[str, object]) -> str:
    """Return the name of the variant of an object: that of the form if it is shown again, else that of the file."""
    form, name = current_form(), INPUT + name_of((*path, key))
    value = form.text(name) if form.was_sent() and name in form.values else values.get(key)
    return value if isinstance(value, str) else ""


def _kind(field: SchemaField, value: object) -> InputKind | None:
    """Return the kind of input for a field with a value, or None if the value does not match the type."""
    if field.type is FieldType.LIST or field.multiple:
        return _list_kind(field, value)
    if field.type is FieldType.SELECT:
        return None if isinstance(value, dict | list) else InputKind.SELECT
    if field.type in _TEXTS and isinstance(value, str | None):
        return InputKind.LONG if field.type is FieldType.TEXT else kind_of(value)
    if field.type is FieldType.NUMBER and (value is None or kind_of(value) is InputKind.NUMBER):
        return InputKind.NUMBER
    if field.type is FieldType.BOOLEAN and isinstance(value, bool | None):
        # An unchecked box cannot show that a value is missing whose default is true.
        return InputKind.SELECT if value is None and field.default is True else InputKind.CHECKBOX
    if field.type in (FieldType.DATE, FieldType.DATETIME):
        return _date_kind(field, value)
    return InputKind.JSON if field.type is FieldType.OBJECT and isinstance(value, dict | None) else None


def _date_kind(field: SchemaField, value: object) -> InputKind | None:
    """Return the input that shows the value as it is written: a time is never added or removed."""
    kind: InputKind | None = InputKind.DATE if field.type is FieldType.DATE else InputKind.DATETIME
    if field.date_format is not None and not is_day(field.date_format):
        kind = None
    elif field.date_format is not None:
        kind = InputKind.DATETIME if has_time(field.date_format) else InputKind.DATE
    if value is None or value == "":
        return kind
    if isinstance(value, str) and is_iso(value):
        return InputKind.DATE if is_date(value) else InputKind.DATETIME
    return kind if in_format(value, field.date_format or "") is not None else None


def _list_kind(field: SchemaField, value: object) -> InputKind | None:
    if not isinstance(value, list | None):
        return None
    if _declared_options(field) and not any(isinstance(item, dict | list) for item in value or ()):
        return InputKind.CHOICES
    item = field.item.type if field.item is not None else FieldType.STRING
    is_text = field.multiple or item in (*_TEXTS, FieldType.SELECT, FieldType.DATE, FieldType.DATETIME)
    return InputKind.LINES if is_text and are_lines(value or []) else InputKind.JSON


def _declared_options(field: SchemaField) -> tuple[object, ...]:
    if field.type is FieldType.BOOLEAN:
        return (True, False)
    return field.item.options if field.item is not None else field.options


def _options(field: SchemaField, value: object, kind: InputKind) -> tuple[Option, ...]:
    """Return the options, those that are in the file as they are written there, and values that are not options."""
    if kind not in (InputKind.SELECT, InputKind.CHOICES):
        return ()
    present = value if isinstance(value, list) else [] if value is None else [value]
    options = _declared_options(field)
    written = {json_text(own): own for own in reversed(present) if not isinstance(own, dict | list)}
    texts = {str(own): own for own in written.values()}
    values = [written.get(json_text(option), texts.get(str(option), option)) for option in options]
    shown = {json_text(single): text_of(single) for single in [*values, *present]}
    return tuple(Option(text, label) for text, label in shown.items())
