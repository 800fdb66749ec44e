"""Tests of the YAML reader: values of the site generators, and limits of time and memory."""

import json
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from app.content.front_matter.values import MAX_SIZE, FrontMatterTooLarge
from app.content.front_matter.yaml_reader import read_yaml

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE_BOMB = "k0: &k0 {k: v}\n" + "".join(
    f"k{n}: &k{n} {{<<: [*k{n - 1}, *k{n - 1}], n{n}: 1}}\n" for n in range(1, 40)
)


class TestScalars:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("true", True), ("False", False), ("yes", "yes"), ("on", "on"), ("null", None), ("~", None), ("", None),
            ("12", 12), ("-3", -3), ("0o17", 15), ("0x1F", 31), ("007", "007"), ("02134", "02134"), ("00.5", "00.5"), ("0", 0), ("-0", 0), ("0.5", 0.5), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0),
            ("12:30", "12:30"), ("1_000", "1_000"), (".inf", ".inf"), ("v1", "v1"), ("1.2.3", "1.2.3"), ("-5 apples", "-5 apples"),
            ("2024-01-02", "2024-01-02"), ("2024-01-02 10:00:00", "2024-01-02 10:00:00"),
            ("2024-01-02T10:00:00Z", "2024-01-02T10:00:00Z"), ("2024-13-45T99:99", "2024-13-45T99:99"),
            ("'12'", "12"), ('"true"', "true"), ("!!str 12", "12"), ("!custom x", "x"), ("9" * 30, "9" * 30),
            ("9" * 500, "9" * 500), ("1e999", "inf"), ('"a\\0b"', "a\ufffdb"), ('!!int "7"', 7),
        ],
    )  # fmt: skip
    def test_scalar_has_the_type_of_the_generators(self, text: str, value: object) -> None:
        assert read_yaml(f"k: {text}") == {"k": value}


class TestCollections:
    def test_collections_are_nested(self) -> None:
        text = "tags:\n- a\n- b: 1\n  c: {d: [e, 2]}\nempty: {}\n"
        assert read_yaml(text) == {"tags": ["a", {"b": 1, "c": {"d": ["e", 2]}}], "empty": {}}

    def test_keys_are_converted_to_text(self) -> None:
        assert read_yaml("1: a\ntrue: b\nnull: c\n1.5: d\n2024-01-02: e") == {
            "1": "a", "true": "b", "null": "c", "1.5": "d", "2024-01-02": "e",
        }  # fmt: skip

    def test_aliases_and_merges_are_resolved(self) -> None:
        text = "base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\nsame: *b\nboth: {<<: [{x: 9}, *b]}\nodd: {<<: 1}"
        assert read_yaml(text) == {
            "base": {"x": 1, "y": 2},
            "use": {"x": 1, "y": 3},
            "same": {"x": 1, "y": 2},
            "both": {"x": 9, "y": 2},
            "odd": {"<<": 1},
        }

    @pytest.mark.parametrize(("value", "text"), [([], "[]"), ({"a": 1}, "{a: 1}"), ([{"a": 1}], "[{a: 1}]")])
    @pytest.mark.parametrize("quote", ["'", '"'])
    def test_key_in_quotes_is_no_merge(self, quote: str, value: Any, text: str) -> None:
        assert read_yaml(f"{quote}<<{quote}: {text}") == {"<<": value}

    @given(JSON)
    def test_dumped_values_are_read_back(self, value: Any) -> None:
        assert read_yaml(yaml.safe_dump(value, default_style='"')) == _without_nul(value)


class TestFaults:
    @pytest.mark.parametrize(
        "text", ["a: b: c", "[", "a: *nowhere", "a: &a [*a]", "? [a]\n: b", "a: 1\n--- \nb: 2", "\tx", "a: 'b", "%TAG"]
    )
    def test_invalid_yaml_raises_value_error_with_a_reason(self, text: str) -> None:
        with pytest.raises(ValueError) as fault:
            read_yaml(text)
        assert str(fault.value)

    def test_invalid_yaml_error_names_the_line(self) -> None:
        with pytest.raises(ValueError, match="line 2"):
            read_yaml("a: 1\nb: c: d\n")

    @pytest.mark.parametrize(
        "text", [BOMB, MERGE_BOMB, "x" * (MAX_SIZE + 1), "- a\n" * MAX_SIZE], ids=["alias", "merge", "long", "many"]
    )
    def test_alias_bomb_raises_front_matter_too_large(self, text: str) -> None:
        with pytest.raises(FrontMatterTooLarge):
            read_yaml(text)

    @pytest.mark.parametrize(
        "text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 100_000], ids=["[", "{", "-", "?"]
    )
    def test_deep_nesting_does_not_overflow_the_stack(self, text: str) -> None:
        with pytest.raises(ValueError):
            read_yaml(text)

    @given(st.text())
    def test_any_text_returns_json_or_raises_value_error(self, text: str) -> None:
        with suppress(ValueError):
            json.dumps(read_yaml(text), allow_nan=False)


def _without_nul(value: Any) -> Any:
    return json.loads(json.dumps(value).replace("\\u0000", "\\ufffd"))
