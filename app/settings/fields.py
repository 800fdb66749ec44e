"""Marshmallow fields for the types of environment variables, and functions that declare a variable."""

import base64
import binascii
import ipaddress
import re
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError, fields
from marshmallow.validate import OneOf, Range, Regexp

from app.core.urls import Network, origin_of, split_url

KEY_BYTES = 32
HOST_NAME = re.compile(r"(?=.{1,253}(:|\Z))[a-z0-9_]([a-z0-9_.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?")
ONE_LINE = Regexp(r"[^\x00-\x1f\x7f<>]+\Z", error="Must be one line without < and >.")


class Url(fields.Field[str]):
    """A URL of one of `schemes`. A slash at the end is removed."""

    def __init__(self, *schemes: str, **options: Any) -> None:
        super().__init__(**options)
        self.schemes = schemes or ("http", "https")

    def _deserialize(self, value: str, *_: object, **__: object) -> str:
        url = value.strip()
        try:
            parts = urlsplit(url)
            is_valid = parts.scheme in self.schemes and (parts.hostname or parts.scheme == "unix")
            is_valid = bool(is_valid) and (parts.port is None or parts.port > 0)
        except ValueError:
            is_valid = False
        if not is_valid or re.search(r"[\s#]", url):
            raise ValidationError(f"Must be a URL that starts with {' or '.join(s + '://' for s in self.schemes)}.")
        return url.rstrip("/")


class ListField(fields.Field[tuple[str, ...]]):
    """A comma-separated list."""

    def _deserialize(self, value: str, *_: object, **__: object) -> tuple[str, ...]:
        return tuple(part.strip() for part in value.split(",") if part.strip())


class Origins(ListField):
    """A comma-separated list of origins: scheme, host and port, as browsers send them.

    A slash at the end is accepted.
    """

    def _deserialize(self, value: str, *_: object, **__: object) -> tuple[str, ...]:
        return tuple(_origin(name) for name in super()._deserialize(value))


def _origin(name: str) -> str:
    if "*" in name:
        raise ValidationError("Must name origins: * would allow every site to act for its visitors.")
    origin, parts = origin_of(name), split_url(name)
    if not origin or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValidationError(f"{name} is not an origin. Write https://host or https://host:port.")
    return origin


class NetworksField(ListField):
    """A comma-separated list of networks as address and prefix length. A single address is a network, too."""

    def _deserialize(self, value: str, *_: object, **__: object) -> tuple[Any, ...]:
        return tuple(_network(text) for text in super()._deserialize(value))


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise ValidationError(f"{text} is not a network such as 10.0.0.0/8, 127.0.0.1/32 or fd00::/8.") from error


class HostName(fields.Field[str]):
    """The name of a host, with an optional port."""

    def _deserialize(self, value: str, *_: object, **__: object) -> str:
        name = value.strip().lower()
        if not HOST_NAME.fullmatch(name):
            raise ValidationError("Must be a host name such as previews.example.net.")
        return name


class DirectoryField(fields.Field[Path]):
    """A folder. A relative path starts at the root of the project, not at the working directory."""

    def __init__(self, base: Path, **options: Any) -> None:
        super().__init__(**options)
        self.base = base

    def _deserialize(self, value: str, *_: object, **__: object) -> Path:
        return self.base / Path(value).expanduser()


class EncryptionKeysField(fields.Field[tuple[tuple[str, bytes], ...]]):
    """Encryption keys as `kid:base64,…`, each with 32 bytes."""

    def _deserialize(self, value: str, *_: object, **__: object) -> tuple[tuple[str, bytes], ...]:
        keys = tuple(_key(part.strip()) for part in value.split(",") if part.strip())
        if not keys or len({kid for kid, _ in keys}) != len(keys):
            raise ValidationError("Must contain at least one key, and each key id once.")
        return keys


def _key(text: str) -> tuple[str, bytes]:
    kid, _, encoded = text.partition(":")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", kid):
        raise ValidationError("Every key must be kid:base64. The id has 1 to 32 letters, digits, - or _.")
    try:
        key = base64.b64decode(encoded.translate(str.maketrans("-_", "+/")) + "=" * (-len(encoded) % 4), validate=True)
    except binascii.Error as error:
        raise ValidationError(f"The key {kid} is not valid base64.") from error
    if len(key) != KEY_BYTES:
        raise ValidationError(f"The key {kid} must have {KEY_BYTES} bytes; it has {len(key)}.")
    return kid, key


class Pem(fields.Field[str]):
    r"""A private key as PEM text or as the path of a PEM file. In text, `\n` is accepted as a line break."""

    def __init__(self, base: Path, **options: Any) -> None:
        super().__init__(**options)
        self.base = base

    def _deserialize(self, value: str, *_: object, **__: object) -> str:
        text = value.strip().replace("\\n", "\n")
        if not text.startswith("-----BEGIN"):
            try:
                text = (self.base / text).read_text()
            except (OSError, ValueError) as error:
                raise ValidationError("Must be PEM text or the path of a readable file.") from error
        if "PRIVATE KEY-----" not in text:
            raise ValidationError("Must contain a PEM private key.")
        return text


class PlanLimitsField(fields.Field[dict[str, dict[str, int]]]):
    """Limits of paid plans, as `Pro: projects=300, members=100; Team: members=500`."""

    def __init__(self, *limits: str, **options: Any) -> None:
        super().__init__(**options)
        self.limits = limits

    def _deserialize(self, value: str, *_: object, **__: object) -> dict[str, dict[str, int]]:
        entries = [part.partition(":") for part in value.split(";") if part.strip()]
        plans = {name.strip(): dict(self._limit(name, item) for item in items.split(",")) for name, _, items in entries}
        if len(plans) != len(entries) or "" in plans:
            raise ValidationError("Every plan must have a unique name.")
        return plans

    def _limit(self, plan: str, text: str) -> tuple[str, int]:
        name, _, number = (part.strip() for part in text.partition("="))
        if name not in self.limits or not re.fullmatch(r"[1-9][0-9]{0,8}", number):
            raise ValidationError(
                f"The plan {plan.strip()} must have name=number with one of {', '.join(self.limits)}."
            )
        return name, int(number)


class SenderField(fields.Field[str]):
    """The address of a sender, with or without a name."""

    def _deserialize(self, value: str, *_: object, **__: object) -> str:
        text = value.strip()
        if re.search(r"[\x00-\x1f\x7f]", text) or not re.fullmatch(r"[^@\s]+@[^@\s]+", parseaddr(text)[1]):
            raise ValidationError("Must be an e-mail address or Name <address>.")
        return text


def describe(variable: str, description: str, *, secret: bool = False) -> dict[str, object]:
    """Return the metadata of a declaration: its variable, its text for operators, and whether its value is masked."""
    return {"variable": variable, "description": description, "secret": secret}


def choice(variable: str, description: str, default: str | None, *choices: str) -> fields.String:
    """Declare a variable with a closed list of values."""
    rule = OneOf(choices, error="Must be one of {choices}; it is {input}.")
    return fields.String(load_default=default, validate=rule, metadata=describe(variable, description))


def text(variable: str, description: str, default: str | None = None, *, secret: bool = False) -> fields.String:
    """Declare a variable with any text."""
    return fields.String(load_default=default, metadata=describe(variable, description, secret=secret))


def line(variable: str, description: str, default: str | None = None) -> fields.String:
    """Declare a variable with text that a Git author line can contain."""
    return fields.String(load_default=default, validate=ONE_LINE, metadata=describe(variable, description))


def url(variable: str, description: str, default: str | None = None, *schemes: str) -> Url:
    """Declare a variable with a URL of one of the schemes; without schemes, http or https."""
    return Url(*schemes, load_default=default, metadata=describe(variable, description))


def number(variable: str, description: str, default: int, low: int, high: int | None = None) -> fields.Integer:
    """Declare a variable with an integer from `low` to `high`."""
    return fields.Integer(load_default=default, validate=Range(low, high), metadata=describe(variable, description))
