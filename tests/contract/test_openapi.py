"""Tests of the OpenAPI document: it is valid, complete and equal to the served routes."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from openapi_spec_validator import OpenAPIV31SpecValidator

from app.http.endpoint import find_endpoint
from app.http.openapi import build
from tests.support.assertions.document_paths import document_paths
from tests.support.world import World

pytestmark = pytest.mark.one_database

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z](?![a-z])")
CREATION = {"create", "adopt", "commit", "connect", "reindex", "restore", "rotate", "refresh", "upload"}
ACCOUNT = {"sign", "start", "verify", "send", "forget", "reset", "change", "revoke", "ensure", "transfer", "check"}
ACCOUNT |= {"enable", "disable", "generate", "register", "delete"}
AI = {"run", "chat", "complete", "edit", "explain", "suggest", "fix"}
REVIEW = {"submit", "review", "publish", "resolve", "revert", "move"}
PROCESS = {"cancel", "extend", "merge", "preview", "receive", "request", "stop"}
VERBS = {
    "get": {"get", "list", "search", "compare", "stream", "resume", "complete", "start"},
    "post": CREATION | ACCOUNT | AI | REVIEW | PROCESS | {"update"},
    "patch": {"update", "set", "edit", "invite", "leave", "move", "remove"},
    "put": {"save"},
    "delete": {"delete"},
}
"""The first words of operation ids by method."""


@pytest.fixture
def document(app: Flask) -> dict[str, Any]:
    return build(app)


def served(app: Flask) -> set[tuple[str, str]]:
    """Return (method, path) of every declared route of the API."""
    declared = {name: find_endpoint(view) for name, view in app.view_functions.items()}
    paths = document_paths(app)
    return {
        (method.lower(), paths[str(rule)])
        for rule in app.url_map.iter_rules()
        if (route := declared[rule.endpoint]) is not None and not route.is_page
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }


def variants(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the alternatives of a body, or the body itself."""
    yield from schema.get("anyOf", [schema])


class TestDocument:
    def test_document_is_valid_openapi_3_1(self, document: dict[str, Any]) -> None:
        assert document["openapi"].startswith("3.1")
        assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []

    def test_document_lists_exactly_the_served_routes(self, app: Flask, document: dict[str, Any]) -> None:
        values = {(method, path) for path, operations in document["paths"].items() for method in operations}
        assert values == served(app)

    def test_role_of_an_invitation_excludes_owner(self, document: dict[str, Any]) -> None:
        for name in ("InviteMemberBody", "ChangeRoleBody"):
            for schema in variants(document["components"]["schemas"][f"organization_{name}"]):
                assert schema["properties"]["role"]["enum"] == ["admin", "editor"]

    def test_every_field_of_a_body_has_a_type(self, document: dict[str, Any]) -> None:
        bodies = [
            kind["schema"]["$ref"].rpartition("/")[2]
            for path in document["paths"].values()
            for operation in path.values()
            for kind in operation.get("requestBody", {}).get("content", {}).values()
        ]
        untold = {
            (name, field)
            for name in bodies
            for schema in variants(document["components"]["schemas"][name])
            for field, told in schema["properties"].items()
            if not {"type", "enum", "$ref", "allOf", "anyOf", "oneOf", "description"} & set(told)
        }
        assert untold == set()

    @pytest.mark.parametrize("sender", ["billing", "provider_a", "provider_b"])
    def test_webhook_has_a_body_schema(self, document: dict[str, Any], sender: str) -> None:
        taken = document["paths"][f"/api/webhooks/{sender}"]["post"]["requestBody"]["content"]["application/json"]
        assert taken["schema"]["$ref"].startswith("#/components/schemas/webhooks_")

    def test_operation_ids_are_unique(self, document: dict[str, Any]) -> None:
        ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
        assert sorted({one for one in ids if ids.count(one) > 1}) == []

    def test_operation_id_is_a_verb_of_its_method_and_an_object(self, document: dict[str, Any]) -> None:
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                verb, *objects = WORD.findall(operation["operationId"])
                assert "".join((verb, *objects)) == operation["operationId"], (method, path)
                assert verb in VERBS[method], (method, path, operation["operationId"])
                assert objects, (method, path, operation["operationId"])

    def test_operation_id_of_a_deprecated_path_names_the_main_operation(self, document: dict[str, Any]) -> None:
        operations = [one for path in document["paths"].values() for one in path.values()]
        ids = {one["operationId"] for one in operations}
        aliases = {one["operationId"] for one in operations if one.get("deprecated")}
        assert len(aliases) == 9
        assert all(one.endswith("Alias") and one.removesuffix("Alias") in ids for one in aliases)

    def test_every_operation_has_a_summary(self, document: dict[str, Any]) -> None:
        assert all(operation["summary"] for path in document["paths"].values() for operation in path.values())

    def test_operation_with_a_session_lists_its_security(self, document: dict[str, Any]) -> None:
        assert document["paths"]["/api/v1/project/create"]["post"]["security"] == [
            {"session": []},
            {"token": ["admin"]},
        ]
        commit = document["paths"]["/api/v1/project-content/{project_id}/commit"]["post"]
        assert commit["security"] == [{"session": []}, {"token": ["publish"]}, {"token": ["write"]}]
        assert document["paths"]["/api/v1/tokens"]["post"]["security"] == [{"session": []}]
        assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
        assert document["paths"]["/healthz"]["get"]["security"] == []

    def test_required_path_parameter_is_one_string(self, document: dict[str, Any]) -> None:
        asked = document["paths"]["/api/v1/project-content/{project_id}/file"]["get"]["parameters"]
        assert [each["schema"]["type"] for each in asked if each.get("name") == "file"] == ["string"]

    def test_document_is_served_with_a_page_without_external_resources(self, world: World) -> None:
        browser = world.anonymous()
        assert browser.get("/openapi.json").json["info"]["title"] == "Galley"
        with browser.get("/docs/").response as response:
            page = response.get_data(as_text=True)
        assert "Galley API reference" in page
        assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page)


class TestEveryRoute:
    def test_every_route_is_declared_with_a_guard(self, app: Flask) -> None:
        undeclared = {
            rule.endpoint
            for rule in app.url_map.iter_rules()
            if find_endpoint(app.view_functions[rule.endpoint]) is None
        }
        assert undeclared <= {"openapi", "reference.show_file"}, undeclared
