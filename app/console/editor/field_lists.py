"""Lists of objects in the editor's form: each item is a group of inputs with an id, and the form names their order.

The id of an item of the file is its position, that of an added item `n0`, `n1` and so on. Buttons that add, move or
remove an item change the order only, so that they work without scripts.
"""

import copy
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.console.shell.forms import Form
from app.content.schema.validation import pointer_to
from app.core.errors import ErrorMessage, InvalidRequest, PayloadTooLarge
from app.core.limits import InputLimits

INPUT, ITEMS, KIND, NOTATION = "fm.", "items.", "kind.", "notation."
"""The prefixes of the input of a value, and of the hidden inputs with the order of a list, the kind of an input and the
notation of a date. The path of the value follows."""

ACTION = "list-action"
MAX_ITEMS = 200
MAX_DEPTH = 32
_ID = re.compile(r"n?\d{1,4}")

Path = tuple[str, ...]
ShownKeys = Mapping[Path, set[str]]


class KeyedList(dict[str, Any]):
    """The items of a list by their ids, in their order.

    `empty` contains the ids of items that are empty in the file.
    """

    empty: frozenset[str] = frozenset()


def name_of(path: Path) -> str:
    """Return the path of a value as the end of an input's name: its keys separated by `/`."""
    return "".join(map(pointer_to, path))[1:]


def variant_target(path: Path, key: str, variant: str) -> str:
    """Return the target of the button that adds an item of a variant to a list. `key` contains its name."""
    return name_of((*path, key, variant))


def path_of(name: str) -> Path:
    """Return the path of a value from the end of an input's name. Raises InvalidRequest for too many levels."""
    if name.count("/") >= MAX_DEPTH:
        raise InvalidRequest(f"A field can have at most {MAX_DEPTH} levels")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in name.split("/"))


def is_object_list(value: object) -> bool:
    """Return whether a value is a list of objects that is shown as groups."""
    return isinstance(value, KeyedList) or (
        isinstance(value, list) and len(value) <= MAX_ITEMS and all(isinstance(item, dict) for item in value)
    )


def items_of(value: Any) -> KeyedList:
    """Return the items of a list of objects, or of a missing list, with their ids."""
    if isinstance(value, KeyedList):
        return value
    items = KeyedList((str(at), item) for at, item in enumerate(value or ()))
    items.empty = frozenset(one for one, item in items.items() if item == {})
    return items


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
    positions, items = _positions(value, present), KeyedList()
    for at, item in enumerate(value):
        is_added = at not in positions
        one = f"n{at}" if is_added else str(positions[at])
        items[one] = with_ids(item, {} if is_added else present[positions[at]])
    items.empty = frozenset(one for one, item in items.items() if item == {})
    return items


def _positions(items: Sequence[Mapping[str, Any]], present: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Return the positions in the file by the positions of items: of equal items, then of those with equal values."""
    free, positions = list(range(len(present))), dict[int, int]()

    def similarity(at: int, item: Mapping[str, Any]) -> int:
        return sum(key in present[at] and present[at][key] == item[key] for key in item)

    for find_equal in (True, False):
        for at, item in enumerate(items):
            matches = [one for one in free if (present[one] == item if find_equal else similarity(one, item))]
            if at not in positions and matches:
                positions[at] = max((similarity(one, item), -one, one) for one in matches)[2]
                free.remove(positions[at])
    others = (at for at in range(len(items)) if at not in positions)
    return positions | dict(zip(others, free, strict=False))


def sent_orders(form: Form) -> dict[Path, list[str]]:
    """Return the ids of each list of a form in their order, outer lists first.

    Raises:
        PayloadTooLarge: the lists have more items than a form has fields.
    """
    orders = {}
    for hidden, value in form.values.items():
        if hidden.startswith(ITEMS):
            ids = dict.fromkeys(one for one in value.split(",", MAX_ITEMS)[:MAX_ITEMS] if _ID.fullmatch(one))
            orders[path_of(hidden.removeprefix(ITEMS))] = list(ids)
    if sum(map(len, orders.values())) > InputLimits.form_fields:
        raise PayloadTooLarge(ErrorMessage("The form has too many fields"))
    return dict(sorted(orders.items(), key=lambda item: len(item[0])))


def keyed(values: Mapping[str, object], form: Form, *, is_shown_again: bool = False) -> dict[str, object]:
    """Return a copy of values with the lists of a form in its order, their items by id.

    An item contains only values that the form shows, so a form that shows a draft adds no value of the file. If the
    form is shown again, an item contains None for inputs without a value, and an added item those of the other items.
    """
    result = copy.deepcopy(dict(values))
    shown = _shown_keys(path_of(hidden.removeprefix(KIND)) for hidden in form.values if hidden.startswith(KIND))
    for path, ids in sent_orders(form).items():
        if not ids and _is_missing(result, path):
            continue  # A list without items that the file does not have is not added.
        container = _container(result, path)
        if container is not None and (container.get(path[-1]) is None or is_object_list(container[path[-1]])):
            before = items_of(container.get(path[-1]))
            items = KeyedList((one, _shown(before.get(one, {}), (*path, one), shown)) for one in ids)
            items.empty = before.empty
            container[path[-1]] = _filled(items, path, shown, before) if is_shown_again else items
    return result


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
    names |= dict.fromkeys(key for one in sorted(shown.get(path, ())) for key in sorted(shown.get((*path, one), ())))
    filled = KeyedList((one, dict.fromkeys(names) | item) for one, item in items.items())
    filled.empty = items.empty
    return filled


def _shown(item: Mapping[str, object], path: Path, shown: ShownKeys) -> dict[str, object]:
    names = shown.get(path, ())
    return {key: value for key, value in item.items() if key in names or isinstance(value, list)}


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
        items = {one: plain(item) for one, item in value.items()}
        return [item for one, item in items.items() if item or one in value.empty]
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

    The commands are `add LIST`, `add LIST/KEY/VARIANT`, `up LIST/ID`, `down LIST/ID` and `remove LIST/ID`.
    """
    verb, _, target = form.text(ACTION).partition(" ")
    path = path_of(target)
    orders = sent_orders(form)
    if verb == "add" and path in orders:
        _store(form, path, [*orders[path], _new_id(orders[path])])
    elif verb == "add" and path[:-2] in orders and len(orders[path[:-2]]) < MAX_ITEMS:
        listed, new = orders[path[:-2]], _new_id(orders[path[:-2]])
        _store(form, path[:-2], [*listed, new])
        name = name_of((*path[:-2], new, path[-2]))
        form.values[KIND + name], form.values[INPUT + name] = "text", path[-1]
    elif path[:-1] in orders and path[-1] in orders[path[:-1]]:
        _store(form, path[:-1], list(_moved(orders[path[:-1]], path[-1], verb)))


def _moved(ids: Sequence[str], one: str, verb: str) -> Iterator[str]:
    others = [each for each in ids if each != one]
    if verb == "remove":
        yield from others
        return
    at = ids.index(one) + {"up": -1, "down": 1}.get(verb, 0)
    at = min(max(at, 0), len(others))
    yield from (*others[:at], one, *others[at:])


def _new_id(ids: Sequence[str]) -> str:
    numbers = [int(one[1:]) for one in ids if one.startswith("n")]
    return f"n{max(numbers, default=-1) + 1}"


def _store(form: Form, path: Path, ids: Sequence[str]) -> None:
    form.values[f"{ITEMS}{name_of(path)}"] = ",".join(ids[:MAX_ITEMS])
