"""The changes of values as a person reads them."""

import time

import pytest

from app.content.front_matter.item_diff import MISSING, changed_values
from app.content.value_changes import MAX_LISTED, MAX_ROWS, ItemStep, RowState, ValueComparison, ValueRow

HOME, BLOG, SHOP = ({"name": name, "link": f"/{name.lower()}/"} for name in ("Home", "Blog", "Shop"))


def rows_of(before: object, after: object) -> list[ValueRow]:
    return ValueComparison().rows(changed_values({"menu": before}, {"menu": after}))


def summary(before: object, after: object) -> list[tuple[object, ...]]:
    """Return the rows of two values: path with the numbers of items, state and sides."""
    return [
        (
            "/".join(str(step.number) if isinstance(step, ItemStep) else step for step in row.path),
            str(row.state),
            row.before,
            row.after,
        )
        for row in rows_of(before, after)
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([HOME], [HOME, BLOG], [("menu/2", "added", MISSING, BLOG)]),
        ([HOME, BLOG], [BLOG], [("menu/1", "removed", HOME, MISSING)]),
        ([HOME, BLOG, SHOP], [SHOP, HOME, BLOG], [("menu/1", "moved", 3, 1)]),
        ([HOME, BLOG], [HOME, BLOG | {"link": "/news/"}], [("menu/2/link", "changed", "/blog/", "/news/")]),
        (
            [HOME, BLOG, SHOP],
            [SHOP | {"link": "/buy/"}, HOME, BLOG],
            [("menu/1", "moved", 3, 1), ("menu/1/link", "changed", "/shop/", "/buy/")],
        ),
        ([HOME, BLOG], [HOME, BLOG | {"name": "News"}], [("menu/2/name", "changed", "Blog", "News")]),
        (
            [{"name": "Home", "sub": [BLOG]}],
            [{"name": "Home", "sub": [BLOG, SHOP]}],
            [("menu/1/sub/2", "added", MISSING, SHOP)],
        ),
        (["a", "b"], ["a", "c"], [("menu/2", "removed", "b", MISSING), ("menu/2", "added", MISSING, "c")]),
        (["a", "b", "c"], ["c", "a", "b"], [("menu/1", "moved", 3, 1)]),
        (["x", "x"], ["x", "x", "x"], [("menu/3", "added", MISSING, "x")]),
        (["x", "y", "x"], ["y", "x", "x"], [("menu/1", "moved", 2, 1)]),
        (["x", "x", "y", "y"], ["y", "y", "x", "x"], [("menu/1", "moved", 3, 1), ("menu/2", "moved", 4, 2)]),
        ([{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 1}, {"a": 1}], [("menu/3", "added", MISSING, {"a": 1})]),
        ([{"src": "a.png"}], [{"src": "b.png"}], [("menu/1/src", "changed", "a.png", "b.png")]),
        ([], ["a"], [("menu/1", "added", MISSING, "a")]),
        ([HOME], [], [("menu/1", "removed", HOME, MISSING)]),
        (["a"], "a", [("menu", "changed", ["a"], "a")]),
        ([HOME], {"name": "Home"}, [("menu", "changed", [HOME], {"name": "Home"})]),
        ([HOME, "a"], [HOME, 3], [("menu/2", "removed", "a", MISSING), ("menu/2", "added", MISSING, 3)]),
        ([[1, 2]], [[1, 3]], [("menu/1", "removed", [1, 2], MISSING), ("menu/1", "added", MISSING, [1, 3])]),
        (None, [HOME], [("menu", "changed", None, [HOME])]),
        ([None, "x"], ["x"], [("menu/1", "removed", None, MISSING)]),
        ([True, 1], [1, True], [("menu/1", "moved", 2, 1)]),
        ([1, 2], [1.0, 2.0], [("menu/1", "changed", 1, 1.0), ("menu/2", "changed", 2, 2.0)]),
        ([[0]], [[False]], [("menu/1", "removed", [0], MISSING), ("menu/1", "added", MISSING, [False])]),
        (
            [{"id": 1, "n": [1]}, {"id": 2}],
            [{"id": 2}, {"id": 1.0, "n": [1]}],
            [("menu/1", "moved", 2, 1), ("menu/2/id", "changed", 1, 1.0)],
        ),
    ],
)
def test_lists_are_compared_by_item(before: object, after: object, expected: object) -> None:
    assert summary(before, after) == expected


@pytest.mark.parametrize("items", [["a", "a", "b", "b"], [{"a": 1}, {"a": 1}], [[], []], [None, None]])
def test_reorder_of_equal_items_has_no_row(items: list[object]) -> None:
    assert summary(items, list(items)) == []


def test_texts_have_the_positions_of_changed_words() -> None:
    [row] = rows_of("The pier is open today.", "The old pier is open.")
    assert [row.before[start:end] for start, end in row.removed] == [" today"]  # type: ignore[index]
    assert [row.after[start:end] for start, end in row.added] == ["old "]  # type: ignore[index]


def test_many_changed_items_are_counted() -> None:
    *listed, further = rows_of([], list(range(MAX_LISTED + 7)))
    assert len(listed) == MAX_LISTED
    assert (further.state, further.after) == (RowState.FURTHER, 7)


def test_rows_have_a_limit() -> None:
    comparison = ValueComparison()
    lists = {str(number): list(range(MAX_LISTED)) for number in range(10)}
    rows = comparison.rows(changed_values({key: [] for key in lists}, lists))
    assert (len(rows), comparison.is_complete) == (MAX_ROWS, False)


HOSTILE = [
    ([{"id": number, "text": str(number)} for number in range(10_000)], [{"id": -1, "text": ""}]),
    (["x", "y"] * 5_000, ["y", "x"] * 5_000),
    ([{"a": number} for number in range(2_000)], [{"a": -number} for number in range(2_000)]),
    ([{"a": [0.5] * 10_000}], [{"a": [number]} for number in range(3_000)]),
    ("word " * 40_000, "word " * 20_000 + "new " + "word " * 20_000),
    ("a b " * 50_000, "b a " * 50_000),
    ("x" * 200_000, "y" * 200_000),
]


@pytest.mark.parametrize(("before", "after"), HOSTILE)
def test_comparison_of_large_values_needs_little_time(before: object, after: object) -> None:
    start = time.process_time()
    rows = rows_of(before, after)
    assert rows
    assert len(rows) <= MAX_LISTED + 1
    assert time.process_time() - start < 3


def test_list_with_many_items_is_one_value() -> None:
    before, after = list(range(10_000)), list(range(1, 10_001))
    [row] = rows_of(before, after)
    assert (row.is_long_list, row.before, row.after) == (True, before, after)


def test_lists_of_a_comparison_share_the_limit() -> None:
    comparison = ValueComparison(max_items=6)
    values = changed_values({"a": [1, 2], "b": [1, 2]}, {"a": [1], "b": [2]})
    assert [row.is_long_list for row in comparison.rows(values)] == [False, False]
    comparison = ValueComparison(max_items=5)
    assert [row.is_long_list for row in comparison.rows(values)] == [False, True]
