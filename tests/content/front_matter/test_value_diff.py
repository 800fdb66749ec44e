"""Tests of the changed values of front matter."""

import pytest

from app.content.front_matter.item_diff import MAX_CHANGES, changed_values


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, None, []),
        ({"a": 1}, {"a": 1}, []),
        (None, {"a": 1}, [("/a", None, 1)]),
        ({"a": 1}, {}, [("/a", 1, None)]),
        ({"a": 1}, {"a": True}, [("/a", 1, True)]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [("/a/c", 2, 3)]),
        ({"a": {"b": 1}}, {"a": [1]}, [("/a", {"b": 1}, [1])]),
        ({"tags": ["x"]}, {"tags": ["x", "y"]}, [("/tags", ["x"], ["x", "y"])]),
        ({"a/b~c": 1}, {"a/b~c": 2}, [("/a~1b~0c", 1, 2)]),
    ],
)
def test_changed_values_have_pointer_and_both_values(before: object, after: object, expected: object) -> None:
    assert changed_values(before, after) == expected


def test_changed_values_are_limited() -> None:
    assert len(changed_values(None, {str(number): number for number in range(600)})) == MAX_CHANGES
