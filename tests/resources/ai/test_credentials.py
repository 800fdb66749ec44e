"""Choice of key, provider and model."""

import dataclasses

import pytest

from app.core.errors import InvalidRequest
from app.drivers.ai.port import ModelAccess
from app.resources.ai.credentials import CallerCredentials, Credentials, choose, read_caller_credentials
from app.resources.ai.errors import KeyRequired
from app.settings.groups import Ai, AiUpstream

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
    def test_headers_win_over_the_body(self) -> None:
        found = read_caller_credentials({"X-AI-Key": "h", "X-AI-Model": "m"}, CallerCredentials("b", "xai", "n"))
        assert found == CallerCredentials("h", "xai", "m")

    @pytest.mark.parametrize("empty", [None, "", " "])
    def test_empty_is_none(self, empty: str | None) -> None:
        assert read_caller_credentials({}, CallerCredentials(empty, empty, empty)) == NONE

    def test_key_is_not_shown(self) -> None:
        assert "sk-1" not in repr(CallerCredentials("sk-1", None, None)) + repr(
            Credentials("xai", ModelAccess("m", "sk-1"), own=True)
        )


class TestChoose:
    @pytest.mark.parametrize(
        ("name", "provider"), [("google", "gemini"), ("Grok", "xai"), ("OpenAI", "openai"), ("anthropic", "anthropic")]
    )
    def test_providers_go_by_their_other_names(self, name: str, provider: str) -> None:
        assert choose(CallerCredentials("k", name, "m/x:1"), ai()) == Credentials(
            provider, ModelAccess("m/x:1", "k"), own=True
        )

    @pytest.mark.parametrize("name", ["", "mistral", "https://evil.example/v1", "../openai", "openai\n", None])
    def test_no_other_provider_is_known(self, name: str | None) -> None:
        with pytest.raises(InvalidRequest):
            choose(CallerCredentials("k", name, "m"), ai())

    @pytest.mark.parametrize("model", ["", None, "a b", "x" * 81, "m\n", "m?x=1", "ü"])
    def test_model_is_needed_and_plain(self, model: str | None) -> None:
        with pytest.raises(InvalidRequest):
            choose(CallerCredentials("k", "xai", model), ai("openai", "gpt"))

    @pytest.mark.parametrize("key", ["a b", "k\r\nX: y", "ü", "k" * 513])
    def test_key_that_cannot_stand_in_a_header_is_refused_without_being_repeated(self, key: str) -> None:
        with pytest.raises(InvalidRequest) as caught:
            choose(CallerCredentials(key, "xai", "m"), ai())
        assert key not in str(caught.value)

    def test_operators_model_serves_ones_own_key_at_the_same_provider(self) -> None:
        assert choose(CallerCredentials("k", None, None), ai("openai", "gpt")) == Credentials(
            "openai", ModelAccess("gpt", "k"), own=True
        )

    def test_operators_key_has_the_operators_model(self) -> None:
        found = choose(CallerCredentials(None, "anthropic", "dear"), ai("openai", "gpt", key="op"))
        assert found == Credentials("openai", ModelAccess("gpt", "op"), own=False)

    def test_server_of_the_operators_own_may_want_no_key(self) -> None:
        found = choose(NONE, ai("openai", "llama", "http://127.0.0.1:11434/v1"))
        assert found == Credentials("openai", ModelAccess("llama", None), own=False)

    @pytest.mark.parametrize("settings", [ai(), ai("openai"), ai(None, "gpt", key="op"), ai("openai", "gpt")])
    def test_without_any_key_one_is_asked_for(self, settings: Ai) -> None:
        with pytest.raises(KeyRequired):
            choose(NONE, settings)
