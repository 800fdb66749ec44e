"""Tests of the AI SDK's UI message stream, frame by frame."""

import json

import pytest

from app.resources.ai import streams


def value(frame: bytes) -> dict[str, str]:
    assert frame.startswith(b"data: ")
    assert frame.endswith(b"\n\n")
    assert frame.count(b"\n") == 2
    return dict(json.loads(frame[6:]))


class TestText:
    def test_first_delta_opens_and_end_closes_the_text_once(self) -> None:
        out = streams.Text("t1")
        assert out.end() == b""
        opened, first = out.delta("a").split(b"\n\n")[:2]
        assert json.loads(opened[6:]) == {"type": "text-start", "id": "t1"}
        assert json.loads(first[6:]) == {"type": "text-delta", "id": "t1", "delta": "a"}
        assert value(out.delta("b"))["delta"] == "b"
        assert value(out.end()) == {"type": "text-end", "id": "t1"}
        assert out.end() == b""

    @pytest.mark.parametrize("text", ['"', "\\", "\n\n", "data: [DONE]\n\n", "\u2028", "\x00", "🌍", "</data>"])
    def test_special_characters_do_not_break_a_frame(self, text: str) -> None:
        out = streams.Text('i"d\n')
        out.delta("first")
        assert value(out.delta(text)) == {"type": "text-delta", "id": 'i"d\n', "delta": text}
        assert value(streams.error(text)) == {"type": "error", "errorText": text}
