"""JSON pointers (RFC 6901)."""

from collections.abc import Iterable


def pointer_of(steps: Iterable[str | int]) -> str:
    """Return the pointer to a value below these keys and indexes."""
    return "".join("/" + escaped(str(step)) for step in steps)


def keys_of(pointer: str) -> list[str]:
    """Return the keys of a pointer. Those of lists are numbers as text."""
    return [unescaped(key) for key in pointer.split("/")[1:]]


def escaped(key: str) -> str:
    """Return a key as a pointer contains it."""
    return key.replace("~", "~0").replace("/", "~1")


def unescaped(key: str) -> str:
    """Return a key that a pointer contains."""
    return key.replace("~1", "/").replace("~0", "~")
