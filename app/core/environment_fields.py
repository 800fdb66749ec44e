"""The kinds of value an environment variable may hold, as Marshmallow fields; knows no variable."""

import base64
import binascii
import re
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError, fields
from marshmallow.validate import OneOf, Regexp
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from app.core.urls import origin_of, parts_of

KEY_BYTES = 32
DRIVERS = {
    "sqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
HOST_NAME = re.compile(r"(?=.{1,253}(:|\Z))[a-z0-9_]([a-z0-9_.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?")
ONE_LINE = Regexp(r"[^\x00-\x1f\x7f<>]+\Z", error="Must be one line without < and >.")


class Url(fields.Field[str]):
    """An address without a query and without a slash at its end, of one of `schemes`."""

    def __init__(self, *schemes: str, **options: Any) -> None:
        super().__init__(**options)
        self.schemes = schemes or ("http", "https")

    def _deserialize(self, value: str, *_: Any, **__: Any) -> str:
        url = value.strip()
        try:
            parts = urlsplit(url)
            known = parts.scheme in self.schemes and (parts.hostname or parts.scheme == "unix")
            known = known and (parts.port is None or parts.port > 0)
        except ValueError:
            known = False
        if not known or re.search(r"[\s#]", url):
            raise ValidationError(f"Must be an address starting with {' or '.join(s + '://' for s in self.schemes)}.")
        return url.rstrip("/")


class Names(fields.Field[tuple[str, ...]]):
    """A comma-separated list."""

    def _deserialize(self, value: str, *_: Any, **__: Any) -> tuple[str, ...]:
        return tuple(part.strip() for part in value.split(",") if part.strip())


class Origins(Names):
    """A comma-separated list of origins: scheme, host and port, as browsers send them; a slash at the end is let pass."""

    def _deserialize(self, value: str, *_: Any, **__: Any) -> tuple[str, ...]:
        return tuple(_origin(name) for name in super()._deserialize(value))


def _origin(name: str) -> str:
    if "*" in name:
        raise ValidationError("Must name origins; * would let every site act for its visitors.")
    origin, parts = origin_of(name), parts_of(name)
    if not origin or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValidationError(f"{name} is no origin: write https://host or https://host:port.")
    return origin


class HostName(fields.Field[str]):
    """The name of a host, with a port where it has one of its own."""

    def _deserialize(self, value: str, *_: Any, **__: Any) -> str:
        name = value.strip().lower()
        if not HOST_NAME.fullmatch(name):
            raise ValidationError("Must be the name of a host, like previews.example.net.")
        return name


class Place(fields.Field[Path]):
    """A folder; a relative one counts from the project's root, whatever the working directory."""

    def __init__(self, base: Path, **options: Any) -> None:
        super().__init__(**options)
        self.base = base

    def _deserialize(self, value: str, *_: Any, **__: Any) -> Path:
        return self.base / Path(value).expanduser()


class Keys(fields.Field[tuple[tuple[str, bytes], ...]]):
    """Encryption keys as `kid:base64,…`, each of 32 bytes."""

    def _deserialize(self, value: str, *_: Any, **__: Any) -> tuple[tuple[str, bytes], ...]:
        keys = tuple(_key(part.strip()) for part in value.split(",") if part.strip())
        if not keys or len({kid for kid, _ in keys}) != len(keys):
            raise ValidationError("Needs at least one key, and every key id once.")
        return keys


def _key(text: str) -> tuple[str, bytes]:
    kid, _, encoded = text.partition(":")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", kid):
        raise ValidationError("Every key is kid:base64, its id 1 to 32 letters, digits, - or _.")
    try:
        key = base64.b64decode(encoded.translate(str.maketrans("-_", "+/")) + "=" * (-len(encoded) % 4), validate=True)
    except binascii.Error as error:
        raise ValidationError(f"The key {kid} is not base64.") from error
    if len(key) != KEY_BYTES:
        raise ValidationError(f"The key {kid} must have {KEY_BYTES} bytes, it has {len(key)}.")
    return kid, key


class Pem(fields.Field[str]):
    """A private key as PEM text (line breaks may be written as backslash and n) or as the path of a file that holds it."""

    def __init__(self, base: Path, **options: Any) -> None:
        super().__init__(**options)
        self.base = base

    def _deserialize(self, value: str, *_: Any, **__: Any) -> str:
        text = value.strip().replace("\\n", "\n")
        if not text.startswith("-----BEGIN"):
            try:
                text = (self.base / text).read_text()
            except (OSError, ValueError) as error:
                raise ValidationError("Must be PEM text or the path of a readable file.") from error
        if "PRIVATE KEY-----" not in text:
            raise ValidationError("Holds no PEM private key.")
        return text


class Database(fields.Field[str]):
    """A database URL of SQLite or PostgreSQL, however its scheme is spelt; a relative file counts from `base`."""

    def __init__(self, base: Path, **options: Any) -> None:
        super().__init__(**options)
        self.base = base

    def _deserialize(self, value: str, *_: Any, **__: Any) -> str:
        try:
            url = make_url(value.strip())
        except (ArgumentError, ValueError) as error:
            raise ValidationError("Is no database URL.") from error
        if url.drivername not in DRIVERS:
            raise ValidationError("Must start with sqlite:/// or postgresql+psycopg://.")
        url = url.set(drivername=DRIVERS[url.drivername])
        if url.drivername == "sqlite":
            if url.database in (None, "", ":memory:"):
                raise ValidationError("Must name a file: the server and the worker share it.")
            url = url.set(database=str(self.base / str(url.database)))
        return url.render_as_string(hide_password=False)


class Plans(fields.Field[dict[str, dict[str, int]]]):
    """What plans allow, as `Pro: projects=300, members=100; Team: members=500`; the names are the creation limits'."""

    def __init__(self, *limits: str, **options: Any) -> None:
        super().__init__(**options)
        self.limits = limits

    def _deserialize(self, value: str, *_: Any, **__: Any) -> dict[str, dict[str, int]]:
        told = [part.partition(":") for part in value.split(";") if part.strip()]
        plans = {name.strip(): dict(self._allowed(name, one) for one in rest.split(",")) for name, _, rest in told}
        if len(plans) != len(told) or "" in plans:
            raise ValidationError("Every plan needs a name of its own.")
        return plans

    def _allowed(self, plan: str, text: str) -> tuple[str, int]:
        name, _, number = (part.strip() for part in text.partition("="))
        if name not in self.limits or not re.fullmatch(r"[1-9][0-9]{0,8}", number):
            raise ValidationError(f"The plan {plan.strip()} needs name=number; names are {', '.join(self.limits)}.")
        return name, int(number)


class Sender(fields.Field[str]):
    """A sender's address, with or without a name."""

    def _deserialize(self, value: str, *_: Any, **__: Any) -> str:
        text = value.strip()
        if re.search(r"[\x00-\x1f\x7f]", text) or not re.fullmatch(r"[^@\s]+@[^@\s]+", parseaddr(text)[1]):
            raise ValidationError("Must be an e-mail address or Name <address>.")
        return text


def word(place: str, default: str | None, *known: str) -> fields.String:
    """One of a closed list of words."""
    error = "Must be one of {choices}; it is {input}."
    return fields.String(attribute=place, load_default=default, validate=OneOf(known, error=error))


def text(place: str, default: str | None = None) -> fields.String:
    """Any text."""
    return fields.String(attribute=place, load_default=default)


def line(place: str, default: str | None = None) -> fields.String:
    """Text that may stand in a Git author line."""
    return fields.String(attribute=place, load_default=default, validate=ONE_LINE)


def url(place: str, default: str | None = None, *schemes: str) -> Url:
    """An address."""
    return Url(*schemes, attribute=place, load_default=default)
