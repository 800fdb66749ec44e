"""Tests of the choice of key, provider and model."""

import dataclasses

import pytest

from app.core.errors import InvalidRequest
from app.drivers.ai.port import ModelAccess
from app.resources.ai.credentials import CallerCredentials, Credentials, choose, read_caller_credentials
from app.resources.ai.errors import KeyRequired
from app.settings.providers import Ai, AiUpstream

NONE = CallerCredentials(None, None, None)


def ai(
    provider: str | None = None,
    model: str | None = None,
    url: str = "https://api.openai.com/v1",
    key: str | None = None,
) -> Ai:
    upstream = AiUpstream("https://example.org", None)
    return Ai(provider, model, dataclasses.replace(upstream, base_url=url, api_key=key), upstream, upstream, upstream)


class TestReadCallerCredentials:
    def test_headers_take_precedence_over_the_body(self) -> None:
        credentials = read_caller_credentials({"X-AI-Key": "h", "X-AI-Model": "m"}, CallerCredentials("b", "xai", "n"))
        assert credentials == CallerCredentials("h", "xai", "m")

    @pytest.mark.parametrize("empty", [None, "", " "])
    def test_empty_values_are_none(self, empty: str | None) -> None:
        assert read_caller_credentials({}, CallerCredentials(empty, empty, empty)) == NONE

    def test_repr_does_not_contain_the_key(self) -> None:
        assert "sk-1" not in repr(CallerCredentials("sk-1", None, None)) + repr(
            Credentials("xai", ModelAccess("m", "sk-1"), own=True)
        )


class TestChoose:
    @pytest.mark.parametrize(
        ("name", "provider"), [("google", "gemini"), ("Grok", "xai"), ("OpenAI", "openai"), ("anthropic", "anthropic")]
    )
    def test_provider_alias_selects_the_provider(self, name: str, provider: str) -> None:
        assert choose(CallerCredentials("k", name, "m/x:1"), ai()) == Credentials(
            provider, ModelAccess("m/x:1", "k"), own=True
        )

    @pytest.mark.parametrize("name", ["", "mistral", "https://evil.example/v1", "../openai", "openai\n", None])
    def test_unknown_provider_raises_invalid_request(self, name: str | None) -> None:
        with pytest.raises(InvalidRequest):
            choose(CallerCredentials("k", name, "m"), ai())

    @pytest.mark.parametrize("model", ["", None, "a b", "x" * 81, "m\n", "m?x=1", "ü"])
    def test_missing_or_invalid_model_raises_invalid_request(self, model: str | None) -> None:
        with pytest.raises(InvalidRequest):
            choose(CallerCredentials("k", "xai", model), ai("openai", "gpt"))

    @pytest.mark.parametrize("key", ["a b", "k\r\nX: y", "ü", "k" * 513])
    def test_key_with_invalid_characters_raises_error_without_the_key(self, key: str) -> None:
        with pytest.raises(InvalidRequest) as caught:
            choose(CallerCredentials(key, "xai", "m"), ai())
        assert key not in str(caught.value)

    def test_own_key_without_a_model_uses_the_operators_model(self) -> None:
        assert choose(CallerCredentials("k", None, None), ai("openai", "gpt")) == Credentials(
            "openai", ModelAccess("gpt", "k"), own=True
        )

    def test_operators_key_uses_the_operators_model(self) -> None:
        credentials = choose(CallerCredentials(None, "anthropic", "dear"), ai("openai", "gpt", key="op"))
        assert credentials == Credentials("openai", ModelAccess("gpt", "op"), own=False)

    def test_operators_server_without_a_key_is_chosen(self) -> None:
        credentials = choose(NONE, ai("openai", "llama", "http://127.0.0.1:11434/v1"))
        assert credentials == Credentials("openai", ModelAccess("llama", None), own=False)

    @pytest.mark.parametrize("settings", [ai(), ai("openai"), ai(None, "gpt", key="op"), ai("openai", "gpt")])
    def test_without_a_key_raises_key_required(self, settings: Ai) -> None:
        with pytest.raises(KeyRequired):
            choose(NONE, settings)
