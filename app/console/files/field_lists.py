"""Lists of objects in the editor's form: each item is a group of inputs with an id, and the form names their order.

The id of an item of the file is its position, that of an added item `n0`, `n1` and so on, and that of a copy of the
item 3 of the file `n0-3`. Buttons that add, move or
remove an item change the order only, so that they work without scripts. A long list has inputs for some items only. An
item without inputs keeps the values of the file.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any

from app.console.files.field_inputs import InputKind
from app.console.shell.forms import Form
from app.content.json_pointer import pointer_of, unescaped
from app.core.errors import ErrorMessage, InvalidRequest, PayloadTooLarge
from app.core.limits import InputLimits

INPUT, ITEMS, KIND, NOTATION = "fm.", "items.", "kind.", "notation."
"""The prefixes of the input of a value, and of the hidden inputs with the order of a list, the kind of an input and the
notation of a date. The path of the value follows."""

ACTION = "list-action"
MAX_ITEMS, MAX_ALL_ITEMS = 1_000, 10_000
"""The items of one list that are shown as groups, and those of all lists of a form."""

MAX_COMPARED = 20_000
"""Pairs of changed items that are compared value by value."""

MAX_SENT = InputLimits.form_fields - 60
"""A form with more fields must be saved before it shows the inputs of a further item."""

MAX_DEPTH = 32
_ID = re.compile(r"\d{1,4}|n\d{1,4}(?:-\d{1,4})?")

Path = tuple[str, ...]
ShownKeys = Mapping[Path, set[str]]


class ItemState(IntEnum):
    """The reason for which a form has the inputs of an item. An item with the values of the file needs none."""

    STORED = 0
    SHOWN = 1
    CHANGED = 2


class KeyedList(dict[str, Any]):
    """The items of a list by their ids, in their order.

    `empty` contains the ids of items that are empty in the file, and `replaced` those of items that have only the
    values with inputs, because a draft removed others. Items without a state are stored ones.
    """

    def __init__(self, items: Iterable[tuple[str, object]] = (), *, empty: frozenset[str] = frozenset()) -> None:
        super().__init__(items)
        self.empty, self.replaced = empty, frozenset[str]()
        self.states = dict[str, ItemState]()


def name_of(path: Path) -> str:
    """Return the path of a value as the end of an input's name: its keys separated by `/`."""
    return pointer_of(path)[1:]


def variant_target(path: Path, key: str, variant: str) -> str:
    """Return the target of the button that adds an item of a variant to a list. `key` contains its name."""
    return name_of((*path, key, variant))


def path_of(name: str) -> Path:
    """Return the path of a value from the end of an input's name. Raises InvalidRequest for too many levels."""
    if name.count("/") >= MAX_DEPTH:
        raise InvalidRequest(f"A field can have at most {MAX_DEPTH} levels")
    return tuple(map(unescaped, name.split("/")))


def is_object_list(value: object) -> bool:
    """Return whether a value is a list of objects that is shown as groups."""
    return isinstance(value, KeyedList) or (
        isinstance(value, list) and len(value) <= MAX_ITEMS and all(isinstance(item, dict) for item in value)
    )


def items_of(value: Any) -> KeyedList:
    """Return the items of a list of objects, or of a missing list, with their ids."""
    if isinstance(value, KeyedList):
        return value
    items = [(str(at), item) for at, item in enumerate(value or ())]
    return KeyedList(items, empty=frozenset(id_ for id_, item in items if item == {}))


def with_ids(values: Mapping[str, object], base: Mapping[str, object]) -> dict[str, object]:
    """Return values with the items of lists of objects by their ids. `base` contains the values of the file.

    Equal items have the position in the file as their id, then those with most equal values, then the others in their
    order. Further items are added.
    """
    return {key: _with_ids(value, base.get(key)) for key, value in values.items()}


def _with_ids(value: Any, base: Any) -> object:
    if isinstance(value, dict):
        return with_ids(value, base if isinstance(base, dict) else {})
    if not value or not is_object_list(value):
        return value
    present = base if is_object_list(base) else []
    positions = _positions(value, present)
    ids = [str(positions[at]) if at in positions else f"n{at}" for at in range(len(value))]
    before = [present[positions[at]] if at in positions else {} for at in range(len(value))]
    items = KeyedList(zip(ids, map(with_ids, value, before), strict=True))
    versions = list(zip(ids, value, before, strict=True))
    items.empty = frozenset(id_ for id_, item, _old in versions if item == {})
    items.states = {id_: ItemState.CHANGED for id_, item, old in versions if item != old or id_.startswith("n")}
    items.replaced = frozenset(id_ for id_, item, old in versions if old.keys() - item.keys())
    return items


def _positions(items: Sequence[Mapping[str, Any]], present: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Return the positions in the file by the positions of items: of equal items, then of those with equal values.

    Many changed items are not compared: they follow in their order.
    """
    free, positions = list(range(len(present))), dict[int, int]()
    for at, item in enumerate(items):
        equal = next((id_ for id_ in free if present[id_] == item), None)
        if equal is not None:
            positions[at] = equal
            free.remove(equal)
    others = [at for at in range(len(items)) if at not in positions]
    if len(others) * len(free) <= MAX_COMPARED:
        for at in others:
            counts = {id_: _equal_values(items[at], present[id_]) for id_ in free}
            best = max(free, key=lambda number: (counts[number], -number), default=None)
            if best is not None and counts[best]:
                positions[at] = best
                free.remove(best)
    return positions | dict(zip((at for at in others if at not in positions), free, strict=False))


def _equal_values(item: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    return sum(key in other and other[key] == value for key, value in item.items())


def sent_orders(form: Form) -> dict[Path, list[str]]:
    """Return the ids of each list of a form in their order, outer lists first.

    Raises:
        PayloadTooLarge: the lists have too many items.
    """
    orders = {}
    for hidden, value in form.values.items():
        if hidden.startswith(ITEMS):
            ids = dict.fromkeys(id_ for id_ in value.split(",", MAX_ALL_ITEMS) if _ID.fullmatch(id_))
            orders[path_of(hidden.removeprefix(ITEMS))] = list(ids)
    if any(len(ids) > MAX_ITEMS for ids in orders.values()) or sum(map(len, orders.values())) > MAX_ALL_ITEMS:
        raise PayloadTooLarge(ErrorMessage("The form has too many fields"))
    return dict(sorted(orders.items(), key=lambda item: len(item[0])))


def keyed(values: Mapping[str, object], form: Form, *, is_shown_again: bool = False) -> dict[str, object]:
    """Return a copy of values with the lists of a form in its order, their items by id.

    A value without an input is kept, unless the form names its item as replaced. If the form is shown again, an item
    with inputs contains None for those without a value, and an added item for those of the other items.
    """
    result = {key: _copied(value) for key, value in values.items()}
    orders, kinds = sent_orders(form), sent_kinds(form)
    shown = _shown_keys([*kinds, *orders])
    replaced = {path for path, kind in kinds.items() if kind == InputKind.OBJECT}
    for path, ids in orders.items():
        if not ids and _is_missing(result, path):
            continue  # A list without items that the file does not have is not added.
        container = _container(result, path)
        if container is not None and (container.get(path[-1]) is None or is_object_list(container[path[-1]])):
            before = items_of(container.get(path[-1]))
            items = KeyedList(((id_, _item_of(before, id_)) for id_ in ids), empty=before.empty)
            items.replaced = frozenset(id_ for id_ in ids if (*path, id_) in replaced)
            for item in items.replaced:
                items[item] = {key: value for key, value in items[item].items() if key in shown.get((*path, item), ())}
            container[path[-1]] = _filled(items, path, shown, before) if is_shown_again else items
            if is_shown_again and ids != list(before):
                mark_changed(result, path)
    return result


def _item_of(items: KeyedList, id_: str) -> Any:
    """Return the values of an item, those of the original for a copy, or none for a new one."""
    original = id_.partition("-")[2]
    return items[id_] if id_ in items else _copied(items.get(original, {}))


def _copied(value: object) -> object:
    """Return a copy of a value. The copies of an anchored value of YAML are separate: each has its own inputs."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def sent_kinds(form: Form) -> dict[Path, str]:
    """Return the kinds of the inputs of a form by the paths of their values.

    Raises:
        InvalidRequest: the form has a value without its kind. Without an error, the value would be lost.
    """
    kinds = {name.removeprefix(KIND): kind for name, kind in form.values.items() if name.startswith(KIND)}
    for name in form.values:
        if name.startswith(INPUT) and name.removeprefix(INPUT) not in kinds:
            raise InvalidRequest.field(name, "The form does not name the kind of this field")
    return {path_of(name): kind for name, kind in kinds.items()}


def mark_changed(values: object, path: Path) -> None:
    """Mark the items that contain a path as changed, so that the form has their inputs."""
    for key in path:
        if isinstance(values, KeyedList) and key in values:
            values.states[key] = ItemState.CHANGED
        values = values.get(key) if isinstance(values, Mapping) else None


def _shown_keys(paths: Iterable[Path]) -> ShownKeys:
    """Return the keys below each path that have an input."""
    keys = defaultdict[Path, set[str]](set)
    for path in paths:
        for depth, key in enumerate(path):
            keys[path[:depth]].add(key)
    return keys


def _filled(items: KeyedList, path: Path, shown: ShownKeys, before: KeyedList) -> KeyedList:
    """Return items with None for the inputs of the form, and for those of the other items in an added one."""
    names = dict.fromkeys(key for item in before.values() for key in item)
    names |= dict.fromkeys(key for id_ in sorted(shown.get(path, ())) for key in sorted(shown.get((*path, id_), ())))
    filled = KeyedList(((id_, dict.fromkeys(names) | item) for id_, item in items.items()), empty=items.empty)
    filled.replaced = items.replaced
    filled.states = {id_: ItemState.SHOWN for id_ in items if (*path, id_) in shown}
    filled.states |= dict.fromkeys([*items.replaced, *(id_ for id_ in items if id_ not in before)], ItemState.CHANGED)
    return filled


def _is_missing(values: Mapping[str, object], path: Path) -> bool:
    inner: object = values
    for key in path:
        inner = inner.get(key) if isinstance(inner, Mapping) else None
    return inner is None


def _container(values: dict[str, object], path: Path) -> dict[str, object] | None:
    """Return the mapping that contains a path. Missing objects are created in `values`."""
    inner: object = values
    for key in path[:-1]:
        if isinstance(inner, dict) and inner.get(key) is None and not isinstance(inner, KeyedList):
            inner[key] = {}
        inner = inner.get(key) if isinstance(inner, dict) else None
    return inner if isinstance(inner, dict) else None


def plain(value: object) -> object:
    """Return a value with lists instead of keyed ones. Items without a value are left out, unless the file has them."""
    if isinstance(value, KeyedList):
        items = {id_: plain(item) for id_, item in value.items()}
        return [item for id_, item in items.items() if item or id_ in value.empty]
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return value


def named_pointer(pointer: str, form: Form) -> str:
    """Return the name of the input of a JSON pointer into the values of a form."""
    path = path_of(pointer[1:])
    for listed, ids in sent_orders(form).items():
        position = path[len(listed)] if path[: len(listed)] == listed and len(path) > len(listed) else ""
        if position.isdigit() and int(position) < len(ids):
            path = (*listed, ids[int(position)], *path[len(listed) + 1 :])
    return name_of(path)


def apply_action(form: Form) -> None:
    """Run the command of the pressed button on an item.

    The commands are `add LIST` and `before LIST/ID`, both also with the end `/KEY/VARIANT`, `copy LIST/ID`,
    `open LIST/ID`, `up LIST/ID`, `down LIST/ID` and `remove LIST/ID`. The page shows the inputs of an opened item.

    Raises:
        InvalidRequest: the form has too many inputs for those of a further item.
    """
    verb, _, target = form.text(ACTION).partition(" ")
    path = path_of(target)
    orders = sent_orders(form)
    if verb in ("add", "before", "copy", "open") and len(form.values) > MAX_SENT:
        raise InvalidRequest(ErrorMessage("Too many entries have changed. Save them before you change others"))
    if verb in ("add", "before"):
        _insert(form, orders, path, is_before=verb == "before")
    elif path[:-1] in orders and path[-1] in orders[path[:-1]]:
        ids = orders[path[:-1]]
        changed = _with_copy(form, path, ids) if verb == "copy" else _moved(ids, path[-1], verb)
        _store(form, path[:-1], list(changed))


def _insert(form: Form, orders: Mapping[Path, Sequence[str]], path: Path, *, is_before: bool) -> None:
    """Add an item at the end of the list of a path, or before an item. The path can end with the key of its variant."""
    ends = (len(path) - is_before, len(path) - is_before - 2)
    end = next((end for end in ends if path[:end] in orders), None)
    ids = orders[path[:end]] if end is not None else []
    if end is None or len(ids) >= MAX_ITEMS or (is_before and path[end] not in ids):
        return
    at, new = ids.index(path[end]) if is_before else len(ids), _new_id(ids)
    _store(form, path[:end], [*ids[:at], new, *ids[at:]])
    variant = path[end + is_before :]
    if variant:
        name = name_of((*path[:end], new, variant[0]))
        form.values[KIND + name], form.values[INPUT + name] = "text", variant[1]


def _with_copy(form: Form, path: Path, ids: Sequence[str]) -> Sequence[str]:
    """Return the ids with that of a copy after its original. The form receives the inputs of the copy."""
    if len(ids) >= MAX_ITEMS:
        return ids
    at, original = ids.index(path[-1]) + 1, path[-1].rpartition("-")[2]
    new = f"{_new_id(ids)}-{original}" if original.isdigit() else _new_id(ids)
    for prefix in (INPUT, ITEMS, KIND, NOTATION):
        own, target = prefix + name_of(path), prefix + name_of((*path[:-1], new))
        for name in [name for name in form.values if name == own or name.startswith(f"{own}/")]:
            form.values.setlist(target + name.removeprefix(own), form.values.getlist(name))
    return [*ids[:at], new, *ids[at:]]


def _moved(ids: Sequence[str], moved_id: str, verb: str) -> Iterator[str]:
    others = [other for other in ids if other != moved_id]
    if verb == "remove":
        yield from others
        return
    at = ids.index(moved_id) + {"up": -1, "down": 1}.get(verb, 0)
    at = min(max(at, 0), len(others))
    yield from (*others[:at], moved_id, *others[at:])


def _new_id(ids: Sequence[str]) -> str:
    numbers = [int(id_[1:].partition("-")[0]) for id_ in ids if id_.startswith("n")]
    return f"n{max(numbers, default=-1) + 1}"


def _store(form: Form, path: Path, ids: Sequence[str]) -> None:
    form.values[f"{ITEMS}{name_of(path)}"] = ",".join(ids[:MAX_ITEMS])
