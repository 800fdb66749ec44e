"""Choice of key, provider and model of a request: those of the caller if a key is sent, else those of the operator.

The key of a caller is never stored, logged or included in a message.
"""

import re
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from app.core.errors import InvalidRequest
from app.drivers.ai.port import ModelAccess
from app.resources.ai.errors import KeyRequired
from app.settings.providers import Ai, AiUpstream

PROVIDERS = ("openai", "anthropic", "gemini", "xai")
ALIASES = {"google": "gemini", "grok": "xai"}
MODEL_PATTERN = "^[A-Za-z0-9._:/-]{1,80}$"
KEY_PATTERN = "^[!-~]{1,512}$"
MODEL, KEY = re.compile(MODEL_PATTERN), re.compile(KEY_PATTERN)
VENDORS = ("api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "api.x.ai")
"""Hosts that require a key. A server of the operator may need none."""


@dataclass(frozen=True)
class CallerCredentials:
    """Key, provider and model from headers or body."""

    key: str | None = field(repr=False)
    provider: str | None
    model: str | None


@dataclass(frozen=True)
class Credentials:
    """Provider, model and key of a call. `own` is True for a key of the caller."""

    provider: str
    access: ModelAccess
    own: bool


class Headers(Protocol):
    """Headers by name, in any case."""

    def get(self, key: str, /) -> str | None:
        """Return the value of a header, or None."""


def read_caller_credentials(headers: Headers, in_body: CallerCredentials) -> CallerCredentials:
    """Return the values that the caller sent. Headers take precedence over the body."""

    def either(header: str, value: str | None) -> str | None:
        return (headers.get(header) or value or "").strip() or None

    return CallerCredentials(
        either("X-AI-Key", in_body.key),
        either("X-AI-Provider", in_body.provider),
        either("X-AI-Model", in_body.model),
    )


def choose(sent: CallerCredentials, ai: Ai) -> Credentials:
    """Return the credentials of the caller if a key is sent, else those of the operator.

    Raises:
        InvalidRequest: the key, provider or model is malformed.
        KeyRequired: neither side has a key.
    """
    if sent.key is None:
        return _operators(ai)
    if not KEY.fullmatch(sent.key):
        raise InvalidRequest.field("apiKey", "Must have 1 to 512 visible ASCII characters")
    provider = _provider(sent.provider or ai.provider)
    model = sent.model or (ai.model if provider == ai.provider else None)
    if model is None or not MODEL.fullmatch(model):
        raise InvalidRequest.field(
            "model", "Send a model of this provider" if model is None else "Must be a valid model name"
        )
    return Credentials(provider, ModelAccess(model, sent.key), own=True)


def _provider(name: str | None) -> str:
    provider = ALIASES.get((name or "").lower(), (name or "").lower())
    if provider not in PROVIDERS:
        raise InvalidRequest.field("provider", f"Must be one of {', '.join(PROVIDERS)}")
    return provider


def _operators(ai: Ai) -> Credentials:
    if ai.provider is None or ai.model is None:
        raise KeyRequired
    upstream: AiUpstream = getattr(ai, ai.provider)
    if upstream.api_key is None and urlsplit(upstream.base_url).hostname in VENDORS:
        raise KeyRequired
    return Credentials(ai.provider, ModelAccess(ai.model, upstream.api_key), own=False)
