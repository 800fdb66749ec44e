"""Whose key is used, and where."""

import dataclasses

import pytest

from app.core.errors import Invalid
from app.core.settings import Ai, AiUpstream
from app.drivers.ai.port import Access
from app.resources.ai.credentials import Credentials, Given, choose, given_in
from app.resources.ai.errors import KeyRequired

NONE = Given(None, None, None)


def ai(
    provider: str | None = None,
    model: str | None = None,
    url: str = "https://api.openai.com/v1",
    key: str | None = None,
) -> Ai:
    upstream = AiUpstream("https://example.org", None)
    return Ai(provider, model, dataclasses.replace(upstream, base_url=url, api_key=key), upstream, upstream, upstream)


class TestGivenIn:
    def test_headers_win_over_the_body(self) -> None:
        found = given_in({"X-AI-Key": "h", "X-AI-Model": "m"}, {"apiKey": "b", "provider": "xai", "model": "n"})
        assert found == Given("h", "xai", "m")

    @pytest.mark.parametrize("empty", [None, "", " "])
    def test_empty_is_none(self, empty: str | None) -> None:
        assert given_in({}, {"apiKey": empty, "provider": empty, "model": empty}) == NONE

    def test_key_is_not_shown(self) -> None:
        assert "sk-1" not in repr(Given("sk-1", None, None)) + repr(Credentials("xai", Access("m", "sk-1"), own=True))


class TestChoose:
    @pytest.mark.parametrize(
        ("name", "provider"), [("google", "gemini"), ("Grok", "xai"), ("OpenAI", "openai"), ("anthropic", "anthropic")]
    )
    def test_providers_go_by_their_other_names(self, name: str, provider: str) -> None:
        assert choose(Given("k", name, "m/x:1"), ai()) == Credentials(provider, Access("m/x:1", "k"), own=True)

    @pytest.mark.parametrize("name", ["", "mistral", "https://evil.example/v1", "../openai", "openai\n", None])
    def test_no_other_provider_is_known(self, name: str | None) -> None:
        with pytest.raises(Invalid):
            choose(Given("k", name, "m"), ai())

    @pytest.mark.parametrize("model", ["", None, "a b", "x" * 81, "m\n", "m?x=1", "ü"])
    def test_model_is_needed_and_plain(self, model: str | None) -> None:
        with pytest.raises(Invalid):
            choose(Given("k", "xai", model), ai("openai", "gpt"))

    @pytest.mark.parametrize("key", ["a b", "k\r\nX: y", "ü", "k" * 513])
    def test_key_that_cannot_stand_in_a_header_is_refused_without_being_repeated(self, key: str) -> None:
        with pytest.raises(Invalid) as caught:
            choose(Given(key, "xai", "m"), ai())
        assert key not in str(caught.value)

    def test_operators_model_serves_ones_own_key_at_the_same_provider(self) -> None:
        assert choose(Given("k", None, None), ai("openai", "gpt")) == Credentials(
            "openai", Access("gpt", "k"), own=True
        )

    def test_operators_key_has_the_operators_model(self) -> None:
        found = choose(Given(None, "anthropic", "dear"), ai("openai", "gpt", key="op"))
        assert found == Credentials("openai", Access("gpt", "op"), own=False)

    def test_server_of_the_operators_own_may_want_no_key(self) -> None:
        found = choose(NONE, ai("openai", "llama", "http://127.0.0.1:11434/v1"))
        assert found == Credentials("openai", Access("llama", None), own=False)

    @pytest.mark.parametrize("settings", [ai(), ai("openai"), ai(None, "gpt", key="op"), ai("openai", "gpt")])
    def test_without_any_key_one_is_asked_for(self, settings: Ai) -> None:
        with pytest.raises(KeyRequired):
            choose(NONE, settings)
