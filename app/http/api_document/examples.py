"""Recorded examples of bodies and responses: one file for each tag in the folder `examples`.

`tests/contract/test_openapi_examples.py` records them from real requests and compares them with the document.
"""

import functools
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("examples")


@functools.cache
def recorded(tag: str) -> dict[str, dict[str, object]]:
    """Return the examples of a tag by operation id: `{request, responses}`, with responses by status and media type."""
    file = FOLDER / f"{tag}.json"
    examples: dict[str, dict[str, object]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return examples


def add_examples(document: dict[str, Any]) -> None:
    """Add the recorded examples to the operations."""
    for path in document["paths"].values():
        for operation in path.values():
            example = recorded(operation["tags"][0]).get(operation["operationId"])
            if example is not None:
                _add(operation, example)


def _add(operation: dict[str, Any], example: dict[str, Any]) -> None:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        if "request" in example:
            content["example"] = example["request"]
    for status, responses in example["responses"].items():
        contents = operation["responses"].get(status, {}).get("content", {})
        for media_type, response in responses.items():
            if media_type not in contents:
                continue
            if media_type == "text/event-stream":
                events = enumerate(response, 1)
                contents[media_type]["examples"] = {f"event-{number}": {"value": event} for number, event in events}
            else:
                contents[media_type]["example"] = response
