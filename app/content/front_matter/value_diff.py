"""The values in which the front matter of two versions of a file differs."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

MAX_CHANGES = 500


class ValueChange(NamedTuple):
    """A value at a JSON pointer (RFC 6901) before and after a change. A missing value is None."""

    pointer: str
    before: Any
    after: Any


def changed_values(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[ValueChange]:
    """Return the changed values, at most 500. Nested objects are compared key by key, lists as one value."""
    changes = _changes("", before or {}, after or {})
    return [change for change, _ in zip(changes, range(MAX_CHANGES), strict=False)]


def _changes(pointer: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ValueChange]:
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key), after.get(key)
        location = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _changes(location, old, new)
        # In JSON `true` is not `1`, so the types are compared too.
        elif key not in before or key not in after or type(old) is not type(new) or old != new:
            yield ValueChange(location, old, new)
