"""Conversion of Marshmallow schemas into the schemas of the document."""

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import Schema, fields, validate

from app.http.api_document.prose import PARAMETERS
from app.http.json_schema import id_keywords, keywords_of
from app.http.validation import DateTimeMs, IdField, StrictBoolean

NULL: dict[str, object] = {"type": ["string", "null"], "maxLength": 0}
"""Null, or an empty text, which counts as absent. Generators of clients do not support the type `null` alone."""

PREFIX = "#/components/schemas/"
_INTERNAL_NOTE = re.compile(r"\s*\((?:contract|spec|architecture|limits)[^)]*\)")


class Components:
    """The schema classes of the document by component name."""

    def __init__(self) -> None:
        self.classes: dict[str, type[Schema]] = {}
        self.plugin: Any = MarshmallowPlugin(schema_name_resolver=self.name_of)

    def prepare(self) -> None:
        """Register the conversion of our own fields. The plugin must belong to a document."""
        self.plugin.map_to_openapi_type(DateTimeMs, "string", "date-time")
        self.plugin.map_to_openapi_type(StrictBoolean, "boolean", None)
        self.plugin.map_to_openapi_type(fields.Url, "string", None)
        self.plugin.converter.add_attribute_function(_keywords)
        self.plugin.converter.add_parameter_attribute_function(_style)

    def name_of(self, schema: object) -> str:
        """Return the name of the component of a schema, and register its class."""
        kind: type[Schema] = schema if isinstance(schema, type) else type(schema)
        parts = kind.__module__.split(".")
        owner = parts[2] if parts[1] == "resources" else parts[1]
        name: str = getattr(kind, "COMPONENT", f"{owner}_{kind.__name__.removesuffix('Schema')}")
        self.classes[name] = kind
        return name


def _keywords(_converter: object, field: Any, **_kwargs: object) -> dict[str, object]:
    """Return keywords that apispec does not derive: choices, patterns of ids and validators, constants."""
    keywords: dict[str, object] = {}
    for validator in field.validators:
        keywords |= keywords_of(validator)
        if isinstance(validator, validate.Regexp):
            keywords["pattern"] = ecma_pattern(str(validator.regex.pattern))
    keywords |= keywords_of(field)
    if isinstance(field, IdField):
        keywords |= id_keywords(field.prefix)
    if isinstance(field, fields.Dict) and field.key_field is not None:
        for length in (validator for validator in field.key_field.validators if isinstance(validator, validate.Length)):
            keywords["propertyNames"] = _length(length)
    if isinstance(field, fields.Constant):
        keywords |= _constant(field.constant)
    if "enum" in field.metadata:
        keywords["enum"] = field.metadata["enum"]
    if "const" in field.metadata:
        keywords["const"] = field.metadata["const"]
    return keywords


def _length(validator: validate.Length) -> dict[str, int]:
    bounds = {"minLength": validator.min, "maxLength": validator.max}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _style(_converter: object, field: object, **_kwargs: object) -> dict[str, object]:
    """Return the style of an object in the query: `filter[name]=value`."""
    return {"style": "deepObject", "explode": True} if isinstance(field, fields.Dict) else {}


def _constant(value: object) -> dict[str, object]:
    if value is None:
        return NULL
    if isinstance(value, bool):
        # Generators write the only value of a boolean as a text.
        return {"type": "boolean"}
    kind = {str: "string", int: "integer", list: "array"}[type(value)]
    return {"type": kind, "maxItems": 0, "items": {}} if kind == "array" else {"type": kind, "const": value}


def ecma_pattern(pattern: str) -> str:
    """Return a pattern that is matched from the start of a text as an anchored pattern of JSON Schema."""
    return "^" + pattern.removeprefix("^").removesuffix(r"\Z").removesuffix("$") + "$"


def describe(document: dict[str, Any], classes: Mapping[str, type[Schema]], texts: Mapping[str, str]) -> None:
    """Add descriptions, alternatives, and the required fields of responses.

    `texts` contains the descriptions of fields by their name.
    """
    schemas = document["components"]["schemas"]
    responses = set(response_components(document))
    for name, schema in schemas.items():
        kind = classes.get(name)
        if kind is not None:
            schema["description"] = clean(kind.__doc__ or "")
        optional = set()
        for field, keywords in schema.get("properties", {}).items():
            if keywords.pop("x-optional", False):
                optional.add(field)
            if "default" in keywords and keywords["default"] is None:
                del keywords["default"]
            if field in texts and "$ref" not in keywords:
                keywords.setdefault("description", texts[field])
        if name in responses:
            schema["required"] = sorted(set(schema.get("properties", {})) - optional)
        schema.update(getattr(kind, "RULES", {}))
        one_of = getattr(kind, "ALTERNATIVES", None)
        if one_of:
            schemas[name] = alternatives(schema, one_of)


def describe_parameters(document: dict[str, Any], texts: Mapping[str, Mapping[str, str]]) -> None:
    """Add descriptions to query parameters, and remove defaults that mean that the parameter is absent.

    `texts` contains the descriptions of the parameters of each tag.
    """
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation["parameters"]:
                schema = parameter.get("schema", {})
                if "default" in schema and schema["default"] in (None, ""):
                    del schema["default"]
                if "enum" in schema:
                    schema["enum"] = [value for value in schema["enum"] if value is not None]
                schema.update(_not_null(schema))
                name = parameter.get("name", "")
                known = {**PARAMETERS, **texts[operation["tags"][0]]}
                description = schema.pop("description", None) or known.get(name)
                if "$ref" not in parameter and description:
                    parameter.setdefault("description", description)


def describe_forms(document: dict[str, Any]) -> None:
    """Remove null from the fields of forms, which contain text and files only, and exclude other fields."""
    schemas = document["components"]["schemas"]
    forms = [
        operation["requestBody"]["content"].get("multipart/form-data")
        for path in document["paths"].values()
        for operation in path.values()
        if "requestBody" in operation
    ]
    for name in references([form for form in forms if form]):
        properties = schemas[name]["properties"]
        schemas[name]["properties"] = {field: _not_null(keywords) for field, keywords in properties.items()}
        schemas[name]["additionalProperties"] = False


def split_nullable_enums(node: object) -> None:
    """Write each list of values with null as alternatives. Generators write a list that contains null as a text."""
    if isinstance(node, dict):
        kinds, values = node.get("type"), node.get("enum")
        if isinstance(values, list) and (None in values or (isinstance(kinds, list) and "null" in kinds)):
            del node["enum"]
            node.pop("type", None)
            texts = {"type": "string", "enum": [value for value in values if value is not None]}
            node["anyOf"] = [texts, {"type": "null"}]
        node = list(node.values())
    for part in node if isinstance(node, list) else ():
        split_nullable_enums(part)


def clean(text: str) -> str:
    """Return a docstring without notes that are useful to developers only."""
    return _INTERNAL_NOTE.sub("", " ".join(text.split()))


def alternatives(schema: dict[str, Any], one_of: tuple[tuple[str, ...], ...]) -> dict[str, object]:
    """Return a schema with one variant for each set of fields that is sufficient."""
    required = set(schema.get("required", ()))
    variants = []
    for names in one_of:
        variant = copy.deepcopy({name: value for name, value in schema.items() if name != "description"})
        for name in {name for other in one_of for name in other}:
            kind = variant["properties"][name]
            excluded = NULL | {"description": f"Absent or null with `{', '.join(names)}`"}
            variant["properties"][name] = _not_null(kind) if name in names else excluded
        variant["required"] = sorted(required | set(names))
        variants.append(variant)
    return {"description": schema.get("description", ""), "anyOf": variants}


def _not_null(schema: dict[str, object]) -> dict[str, object]:
    kind = schema.get("type")
    if not isinstance(kind, list) or "null" not in kind:
        return schema
    kinds = [name for name in kind if name != "null"]
    return schema | {"type": kinds[0] if len(kinds) == 1 else kinds}


def response_components(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the components that responses and messages use."""
    roots: list[object] = [operation["responses"] for path in document["paths"].values() for operation in path.values()]
    yield from reachable([*roots, document.get("webhooks", {})], document["components"]["schemas"])


def reachable(node: object, schemas: Mapping[str, object]) -> set[str]:
    """Return the names of the components that a part of the document refers to, also indirectly."""
    names: set[str] = set()
    queue = list(references(node))
    while queue:
        name = queue.pop()
        if name not in names:
            names.add(name)
            queue.extend(references(schemas[name]))
    return names


def references(node: object) -> Iterator[str]:
    """Yield the component names of all schema references in a part of the document."""
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str) and target.startswith(PREFIX):
            yield target.removeprefix(PREFIX)
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def new_document(title: str, version: str, components: Components, **options: object) -> APISpec:
    """Return an empty document."""
    spec = APISpec(title, version, "3.1.0", plugins=[components.plugin], **options)
    components.prepare()
    return spec
