"""Reading UI message streams in tests."""

import json
from typing import Any

from tests.support.world import Answer

Part = dict[str, Any]


def parts(answer: Answer | bytes) -> list[Part]:
    """Return the frames of a stream, which must be well-formed and end with [DONE]."""
    raw = answer if isinstance(answer, bytes) else answer.response.get_data()
    frames = [frame for frame in raw.decode().split("\n\n") if frame and not frame.startswith(":")]
    assert frames[-1] == "data: [DONE]", frames[-3:]
    assert all(frame.startswith("data: ") and "\n" not in frame for frame in frames)
    return [json.loads(frame.removeprefix("data: ")) for frame in frames[:-1]]


def kinds(found: list[Part]) -> list[str]:
    return [part["type"] for part in found]


def text(found: list[Part]) -> str:
    return "".join(part["delta"] for part in found if part["type"] == "text-delta")


def of_kind(found: list[Part], kind: str) -> list[Part]:
    return [part for part in found if part["type"] == kind]
