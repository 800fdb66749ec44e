"""Rules that `APP_ENV=production` adds to the settings."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from publicsuffixlist import PublicSuffixList

from app.core.urls import split_url

PLACEHOLDERS = ("secret", "changeme", "change-me", "default", "insecure", "placeholder", "example", "your-")
SECRET_MIN_CHARACTERS, SECRET_MIN_DISTINCT = 32, 8
WEBHOOK_MIN_CHARACTERS, WEBHOOK_MIN_DISTINCT = 16, 4
APPLICATIONS = ("BASE_URL", "WEB_URL", "ALLOWED_ORIGINS")
"""Variables with the URLs of pages that act with the session of a user."""
WEBHOOK_SECRETS = ("GITHUB_WEBHOOK_SECRET", "GITLAB_WEBHOOK_SECRET", "PADDLE_WEBHOOK_SECRET")


def production_errors(values: Mapping[str, object], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
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
    if "BASE_URL" not in environ:
        yield "BASE_URL", "Is required in production: the public https URL of the service."
    for name in ("BASE_URL", "WEB_URL"):
        if _is_public_http(values[name]):
            yield name, "Must start with https:// in production."
    for name in ("PREVIEW_HOST", "SANDBOX_DOMAIN"):
        shared = shared_sites(values[name], {other: values[other] for other in APPLICATIONS})
        if shared:
            yield name, f"Must not be on the site of {' and '.join(shared)}: previews run scripts of other people."


def _is_public_http(url: str | None) -> bool:
    parts = split_url(url or "")
    return parts.scheme == "http" and not _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def shared_sites(preview_host: str | None, urls: Mapping[str, str | Sequence[str] | None]) -> list[str]:
    """Return the names of the URLs that are on the site of a host of previews. A value may be a list of URLs."""
    site = _site(f"//{preview_host}") if preview_host else None
    listed = {name: (value,) if isinstance(value, str) else value or () for name, value in urls.items()}
    return [name for name, values in listed.items() if site is not None and site in map(_site, values)]


def _site(url: str) -> str | None:
    """Return the registrable domain of a URL, which browsers treat as one site. An IP address is its own site."""
    host = (split_url(url).hostname or "").rstrip(".")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        with suppress(UnicodeError):
            host = host.encode("idna").decode()
        return (PublicSuffixList().privatesuffix(host) or host) if host else None
    return host
