"""Whose key a request uses, and at which provider and model: the caller's where they bring one, else the operator's.

A caller's key is kept in no row, no log line and no message.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from app.core.errors import Invalid
from app.core.settings import Ai, AiUpstream
from app.drivers.ai.port import Access
from app.resources.ai.errors import KeyRequired

PROVIDERS = ("openai", "anthropic", "gemini", "xai")
ALIASES = {"google": "gemini", "grok": "xai"}
MODEL = re.compile(r"[A-Za-z0-9._:/-]{1,80}")
KEY = re.compile(r"[\x21-\x7e]{1,512}")
VENDORS = ("api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "api.x.ai")
"""Hosts that answer nobody without a key; a server of the operator's own may."""


@dataclass(frozen=True)
class Given:
    """What the caller sent, in headers or body."""

    key: str | None = field(repr=False)
    provider: str | None
    model: str | None


@dataclass(frozen=True)
class Credentials:
    """Whom to ask, and with what; `own` is the caller's own key."""

    provider: str
    access: Access
    own: bool


class Headers(Protocol):
    """Headers by name, whatever their case."""

    def get(self, key: str, /) -> str | None:
        """The header's value, if it was sent."""


def given_in(headers: Headers, body: Mapping[str, object]) -> Given:
    """The caller's own; headers win over the body."""

    def either(header: str, name: str) -> str | None:
        found = headers.get(header) or body.get(name)
        return str(found).strip() or None if found else None

    return Given(either("X-AI-Key", "apiKey"), either("X-AI-Provider", "provider"), either("X-AI-Model", "model"))


def choose(given: Given, ai: Ai) -> Credentials:
    """The caller's key where there is one, else the operator's with the operator's model.

    Raises:
        Invalid: the key, provider or model cannot be one.
        KeyRequired: there is no key at all.
    """
    if given.key is None:
        return _operators(ai)
    if not KEY.fullmatch(given.key):
        raise Invalid.field("apiKey", "This is not a key")
    provider = _provider(given.provider or ai.provider)
    model = given.model or (ai.model if provider == ai.provider else None)
    if model is None or not MODEL.fullmatch(model):
        raise Invalid.field("model", "Name a model of this provider" if model is None else "This is not a model's name")
    return Credentials(provider, Access(model, given.key), own=True)


def _provider(name: str | None) -> str:
    provider = ALIASES.get((name or "").lower(), (name or "").lower())
    if provider not in PROVIDERS:
        raise Invalid.field("provider", f"Must be one of {', '.join(PROVIDERS)}")
    return provider


def _operators(ai: Ai) -> Credentials:
    if ai.provider is None or ai.model is None:
        raise KeyRequired
    upstream: AiUpstream = getattr(ai, ai.provider)
    if upstream.api_key is None and urlsplit(upstream.base_url).hostname in VENDORS:
        raise KeyRequired
    return Credentials(ai.provider, Access(ai.model, upstream.api_key), own=False)
