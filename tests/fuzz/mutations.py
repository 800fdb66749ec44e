"""Mutations of valid requests: structure, types, sizes, encodings, headers, paths, queries, multipart.

A mutation receives a request and a random generator and changes the request in place. It does not depend on routes.
"""

import gzip
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from werkzeug.test import EnvironBuilder

from tests.fuzz.unusual_values import HEADERS, METHODS, NUMBERS, PATH_PARTS, QUERY_PARTS, SPLICES, TEXTS

Dice = random.Random
Mutation = Callable[["Wire", Dice], None]


@dataclass
class Wire:
    """A request in its wire form."""

    method: str
    path: str
    query: str
    body: bytes
    headers: dict[str, str]
    done: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, given: dict[str, Any]) -> "Wire":
        """Create a request from the arguments of `werkzeug.test.Client.open`."""
        builder = EnvironBuilder(**given)
        try:
            request = builder.get_request()
            headers = {name: value for name, value in request.headers.items() if name != "Host"}
            return cls(
                request.method, request.path, request.query_string.decode("latin-1"), request.get_data(), headers
            )
        finally:
            builder.close()

    def environ(self) -> dict[str, Any]:
        """Return the WSGI environment. The body length of the headers is used even if it is wrong."""
        path = _bytes(self.path).decode("latin-1")
        made = EnvironBuilder(method="POST", path="/", data=self.body).get_environ()
        made |= {"REQUEST_METHOD": self.method, "PATH_INFO": path, "QUERY_STRING": _bytes(self.query).decode("latin-1")}
        made |= {"REQUEST_URI": path, "RAW_URI": path}
        for name in ("CONTENT_TYPE", "HTTP_CONTENT_TYPE"):
            made.pop(name, None)
        for name, value in self.headers.items():
            key = name.upper().replace("-", "_")
            if key == "CONTENT_LENGTH" and value == str(len(self.body)):
                continue
            made[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value
        return made


def mutate(wire: Wire, dice: Dice) -> None:
    """Apply one to three mutations."""
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        chosen = dice.choice(_OF_BODIES if wire.body and dice.random() < 0.65 else _OF_ALL)
        chosen(wire, dice)
        wire.done.append(chosen.__name__)


def change_value(wire: Wire, dice: Dice) -> None:
    """Replace a value, a type or a size in the JSON."""

    def change(holder: Any, key: Any) -> None:
        holder[key] = _unusual_value(dice, holder[key])

    _in_json(wire, dice, change)


def drop_key(wire: Wire, dice: Dice) -> None:
    """Remove a key or an item from the JSON."""
    _in_json(wire, dice, lambda holder, key: holder.pop(key))


def add_key(wire: Wire, dice: Dice) -> None:
    """Add a key or an item to the JSON."""

    def add(holder: Any, key: Any) -> None:
        if isinstance(holder, dict):
            name = dice.choice(
                (
                    *TEXTS,
                    *holder,
                    "id",
                    "user_id",
                    "org_id",
                    "role",
                    "owner",
                    "is_admin",
                    "__proto__",
                    "status",
                    "createdAt",
                )
            )
            holder[name] = _unusual_value(dice, holder[key])
        else:
            holder.extend([holder[key]] * dice.choice((1, 40, 400)))

    _in_json(wire, dice, add)


def nest(wire: Wire, dice: Dice) -> None:
    """Nest the JSON deeply."""

    def deepen(holder: Any, key: Any) -> None:
        value = holder[key]
        for _ in range(dice.choice((1, 5, 31, 33, 400))):
            value = [value] if dice.random() < 0.5 else {"a": value}
        holder[key] = value

    _in_json(wire, dice, deepen)


def double_key(wire: Wire, dice: Dice) -> None:
    """Repeat a key."""
    if wire.body.startswith(b"{") and len(wire.body) > 2:
        first = wire.body[1:].split(b",")[0].rstrip(b"}")
        wire.body = b"{" + first + b"," + wire.body[1:]


def replace_body(wire: Wire, dice: Dice) -> None:
    """Replace the document."""
    wire.body = dice.choice(
        (b"", b"null", b"[]", b"1", b'"text"', b"{", b"{}", b" ", b"\0", b"NaN", b"[" * 5000, b'{"a":' * 5000, b"{}{}", b"\xef\xbb\xbf{}",
         "{}".encode("utf-16"), gzip.compress(wire.body), b"a=1&b=2", b'{"\\ud800": 1}', b"x" * 1_100_000)
    )  # fmt: skip


def splice(wire: Wire, dice: Dice) -> None:
    """Insert foreign bytes into the body."""
    at = dice.randrange(len(wire.body) + 1)
    wire.body = wire.body[:at] + dice.choice(SPLICES) + wire.body[at:]


def cut(wire: Wire, dice: Dice) -> None:
    """Truncate the body."""
    start, end = sorted((dice.randrange(len(wire.body) + 1), dice.randrange(len(wire.body) + 1)))
    wire.body = wire.body[:start] + wire.body[end:] if dice.random() < 0.5 else wire.body[:start]


def flip(wire: Wire, dice: Dice) -> None:
    """Change single bytes."""
    changed = bytearray(wire.body)
    for _ in range(dice.choice((1, 3, 20))):
        if changed:
            changed[dice.randrange(len(changed))] = dice.randrange(256)
    wire.body = bytes(changed)


def set_header(wire: Wire, dice: Dice) -> None:
    """Set an unusual header."""
    name, value = dice.choice(HEADERS)
    wire.headers[name] = value


def drop_header(wire: Wire, dice: Dice) -> None:
    """Remove a header."""
    if wire.headers:
        del wire.headers[dice.choice(sorted(wire.headers))]


def change_path(wire: Wire, dice: Dice) -> None:
    """Replace a segment of the path."""
    parts = wire.path.split("/")
    at = dice.randrange(len(parts))
    what = dice.choice(PATH_PARTS)
    parts[at] = what if dice.random() < 0.5 else parts[at] + what
    wire.path = _decoded("/".join(parts)) or "/"


def change_query(wire: Wire, dice: Dice) -> None:
    """Replace or extend the query."""
    wire.query = dice.choice((dice.choice(QUERY_PARTS), f"{wire.query}&{dice.choice(QUERY_PARTS)}"))


def change_method(wire: Wire, dice: Dice) -> None:
    """Use another method."""
    wire.method = dice.choice(METHODS)


_OF_BODIES: tuple[Mutation, ...] = (
    change_value, change_value, change_value, change_value, drop_key, add_key, nest, double_key, replace_body, splice, cut, flip,
)  # fmt: skip
_OF_ALL: tuple[Mutation, ...] = (set_header, set_header, change_query, change_path, drop_header, change_method)


def _in_json(wire: Wire, dice: Dice, change: Callable[[Any, Any], Any]) -> None:
    try:
        value = json.loads(wire.body)
    except (ValueError, RecursionError):
        return splice(wire, dice)
    places = list(_containers(value))
    if places:
        change(*dice.choice(places))
    wire.body = json.dumps(value, ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")
    return None


def _containers(value: Any) -> Any:
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _containers(value[key])


def _unusual_value(dice: Dice, old: Any) -> Any:
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: dice.choice(TEXTS),
        lambda: dice.choice(TEXTS),
        lambda: dice.choice(NUMBERS),
        lambda: dice.choice((None, True, False, [], {}, [None], {"": None})),
        lambda: [old] * dice.choice((1, 2, 300)),
        lambda: {str(n): old for n in range(dice.choice((1, 257)))},
        lambda: old * 40 if isinstance(old, str | list) else str(old),
        lambda: f"{old}{dice.choice(TEXTS)}" if isinstance(old, str) else [old],
    )
    return dice.choice(kinds)()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(path: str) -> str:
    """Unquote a path as a server does. Bytes that are not UTF-8 stay."""
    return unquote_to_bytes(path.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
