"""Markdown of the API operations: parameters, nested fields of bodies and results, examples."""

import json
from collections.abc import Iterator
from typing import Any

METHODS = ("get", "put", "post", "patch", "delete")
MAX_DEPTH = 5
MAX_EXAMPLE_LINES = 80
HEADER = ("| field | type | |", "|---|---|---|")


class Reference:
    """The operations of an OpenAPI document as Markdown."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._schemas: dict[str, Any] = document["components"]["schemas"]

    def tags(self) -> set[str]:
        """Return every tag with a route."""
        return {tag for _, _, operation in self._operations() for tag in operation["tags"]}

    def routes(self, tags: list[str]) -> Iterator[str]:
        """Yield the lines of the routes of some tags."""
        for method, path, operation in self._operations():
            if operation["tags"][0] in tags:
                yield from self._operation(method, path, operation)

    def _operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, operations in self._document["paths"].items():
            for method in METHODS:
                if method in operations:
                    yield method, path, operations[method]

    def _operation(self, method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
        yield f"\n### `{method.upper()} {path}`\n"
        yield operation["description"] + "\n"
        rows = [
            _parameter(parameter) for parameter in operation.get("parameters", []) if parameter.get("in") == "query"
        ]
        for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
            note = " (form)" if media_type.startswith("multipart") else ""
            rows += [_row(name, note, schema, required) for name, schema, required in self.fields(content["schema"])]
            if rows:
                yield from ("**Request**\n", *HEADER, *rows, "")
            yield from _example("Example of the request", content.get("example"))
            rows = []
        if rows:
            yield from ("**Request**\n", *HEADER, *rows, "")
        for status, response in operation["responses"].items():
            if status.startswith("2"):
                yield from self._success(status, response)
        statuses = [
            f"`{status}` {response['description'].rstrip('.')}"
            for status, response in operation["responses"].items()
            if not status.startswith("2")
        ]
        if statuses:
            yield f"Other responses: {'; '.join(statuses)}.\n"

    def _success(self, status: str, response: dict[str, Any]) -> Iterator[str]:
        yield f"**Response {status}:** {response['description']}\n"
        for media_type, content in response.get("content", {}).items():
            schema = content["schema"]
            is_enveloped = "result" in schema.get("properties", {})
            shown = (
                {"type": "object", "properties": {"result": schema["properties"]["result"]}} if is_enveloped else schema
            )
            rows = [_row(name, "", field, required=False) for name, field, _ in self.fields(shown)]
            if media_type != "application/json":
                yield f"`{media_type}`\n"
            if rows:
                yield from ("| field | type | |", "|---|---|---|", *rows, "")
            events = [example["value"] for example in content.get("examples", {}).values()]
            yield from _example("Example of the response", content.get("example", events or None))

    def fields(
        self, schema: dict[str, Any], prefix: str = "", depth: int = 0
    ) -> Iterator[tuple[str, dict[str, Any], bool]]:
        """Yield the dotted name, the schema and the obligation of each field. `[]` marks the items of a list."""
        names: set[str] = set()
        variants = list(self._variants(schema))
        for variant in variants:
            if variant.get("type") == "array":
                yield from self.fields(variant["items"], f"{prefix}[]", depth)
            for name, field in variant.get("properties", {}).items():
                if name in names:
                    continue
                names.add(name)
                dotted = f"{prefix}.{name}" if prefix else name
                yield dotted, field, all(name in variant.get("required", ()) for variant in variants)
                if depth < MAX_DEPTH:
                    yield from self.fields(field, dotted, depth + 1)

    def _variants(self, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the schema, or its alternatives, without references."""
        if "$ref" in schema:
            yield from self._variants(self._schemas[schema["$ref"].rpartition("/")[2]])
        elif alternatives := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            for alternative in alternatives:
                yield from self._variants(alternative)
        elif isinstance(values := schema.get("additionalProperties"), dict):
            yield {"properties": {"*": values}}
        else:
            yield schema


def _parameter(parameter: dict[str, Any]) -> str:
    schema = parameter.get("schema", {}) | {"description": parameter.get("description", "")}
    return _row(parameter["name"], " (query)", schema, required=bool(parameter.get("required")))


def _row(name: str, note: str, schema: dict[str, Any], required: bool) -> str:
    text = " ".join(filter(None, ("Required." if required else "", schema.get("description", ""))))
    return f"| `{name}`{note} | {_type(schema)} | {text.replace('|', chr(92) + '|')} |"


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if alternatives := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(dict.fromkeys(map(_type, alternatives)))
    if "$ref" in schema or "additionalProperties" in schema:
        return "object"
    kind = schema.get("type", "any")
    shown = " or ".join(kind) if isinstance(kind, list) else kind
    shown = shown.replace("string", schema.get("format", "string"), 1)
    return f"{shown} of {_type(schema['items'])}" if "items" in schema and shown.startswith("array") else shown


def _example(title: str, value: Any) -> Iterator[str]:
    """Yield a folded block with an example."""
    if value is None:
        return
    lines = (value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)).splitlines()
    if len(lines) > MAX_EXAMPLE_LINES:
        lines = [*lines[:MAX_EXAMPLE_LINES], "…"]
    yield from (f'??? example "{title}"\n', "    ```json", *(f"    {line}" for line in lines), "    ```\n")
