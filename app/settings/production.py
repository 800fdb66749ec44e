"""Rules that `APP_ENV=production` adds to the settings."""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

PLACEHOLDERS = ("secret", "changeme", "change-me", "default", "insecure", "placeholder", "example", "your-")
SECRET_MIN_CHARACTERS, SECRET_MIN_DISTINCT = 32, 8
WEBHOOK_MIN_CHARACTERS, WEBHOOK_MIN_DISTINCT = 16, 4
WEBHOOK_SECRETS = ("GITHUB_WEBHOOK_SECRET", "GITLAB_WEBHOOK_SECRET", "PADDLE_WEBHOOK_SECRET")


def production_errors(values: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each variable that is not safe in production with a message.

    `values` are the loaded values of all variables, `environ` the variables that are set.
    """
    yield from _secret_errors(values, environ)
    yield from _url_errors(values, environ)
    if values["MAIL_DRIVER"] == "console":
        yield "MAIL_DRIVER", "Must be smtp or file in production: console mail is not delivered."
    if values["RATE_LIMIT_SCALE"] not in (None, 1):
        yield "RATE_LIMIT_SCALE", "Must be 1 in production."


def _secret_errors(values: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    secret = environ.get("SECRET_KEY", "")
    is_placeholder = any(placeholder in secret.lower() for placeholder in PLACEHOLDERS)
    if is_placeholder or _is_weak(secret, SECRET_MIN_CHARACTERS, SECRET_MIN_DISTINCT):
        yield (
            "SECRET_KEY",
            f"Must be random in production, with at least {SECRET_MIN_CHARACTERS} characters, of which "
            f"{SECRET_MIN_DISTINCT} are different.",
        )
    if "ENCRYPTION_KEYS" not in environ:
        yield "ENCRYPTION_KEYS", "Is required in production: kid:base64 of 32 random bytes."
    elif any(len(set(key)) == 1 for _, key in values["ENCRYPTION_KEYS"] or ()):
        yield "ENCRYPTION_KEYS", "Must be random in production, not one repeated byte."
    for name in WEBHOOK_SECRETS:
        secrets = [part.strip() for part in (values[name] or "").split(",") if part.strip()]
        if any(_is_weak(secret, WEBHOOK_MIN_CHARACTERS, WEBHOOK_MIN_DISTINCT) for secret in secrets):
            yield name, f"Must have at least {WEBHOOK_MIN_CHARACTERS} random characters in production."


def _is_weak(secret: str, min_characters: int, min_distinct: int) -> bool:
    return len(secret) < min_characters or len(set(secret)) < min_distinct


def _url_errors(values: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    base_url = values["BASE_URL"]
    if "BASE_URL" not in environ:
        yield "BASE_URL", "Is required in production: the public https URL of the service."
    for name in ("BASE_URL", "WEB_URL"):
        if _is_public_http(values[name]):
            yield name, "Must start with https:// in production."
    if base_url and _site(urlsplit(base_url).hostname) == (_site(_host_name(values["PREVIEW_HOST"])) or ""):
        yield "PREVIEW_HOST", "Must not be on the site of BASE_URL: previews run scripts of other people."


def _is_public_http(url: str | None) -> bool:
    parts = urlsplit(url or "")
    return parts.scheme == "http" and not _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _host_name(host: str | None) -> str | None:
    return urlsplit(f"//{host}").hostname if host else None


def _site(host: str | None) -> str | None:
    """Return the registrable domain of a host, which browsers treat as one site. An IP address is its own site."""
    try:
        ipaddress.ip_address(host or "")
    except ValueError:
        return PublicSuffixList().privatesuffix(host) or host if host else None
    return host
