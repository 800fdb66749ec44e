"""What of the configuration follows from other values, and the groups in which it is handed on."""

import base64
import ipaddress
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError

from app.core import settings
from app.core.environment_fields import KEY_BYTES, Keys
from app.core.instance import kept
from app.core.limits import Limits
from app.core.urls import origin_of

AI_ALIASES = {"google": "gemini", "grok": "xai"}
GROUPS = {
    "server": settings.Server,
    "security": settings.Security,
    "database": settings.Database,
    "storage": settings.Storage,
    "mail": settings.MailSettings,
    "git": settings.Git,
    "github": settings.GitHub,
    "gitlab": settings.GitLab,
    "social_a": settings.SocialA,
    "social_b": settings.SocialB,
    "sandbox": settings.SandboxSettings,
    "billing": settings.Billing,
    "log": settings.Log,
    "retention": settings.Retention,
    "limits": Limits,
}


def completed(data: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `config.Settings`. Raises ValidationError where the instance folder cannot be used."""
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
    with _instance_faults():
        if data["database"]["url"] is None:
            folder.mkdir(parents=True, exist_ok=True)
        _fill_secrets(data["security"], folder)
    _fill(data["database"], url=f"sqlite:///{folder / 'app.db'}")
    return _grouped(data)


def _fill(group: dict[str, Any], **defaults: Any) -> None:
    group.update({name: value for name, value in defaults.items() if group[name] is None})


def _own_url(host: str, port: int) -> str:
    """Where the service answers, as a browser on this machine would write it."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{reachable}:{port}"


def _mail_domain(base_url: str) -> str:
    """The host of the service where it has a name; an address or a bare name makes no e-mail domain."""
    host = urlsplit(base_url).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host if "." in host else "galley.localhost"
    return "galley.localhost"


def _fill_secrets(security: dict[str, Any], folder: Path) -> None:
    """Use what is kept in the instance folder, making it the first time."""
    if security["secret_key"] is None:
        security["secret_key"] = kept(folder / "secret_key", lambda: secrets.token_urlsafe(48))
    if security["encryption_keys"] is None:
        security["encryption_keys"] = Keys().deserialize(kept(folder / "encryption_keys", _new_keys))


def _new_keys() -> str:
    return f"k1:{base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}"


@contextmanager
def _instance_faults() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ValidationError({"INSTANCE_DIR": [f"Cannot be used: {error.strerror}: {error.filename}."]}) from error


def _grouped(data: dict[str, Any]) -> dict[str, Any]:
    ai = data["ai"]
    upstreams = {name: settings.AiUpstream(**ai[name]) for name in ("openai", "anthropic", "gemini", "xai")}
    made = {name: group(**data[name]) for name, group in GROUPS.items()}
    return data | made | {"ai": settings.Ai(AI_ALIASES.get(ai["provider"], ai["provider"]), ai["model"], **upstreams)}
