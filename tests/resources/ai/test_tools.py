"""Tests of the chat's tools: bounds of their results, and their problems."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from app.core.errors import NotFound, PermissionDenied
from app.drivers.ai.port import ToolCall
from app.drivers.errors import UpstreamError
from app.resources.ai import tools
from app.resources.ai.tools import ALL_CHARACTERS, READ_CHARACTERS, ProjectTools, ToolResult, parsed


def call(arguments: str = "{}", name: str = "read_file") -> ToolCall:
    return ToolCall("c", name, arguments)


def no_project(_user_id: str | None, _project_id: str) -> Mapping[str, Any]:
    raise NotFound


def tools_with(outcome: Callable[[], Any]) -> ProjectTools:
    """Return project tools whose database calls have this outcome."""
    return ProjectTools(lambda _call: outcome(), no_project, "usr", "prj", hosts=None)  # type: ignore[arg-type]


def raising(error: Exception) -> Callable[[], Any]:
    def run() -> Any:
        raise error

    return run


class TestParsed:
    @pytest.mark.parametrize(
        ("arguments", "value"),
        [("", {}), ("{}", {}), ('{"a": 1}', {"a": 1}), ("[]", None), ("1", None), ("null", None), ("{", None), ('"x"', None)],
    )  # fmt: skip
    def test_arguments_other_than_an_object_are_none(self, arguments: str, value: Any) -> None:
        assert parsed(call(arguments)) == value


class TestUse:
    def test_use_beyond_the_total_characters_returns_a_problem(self) -> None:
        large = ToolResult({"text": "x" * (ALL_CHARACTERS // 2)})
        shelf = tools_with(lambda: large)
        assert [shelf.use(call()).problem is None for _ in range(3)] == [True, True, False]
        assert "The limit of one question" in shelf.use(call()).text

    @pytest.mark.parametrize(
        ("error", "said"), [(NotFound("No such file"), "No such file"), (UpstreamError("The host is broken"), "The host is broken")]
    )  # fmt: skip
    def test_error_becomes_the_problem(self, error: Exception, said: str) -> None:
        assert tools_with(raising(error)).use(call()).problem == said

    def test_lost_permission_raises_permission_denied(self) -> None:
        with pytest.raises(PermissionDenied):
            tools_with(raising(PermissionDenied())).use(call())

    def test_invalid_arguments_return_a_problem_without_a_query(self) -> None:
        assert tools_with(raising(AssertionError())).use(call("{")).problem == "The arguments must be a JSON object"

    def test_text_is_the_value_as_json_or_the_problem(self) -> None:
        assert json.loads(ToolResult({"a": "ü"}).text) == {"a": "ü"}
        assert ToolResult(None, "no").text == "no"


class TestPart:
    def test_short_file_is_returned_whole(self) -> None:
        assert tools._part("a", "1\n2\n", 1) == {"path": "a", "start_line": 1, "lines": 3, "text": "1\n2\n"}

    def test_long_file_is_returned_in_consecutive_parts(self) -> None:
        text = "\n".join(f"{number} {'x' * 90}" for number in range(2000))
        lines: list[str] = []
        start: int | None = 1
        while start is not None:
            part = tools._part("a", text, start)
            assert len(part["text"]) <= READ_CHARACTERS
            lines += part["text"].split("\n")
            start = part.get("next_line")
        assert "\n".join(lines) == text

    def test_long_line_is_truncated_and_the_next_line_is_named(self) -> None:
        part = tools._part("a", "x" * (READ_CHARACTERS + 5) + "\nnext", 1)
        assert (len(part["text"]), part["next_line"]) == (READ_CHARACTERS, 2)

    @pytest.mark.parametrize("start", [3, 10**12])
    def test_start_beyond_the_end_returns_empty_text(self, start: int) -> None:
        part = tools._part("a", "1\n2", start)
        assert (part["text"], part["lines"], "next_line" in part) == ("", 2, False)
