"""Recorded examples of bodies, responses and their fields: one file for each tag in the folder `examples`.

`tests/contract/test_openapi_examples.py` records them from real requests and compares them with the document.
"""

import functools
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("examples")
MAX_CHARACTERS = 80
SELF_EXPLANATORY = frozenset({"$ref", "description", "example", "const"})


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


def add_field_examples(document: dict[str, Any]) -> None:
    """Add an example to each text and number without a description, from the examples of the operations."""
    schemas = document["components"]["schemas"]
    for path in document["paths"].values():
        for operation in path.values():
            answers = (response.get("content", {}) for response in operation["responses"].values())
            for contents in (operation.get("requestBody", {}).get("content", {}), *answers):
                for content in contents.values():
                    if "example" in content:
                        _add_to_fields(content["schema"], content["example"], schemas)


def _add_to_fields(schema: dict[str, Any], value: object, schemas: dict[str, Any]) -> None:
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    for alternative in schema.get("anyOf", ()):
        _add_to_fields(alternative, value, schemas)
    if isinstance(value, list):
        for item in value:
            _add_to_fields(schema.get("items", {}), item, schemas)
    elif isinstance(value, dict):
        fields = schema.get("properties", {})
        for name in fields.keys() & value.keys():
            if _is_shown(fields[name], value[name]):
                fields[name]["example"] = value[name]
            _add_to_fields(fields[name], value[name], schemas)


def _is_shown(field: dict[str, Any], value: object) -> bool:
    if SELF_EXPLANATORY & field.keys() or isinstance(value, bool):
        return False
    longest = min(MAX_CHARACTERS, field.get("maxLength", MAX_CHARACTERS))
    return isinstance(value, int | float) or (isinstance(value, str) and 0 < len(value) <= longest)
