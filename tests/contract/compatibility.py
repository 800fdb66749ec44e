"""Comparison of an OpenAPI document with a released one: what a client of the release would lose.

The wire names count, not the names of schemas and operations. Responses may have more fields and more values of an
enumeration, requests more optional fields, values and types.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Node = Mapping[str, Any]

UPPER = ("maxLength", "maximum", "maxItems", "maxProperties")
LOWER = ("minLength", "minimum", "minItems", "minProperties")
ALTERNATIVES = ("anyOf", "oneOf")
COMPARED = {"$ref", "type", "enum", "const", "required", *UPPER, *LOWER}


def compact(document: Node) -> dict[str, Any]:
    """Return the parts of a document that the comparison reads."""
    return {
        "paths": {
            path: {method: _compact_operation(operation) for method, operation in operations.items()}
            for path, operations in document["paths"].items()
        },
        "components": {
            "schemas": {name: _compact_schema(schema) for name, schema in document["components"]["schemas"].items()}
        },
    }


def _compact_operation(operation: Node) -> dict[str, Any]:
    parameters = [one for one in operation["parameters"] if "$ref" not in one]
    body = operation.get("requestBody", {}).get("content", {})
    successes = {status: one for status, one in operation["responses"].items() if status[0] in "23"}
    return {
        "parameters": [
            {
                "name": one["name"],
                "in": one["in"],
                "required": one["required"],
                "schema": _compact_schema(one["schema"]),
            }
            for one in parameters
        ],
        "body": {kind: _compact_schema(content["schema"]) for kind, content in body.items()},
        "responses": {
            status: {kind: _compact_schema(content["schema"]) for kind, content in one.get("content", {}).items()}
            for status, one in successes.items()
        },
    }


def _compact_schema(schema: Node) -> dict[str, Any]:
    result: dict[str, Any] = {name: value for name, value in schema.items() if name in COMPARED}
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            result[name] = _compact_schema(schema[name])
    for name in (*ALTERNATIVES, "allOf"):
        if name in schema:
            result[name] = [_compact_schema(one) for one in schema[name]]
    if "properties" in schema:
        result["properties"] = {name: _compact_schema(one) for name, one in schema["properties"].items()}
    return result


def losses(released: Node, current: Node) -> list[str]:
    """Return what the current compact document refuses or lacks of the released one."""
    comparison = _Comparison(released["components"]["schemas"], current["components"]["schemas"])
    return list(comparison.paths(released["paths"], current["paths"]))


class _Comparison:
    """The schemas of both documents, and the pairs of nodes that are being compared: a schema can contain itself."""

    def __init__(self, old: Node, new: Node) -> None:
        self.old, self.new = old, new
        self.open: set[tuple[int, int, bool]] = set()

    def paths(self, old: Node, new: Node) -> Iterator[str]:
        for path, operations in old.items():
            for method, operation in operations.items():
                name = f"{method.upper()} {path}"
                if method not in new.get(path, {}):
                    yield f"{name} was removed"
                else:
                    yield from (f"{name}: {loss}" for loss in self.operation(operation, new[path][method]))

    def operation(self, old: Node, new: Node) -> Iterator[str]:
        before, after = ({(one["in"], one["name"]): one for one in side["parameters"]} for side in (old, new))
        for key, parameter in after.items():
            if parameter["required"] and not before.get(key, {}).get("required"):
                yield f"the parameter {key[1]} is required"
        for key, parameter in before.items():
            if key not in after:
                yield f"the parameter {key[1]} was removed"
            else:
                yield from self.schema(parameter["schema"], after[key]["schema"], key[1], is_request=True)
        if new["body"] and not old["body"]:
            yield "a body is required"
        yield from self.contents(old["body"], new["body"], "body", is_request=True)
        for status, contents in old["responses"].items():
            if status not in new["responses"]:
                yield f"the status {status} was removed"
            else:
                yield from self.contents(contents, new["responses"][status], status, is_request=False)

    def contents(self, old: Node, new: Node, part: str, *, is_request: bool) -> Iterator[str]:
        for kind, schema in old.items():
            if kind not in new:
                yield f"{part}: the media type {kind} was removed"
            else:
                yield from self.schema(schema, new[kind], part, is_request=is_request)

    def schema(self, old: Node, new: Node, path: str, *, is_request: bool) -> list[str]:
        """Compare two schemas. Every sent alternative needs an accepting one: of the client or of the service."""
        pair = (id(old), id(new), is_request)
        if pair in self.open:
            return []
        self.open.add(pair)
        before, after = self.alternatives(old, self.old), self.alternatives(new, self.new)
        sent, accepting = (before, after) if is_request else (after, before)
        result = []
        for one in sent:
            pairs = ((one, other) if is_request else (other, one) for other in accepting)
            candidates = [list(self.values(*each, path, is_request=is_request)) for each in pairs]
            result += min(candidates, key=len)
        self.open.discard(pair)
        return result

    def alternatives(self, schema: Node, schemas: Node) -> list[Node]:
        """Return the alternatives of a schema without references, with one type each."""
        if "$ref" in schema:
            return self.alternatives(schemas[schema["$ref"].rpartition("/")[2]], schemas)
        for name in ALTERNATIVES:
            if name in schema:
                return [each for one in schema[name] for each in self.alternatives(one, schemas)]
        if "allOf" in schema:
            parts = [part for one in schema["allOf"] for part in self.alternatives(one, schemas)]
            return [{key: value for part in (*parts, schema) for key, value in part.items()}]
        kinds = schema.get("type")
        if kinds is None and None in schema.get("enum", ()):
            kinds = ["string", "null"]
        return [_of_type(schema, kind) for kind in kinds] if isinstance(kinds, list) else [schema]

    def values(self, old: Node, new: Node, path: str, *, is_request: bool) -> Iterator[str]:
        sent, accepting = (old, new) if is_request else (new, old)
        if "type" in accepting and sent.get("type") != accepting["type"]:
            if (sent.get("type"), accepting["type"]) != ("integer", "number"):
                yield f"{path}: the type {sent.get('type')} is {'refused' if is_request else 'new'}"
            return
        if is_request:
            yield from self.refused_values(old, new, path)
        properties = new.get("properties", {})
        for name, schema in old.get("properties", {}).items():
            if name not in properties:
                yield f"{path}.{name} was removed"
            else:
                yield from self.schema(schema, properties[name], f"{path}.{name}", is_request=is_request)
        must, had = (new, old) if is_request else (old, new)
        for name in sorted(set(must.get("required", ())) - set(had.get("required", ()))):
            if is_request or name in properties:
                yield f"{path}.{name} is {'required' if is_request else 'no longer guaranteed'}"
        for name in ("items", "additionalProperties"):
            if name in old and name in new:
                yield from self.schema(old[name], new[name], f"{path}[]", is_request=is_request)

    def refused_values(self, old: Node, new: Node, path: str) -> Iterator[str]:
        values = _values(new)
        if values is not None:
            lost = [value for value in _values(old) or () if value not in values]
            if lost or _values(old) is None:
                yield f"{path} refuses {lost or 'values outside of a list'}"
        for names, is_tighter in ((UPPER, float.__lt__), (LOWER, float.__gt__)):
            for name in names:
                if name in old and name in new and is_tighter(float(new[name]), float(old[name])):
                    yield f"{path}: {name} is {new[name]} instead of {old[name]}"


def _of_type(schema: Node, kind: str) -> Node:
    """Return one alternative of a schema with several types. A list of values contains null for that type only."""
    values = {"enum": [one for one in schema["enum"] if one is not None]} if "enum" in schema else {}
    alternative = {**schema, **values, "type": kind}
    if kind == "null":
        alternative.pop("enum", None)
    return alternative


def _values(schema: Node) -> list[Any] | None:
    """Return the values that a schema permits, or None if it has no list."""
    return schema.get("enum", [schema["const"]] if "const" in schema else None)
