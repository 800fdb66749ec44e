"""Tests of the parser of editor commands."""

from typing import Any

import pytest

from app.core.errors import InvalidRequest
from app.drivers.ai.port import Message, MessageRole
from app.resources.ai.editor_command import DOCUMENT_CHARACTERS, ToolName, read

NODES = [
    {"type": "h1", "id": "b1", "children": [{"text": "Tea"}]},
    {"type": "p", "id": "b2", "children": [{"text": "Hot."}]},
    {"type": "p", "id": "b3", "children": [{"text": " "}]},
    {"type": "p", "children": [{"text": "Nameless."}]},
]
SELECTION = {"anchor": {"path": [0, 0], "offset": 0}, "focus": {"path": [0, 0], "offset": 3}}


def command(**context: Any) -> Any:
    return read(None, "Do it", context, max_characters=100)


class TestRead:
    def test_prompt_is_the_only_message(self) -> None:
        assert command().prompt.messages == (Message(MessageRole.USER, "Do it"),)

    def test_messages_take_precedence_over_the_prompt(self) -> None:
        sent = [{"role": "user", "content": "y"}]
        assert read(sent, "x", {}, max_characters=100).prompt.messages[0].text == "y"

    @pytest.mark.parametrize("context", [{}, {"toolName": None}, {"children": [], "markdown": None}])
    def test_missing_tool_is_generate(self, context: Any) -> None:
        assert read(None, "x", context, max_characters=9).tool is ToolName.GENERATE

    def test_nodes_take_precedence_over_markdown(self) -> None:
        output = command(children=NODES, markdown="# Old").prompt.system
        assert "# Tea\n\nHot." in output
        assert "# Old" not in output

    def test_edit_prompt_names_the_selection_or_the_document(self) -> None:
        assert (
            "Rewrite the selected part" in command(children=NODES, selection=SELECTION, toolName="edit").prompt.system
        )
        assert "Rewrite the document" in command(children=NODES, toolName="edit").prompt.system

    def test_comment_blocks_have_an_id_and_text(self) -> None:
        assert command(children=NODES, toolName="comment").blocks == {"b1": "Tea", "b2": "Hot."}

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({}, "messages"),
            ({"prompt": "x", "ctx": {"markdown": "x" * (DOCUMENT_CHARACTERS + 1)}}, "ctx"),
            ({"prompt": "x", "ctx": {"toolName": "comment", "markdown": "# Tea"}}, "ctx.children"),
            ({"prompt": "x", "ctx": {"toolName": "comment", "children": NODES[2:]}}, "ctx.children"),
        ],
    )
    def test_invalid_command_raises_error_with_path(self, body: dict[str, Any], path: str) -> None:
        with pytest.raises(InvalidRequest) as caught:
            read(body.get("messages"), body.get("prompt"), body.get("ctx", {}), max_characters=100)
        assert path in str(vars(caught.value))
