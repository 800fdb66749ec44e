"""Tests of the changed values of front matter."""

import json

import pytest

from app.content.front_matter.item_diff import MAX_CHANGES, MISSING, ValueChange, changed_values


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, None, []),
        ({"a": 1}, {"a": 1}, []),
        (None, {"a": 1}, [("/a", MISSING, 1)]),
        ({"a": 1}, {}, [("/a", 1, MISSING)]),
        ({"a": 1}, {"a": None}, [("/a", 1, None)]),
        (None, {"a": None}, [("/a", MISSING, None)]),
        ({"a": 1}, {"a": True}, [("/a", 1, True)]),
        ({"a": 1}, {"a": 1.0}, [("/a", 1, 1.0)]),
        ({"a": [True, 1]}, {"a": [1, True]}, [("/a", [True, 1], [1, True])]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1.0}]}, [("/a", [{"b": 1}], [{"b": 1.0}])]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [("/a/c", 2, 3)]),
        ({"a": {"b": 1}}, {"a": [1]}, [("/a", {"b": 1}, [1])]),
        ({"tags": ["x"]}, {"tags": ["x", "y"]}, [("/tags", ["x"], ["x", "y"])]),
        ({"a/b~c": 1}, {"a/b~c": 2}, [("/a~1b~0c", 1, 2)]),
    ],
)
def test_changed_values_have_pointer_and_both_values(before: object, after: object, expected: object) -> None:
    assert changed_values(before, after) == expected


@pytest.mark.parametrize("change", [ValueChange("/a", MISSING, None), ValueChange("/a", [None], MISSING)])
def test_dictionary_of_a_change_distinguishes_null_from_a_missing_value(change: ValueChange) -> None:
    assert ValueChange.from_dict(json.loads(json.dumps(change.to_dict()))) == change


def test_changed_values_are_limited() -> None:
    assert len(changed_values(None, {str(number): number for number in range(600)})) == MAX_CHANGES
