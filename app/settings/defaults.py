"""Default values that depend on other values."""

import base64
import ipaddress
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError

from app.core.urls import origin_of
from app.security.instance_secrets import read_or_create
from app.security.private_files import make_private_folder
from app.settings.fields import KEY_BYTES, EncryptionKeysField
from app.settings.providers import AI_ALIASES


def complete(data: dict[str, Any]) -> None:
    """Add the missing values to the loaded data of all groups.

    Raises:
        ValidationError: the instance folder cannot be used.
    """
    server, mail = data["server"], data["mail"]
    folder, production = server["instance_dir"], data["env"] == "production"
    _fill(server, base_url=_own_url(server["host"], server["port"]))
    _fill(server, web_url=server["base_url"])
    origins = server["allowed_origins"] or (server["base_url"], server["web_url"])
    server["allowed_origins"] = tuple(dict.fromkeys(filter(None, map(origin_of, origins))))
    _fill(data["storage"], directory=folder / "storage")
    _fill(mail, directory=folder / "mail", sender=f"Galley <no-reply@{_mail_domain(server['base_url'])}>")
    bot_email = f"galley@{_mail_domain(server['base_url'])}"
    _fill(data["git"], local_enabled=not production, local_root=folder / "git", bot_email=bot_email)
    with _instance_errors():
        if data["database"]["url"] is None:
            make_private_folder(folder)
        _fill_secrets(data["security"], folder)
    _fill(data["database"], url=f"sqlite:///{folder / 'app.db'}")
    data["ai"]["provider"] = AI_ALIASES.get(data["ai"]["provider"], data["ai"]["provider"])


def _fill(group: dict[str, Any], **defaults: Any) -> None:
    group.update({name: value for name, value in defaults.items() if group[name] is None})


def _own_url(host: str, port: int) -> str:
    """Return the URL of the service for a browser on this machine."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{reachable}:{port}"


def _mail_domain(base_url: str) -> str:
    """Return the host of the service as an e-mail domain. An address or a name without a dot is replaced."""
    host = urlsplit(base_url).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host if "." in host else "galley.localhost"
    return "galley.localhost"


def _fill_secrets(security: dict[str, Any], folder: Path) -> None:
    """Read secrets that are not set from the instance folder. Create them at the first start."""
    if security["secret_key"] is None:
        security["secret_key"] = read_or_create(folder / "secret_key", lambda: secrets.token_urlsafe(48))
    if security["encryption_keys"] is None:
        security["encryption_keys"] = EncryptionKeysField().deserialize(
            read_or_create(folder / "encryption_keys", _new_keys)
        )


def _new_keys() -> str:
    return f"k1:{base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}"


@contextmanager
def _instance_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ValidationError({"INSTANCE_DIR": [f"Cannot be used: {error.strerror}: {error.filename}."]}) from error
