"""Tests of ranges that are selected in documents."""

from typing import Any

import pytest

from app.resources.ai.editor_command import selected, to_markdown

NODES = [
    {"type": "p", "children": [{"text": "The quick "}, {"text": "brown", "bold": True}, {"text": " fox"}]},
    {"type": "p", "children": [{"text": "jumps"}]},
    {"type": "p", "children": [{"text": "over "}, {"type": "a", "url": "/d", "children": [{"text": "the dog"}]}]},
]


def span(a: list[int], a_offset: int, b: list[int], b_offset: int) -> dict[str, Any]:
    return {"anchor": {"path": a, "offset": a_offset}, "focus": {"path": b, "offset": b_offset}}


class TestSelected:
    @pytest.mark.parametrize(
        ("selection", "markdown"),
        [
            (span([0, 0], 4, [0, 0], 9), "quick"),
            (span([0, 0], 4, [0, 2], 4), "quick **brown** fox"),
            (span([0, 2], 4, [0, 0], 4), "quick **brown** fox"),
            (span([0, 1], 2, [2, 0], 4), "**own** fox\n\njumps\n\nover"),
            (span([1, 0], 0, [2, 1, 0], 3), "jumps\n\nover [the](/d)"),
            (span([0, 0], 0, [9, 9], 9), to_markdown(NODES)),
        ],
    )
    def test_range_returns_the_part_between_its_points(self, selection: dict[str, Any], markdown: str) -> None:
        assert to_markdown(selected(NODES, selection)).strip() == markdown

    @pytest.mark.parametrize(
        "selection",
        [None, 7, {}, {"anchor": None, "focus": None}, span([0, 0], 3, [0, 0], 3), span(["x"], 0, [1], 0),  # type: ignore[list-item]
         span([-1], 0, [1], 0), span([0], -1, [1], 0), {"anchor": {"path": 5, "offset": 0}, "focus": {"path": [0], "offset": 0}}],
    )  # fmt: skip
    def test_caret_or_invalid_range_returns_no_nodes(self, selection: Any) -> None:
        assert selected(NODES, selection) == []
