"""Default values that depend on other values, and the construction of the setting groups."""

import base64
import ipaddress
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError

from app.core.limits import Limits
from app.core.urls import origin_of
from app.security.instance_secrets import read_or_create
from app.security.private_files import make_private_folder
from app.settings import groups
from app.settings.fields import KEY_BYTES, EncryptionKeysField
from app.settings.providers import AI_ALIASES

GROUPS = {
    "server": groups.ServerSettings,
    "security": groups.Security,
    "database": groups.DatabaseSettings,
    "storage": groups.StorageSettings,
    "mail": groups.MailSettings,
    "git": groups.Git,
    "github": groups.GitHub,
    "gitlab": groups.GitLab,
    "social_a": groups.SocialA,
    "social_b": groups.SocialB,
    "sandbox": groups.SandboxSettings,
    "billing": groups.Billing,
    "log": groups.Log,
    "retention": groups.Retention,
    "limits": Limits,
}


def build_groups(data: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `config.Settings`.

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
    return _grouped(data)


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


def _grouped(data: dict[str, Any]) -> dict[str, Any]:
    ai = data["ai"]
    upstreams = {name: groups.AiUpstream(**ai[name]) for name in ("openai", "anthropic", "gemini", "xai")}
    built = {name: group(**data[name]) for name, group in GROUPS.items()}
    return data | built | {"ai": groups.Ai(AI_ALIASES.get(ai["provider"], ai["provider"]), ai["model"], **upstreams)}
