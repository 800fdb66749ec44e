"""Tests of URL rules with lazily compiled builders."""

import pytest
from flask import Flask
from werkzeug.routing import Map, MapAdapter, Rule

from app.http.url_rules import LazyRule

PATHS = ("/", "/users/<user_id>", "/files/<path:name>", "/pages/<int(fixed_digits=4):number>/edit")


def adapter(rule_class: type[Rule]) -> MapAdapter:
    return Map([rule_class(path, endpoint=path) for path in PATHS]).bind("galley.example.org")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the rules whose builders Werkzeug compiles."""
    calls: list[str] = []
    compile_builder = Rule._compile_builder

    def record(self: Rule, append_unknown: bool = True) -> object:
        calls.append(self.rule)
        return compile_builder(self, append_unknown)

    monkeypatch.setattr(Rule, "_compile_builder", record)
    return calls


class TestLazyRule:
    def test_urls_equal_those_of_werkzeug(self) -> None:
        values = [
            ("/", {}),
            ("/users/<user_id>", {"user_id": "a b/c"}),
            ("/users/<user_id>", {"user_id": "ü", "page": 2}),
            ("/users/<user_id>", {"user_id": "1", "self": "value"}),
            ("/files/<path:name>", {"name": "a/b c.md"}),
            ("/pages/<int(fixed_digits=4):number>/edit", {"number": 7}),
        ]
        ours, theirs = adapter(LazyRule), adapter(Rule)
        for endpoint, arguments in values:
            for append_unknown in (True, False):
                built = [each.build(endpoint, arguments, append_unknown=append_unknown) for each in (ours, theirs)]
                assert built[0] == built[1]

    def test_builder_is_compiled_once_at_its_first_use(self, compiled: list[str]) -> None:
        urls = adapter(LazyRule)
        assert compiled == []
        for number in range(3):
            assert urls.build("/users/<user_id>", {"user_id": str(number)}) == f"/users/{number}"
        assert compiled == ["/users/<user_id>"]

    def test_werkzeug_compiles_builders_of_its_rules_at_registration(self, compiled: list[str]) -> None:
        adapter(Rule)
        assert set(compiled) == set(PATHS)

    @pytest.mark.one_database
    def test_application_uses_lazy_rules(self, app: Flask) -> None:
        assert all(isinstance(rule, LazyRule) for rule in app.url_map.iter_rules())
