"""Tests of the properties of every operation of the OpenAPI document. A message names the operation and the remedy."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from flask import Flask

from app.http.api_document.components import reachable
from app.http.api_document.error_codes import TABLES, error_codes, markdown
from app.http.api_document.operations import shape_of
from app.http.blueprint import tags
from app.http.openapi import build
from tests.contract.test_openapi_examples import operations

pytestmark = pytest.mark.one_database

APP = Path(__file__).parents[2] / "app"
CODE = re.compile(r"""\bcode(?:, message)? ?= ?(?:\(?\d+, )?["']([A-Z][A-Z0-9_]{3,})["']""")
STATUS_CODE = re.compile(r"""status, code, message = \d+, ["']([A-Z][A-Z0-9_]+)["']""")
FAILURE_CODE = re.compile(r"""_fail\(.*["']([A-Z][A-Z0-9_]{3,})["']""")
QUOTED_CODE = re.compile(r"""["']([A-Z]+_[A-Z_]+)["']""")
PROXY, PROXY_CODE = APP.parent / "deploy" / "nginx" / "galley.conf.template", re.compile('"code":"([A-Z_]+)"')
INTERNAL_NOTE = re.compile(r"\b(contract|specification|spec)\b,? ?(section|\d)", re.IGNORECASE)
TYPED = {"type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf"}


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    return build(app)


def fail(faults: list[str]) -> None:
    assert not faults, "\n" + "\n".join(faults)


def nodes(node: object, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object of the document with its position."""
    if isinstance(node, dict):
        yield where, node
    for name, part in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from nodes(part, f"{where}/{name}")


def successes(operation: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for status, one in operation["responses"].items() if status.startswith("2")]


class TestOperations:
    def test_success_has_a_schema(self, document: dict[str, Any]) -> None:
        fail(
            [
                f"{method.upper()} {path}: the success has no schema. Give @endpoint result=, events=, media_type= or redirect="
                for method, path, operation in operations(document)
                if not {"302", "204"} & set(operation["responses"])
                and not all(
                    has_type(content.get("schema", {}))
                    for success in successes(operation) or [{}]
                    for content in success.get("content", {"": {}}).values()
                )
            ]
        )

    def test_tag_summary_and_description_exist(self, document: dict[str, Any]) -> None:
        described = {tag["name"] for tag in document["tags"] if tag["description"]}
        faults = []
        for method, path, operation in operations(document):
            if not set(operation["tags"]) <= described:
                faults.append(f"{path}: describe the ApiBlueprint {operation['tags']}")
            if not operation["summary"] or not operation["description"]:
                faults.append(f"{method.upper()} {path}: the view has no docstring")
            if f"Permission: {operation['x-guard']}" in operation["description"]:
                faults.append(f"{path}: give the guard {operation['x-guard']!r} a description")
        fail(faults)

    def test_parameter_has_a_type_and_a_description(self, document: dict[str, Any]) -> None:
        fail(
            [
                f"{method.upper()} {path}: describe the parameter {parameter['name']} in its ApiBlueprint"
                for method, path, operation in operations(document)
                for parameter in operation["parameters"]
                if "$ref" not in parameter
                and not (parameter.get("description") and TYPED & set(parameter.get("schema", {})))
            ]
        )

    def test_error_response_lists_its_codes(self, document: dict[str, Any]) -> None:
        for _, path, operation in operations(document):
            for status, response in operation["responses"].items():
                if status[0] in "45" and (status, "getReadiness") != ("503", operation["operationId"]):
                    assert response["x-error-codes"], (path, status)
                    assert set(response["content"]["application/json"]["examples"]) == set(response["x-error-codes"])
            if operation["security"]:
                assert {"401", "429", "503"} <= set(operation["responses"]), path

    def test_headers_are_documented(self, document: dict[str, Any]) -> None:
        for method, path, operation in operations(document):
            names = {one["$ref"].rpartition("/")[2] for one in operation["parameters"] if "$ref" in one}
            if method != "get" and operation["security"]:
                assert "IdempotencyKey" in names, path
            assert ("412" in operation["responses"]) == ("IfMatch" in names), path
            for response in operation["responses"].values():
                assert "X-Request-Id" in response["headers"], path
            if "429" in operation["responses"]:
                assert "Retry-After" in operation["responses"]["429"]["headers"], path


class TestSchemas:
    def test_field_has_a_type(self, document: dict[str, Any]) -> None:
        fail(
            [
                f"components/schemas/{name}.{field}: give the field a type or metadata={{'type': …}}"
                for name, schema in document["components"]["schemas"].items()
                for variant in schema.get("anyOf", [schema])
                for field, keywords in variant.get("properties", {}).items()
                if not has_type(keywords)
            ]
        )

    def test_field_has_a_description_or_an_example(self, document: dict[str, Any]) -> None:
        fail(
            [
                f"components/schemas/{name}.{field}: give the field metadata={{'description': …}}"
                for name, schema in document["components"]["schemas"].items()
                for variant in schema.get("anyOf", [schema])
                for field, keywords in variant.get("properties", {}).items()
                if not {"$ref", "description", "example"} & set(keywords)
            ]
        )

    def test_response_schema_lists_required_fields(self, document: dict[str, Any]) -> None:
        schemas = document["components"]["schemas"]
        names = reachable([operation["responses"] for _, _, operation in operations(document)], schemas)
        without = [name for name in names if schemas[name].get("properties") and "required" not in schemas[name]]
        assert without == []

    def test_schemas_of_bodies_and_responses_are_disjoint(self, document: dict[str, Any]) -> None:
        schemas = document["components"]["schemas"]
        sent = reachable([one["requestBody"] for _, _, one in operations(document) if "requestBody" in one], schemas)
        returned = reachable([one["responses"] for _, _, one in operations(document)], schemas)
        fail(
            [f"{name}: use one schema for the body and another one for the result" for name in sorted(sent & returned)]
        )

    def test_default_value_has_the_type_of_its_field(self, document: dict[str, Any]) -> None:
        fail(
            [
                f"components/schemas/{name}.{field}: the default null is not of type {keywords.get('type')}"
                for name, schema in document["components"]["schemas"].items()
                for field, keywords in schema.get("properties", {}).items()
                if "default" in keywords and keywords["default"] is None
            ]
        )

    def test_list_of_values_has_one_type(self, document: dict[str, Any]) -> None:
        fail(
            [
                f"{where}: write the values with null as anyOf"
                for where, node in nodes(document)
                if isinstance(node.get("enum"), list)
                and (None in node["enum"] or not isinstance(node.get("type", ""), str))
            ]
        )


class TestDocument:
    def test_message_and_route_have_no_tag_in_common(self, document: dict[str, Any]) -> None:
        routes = {tag for _, _, operation in operations(document) for tag in operation["tags"]}
        messages = {tag for item in document["webhooks"].values() for tag in item["post"]["tags"]}
        assert messages <= {tag["name"] for tag in document["tags"]} - routes

    @pytest.mark.parametrize(
        ("body", "is_valid"),
        [
            ({}, False),
            ({"events": None}, False),
            ({"events": ["branch.moved"]}, True),
            ({"format": "standard"}, False),
            ({"format": "standard", "events": ["branch.moved"]}, True),
            ({"format": "empty"}, False),
            ({"format": "empty", "project_id": "prj_01h00000000000000000000000"}, True),
        ],
    )
    def test_webhook_requires_the_fields_of_its_format(
        self, document: dict[str, Any], body: dict[str, object], is_valid: bool
    ) -> None:
        schema = document["components"]["schemas"]["outbound_webhook_CreateWebhookBody"]
        validator = jsonschema_rs.Draft202012Validator(schema | {"components": document["components"]})
        assert validator.is_valid({"url": "https://hooks.example.org/"} | body) is is_valid

    def test_paths_are_unique(self, document: dict[str, Any]) -> None:
        shapes = [shape_of(path) for path in document["paths"]]
        assert sorted({shape for shape in shapes if shapes.count(shape) > 1}) == []

    def test_texts_do_not_refer_to_a_specification(self, document: dict[str, Any]) -> None:
        fail([f"{where}: {text[:120]}" for where, text in texts(document) if INTERNAL_NOTE.search(text)])

    def test_every_tag_is_used(self, app: Flask, document: dict[str, Any]) -> None:
        used = {tag for _, _, operation in operations(document) for tag in operation["tags"]}
        fail([f"no route has the tag {tag.name}" for tag in tags(app) if tag.name not in used])

    def test_every_described_parameter_is_used(self, app: Flask, document: dict[str, Any]) -> None:
        used = {
            (operation["tags"][0], parameter.get("name"))
            for _, _, operation in operations(document)
            for parameter in operation["parameters"]
        }
        described = {(tag.name, name) for tag in tags(app) for name in tag.parameters}
        assert sorted(described - used) == []

    def test_server_is_the_base_url(self, app: Flask, document: dict[str, Any]) -> None:
        assert document["servers"] == [{"url": app.config["SETTINGS"].server.base_url}]

    def test_flat_surfaces_repeat_the_keys_of_the_result(self, document: dict[str, Any]) -> None:
        started = document["paths"]["/api/auth/provider_a/start"]["post"]["responses"]["200"]
        assert "url" in started["content"]["application/json"]["schema"]["properties"]
        profile = document["paths"]["/api/v1/user/{id}"]["get"]["responses"]["200"]
        assert "email" not in profile["content"]["application/json"]["schema"]["properties"]


class TestErrorCodes:
    def test_every_code_of_the_source_is_in_the_table(self) -> None:
        codes = {
            code
            for file in APP.rglob("*.py")
            for pattern in (CODE, STATUS_CODE, FAILURE_CODE)
            for code in pattern.findall(file.read_text(encoding="utf-8"))
        }
        codes |= set(QUOTED_CODE.findall((APP / "http" / "server_errors.py").read_text(encoding="utf-8")))
        codes |= set(PROXY_CODE.findall(PROXY.read_text(encoding="utf-8")))
        missing = sorted(codes - set(error_codes()))
        assert not missing, f"add to the error_codes.toml of the package: {', '.join(missing)}"

    def test_code_is_in_one_table(self) -> None:
        codes = [code for table in TABLES for code in tomllib.loads(table.read_text(encoding="utf-8"))]
        assert sorted(code for code, times in Counter(codes).items() if times > 1) == []

    def test_page_of_the_errors_is_generated_from_the_table(self) -> None:
        page = (APP.parent / "docs" / "errors.md").read_text(encoding="utf-8")
        assert page == markdown(), "run make reference"

    def test_every_declared_code_is_in_the_table(self, app: Flask) -> None:
        declared = {
            code.rpartition(" ")[2]
            for view in app.view_functions.values()
            for code in getattr(getattr(view, "declaration", None), "errors", ())
        }
        assert sorted(declared - set(error_codes())) == []


class TestAllow:
    def test_options_lists_the_methods_of_the_path(self, app: Flask, document: dict[str, Any]) -> None:
        client = app.test_client()
        faults = []
        for path, methods in document["paths"].items():
            url = re.sub(r"\{(\w+)\}", lambda match: "1", path)
            allowed = set(client.options(url).headers["Allow"].split(", ")) - {"HEAD", "OPTIONS"}
            if allowed != {method.upper() for method in methods}:
                faults.append(f"OPTIONS {path}: Allow {sorted(allowed)}, documented {sorted(methods)}")
        fail(faults)


def has_type(schema: dict[str, Any]) -> bool:
    """Return whether a schema describes the value. An envelope must describe its result."""
    if "result" in schema.get("properties", {}) and not has_type(schema["properties"]["result"]):
        return False
    return bool(TYPED & set(schema)) or "description" in schema


def texts(node: Any, where: str = "") -> list[tuple[str, str]]:
    """Return all summaries and descriptions with their position."""
    if isinstance(node, dict):
        own = [
            (f"{where}/{name}", node[name]) for name in ("summary", "description") if isinstance(node.get(name), str)
        ]
        return own + [text for name, value in node.items() for text in texts(value, f"{where}/{name}")]
    return (
        [text for number, value in enumerate(node) for text in texts(value, f"{where}/{number}")]
        if isinstance(node, list)
        else []
    )
