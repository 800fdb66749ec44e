"""Tests that the OpenAPI document only adds to the released one, `released.json`.

`GALLEY_WRITE_RELEASED=1` with this file writes `released.json` from the current document, as a part of a release.
"""

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.http.openapi import build
from tests.contract.compatibility import compact, losses

pytestmark = pytest.mark.one_database

RELEASED = Path(__file__).with_name("released.json")
ACCEPTED = {
    "200.result.token: the type string is new": "the text has no character: it is `null` in the types of generators",
    "200.token: the type string is new": "the text has no character: it is `null` in the types of generators",
    "200.result.user is no longer guaranteed": "a user who has set up a second factor continues with it",
    "200.user is no longer guaranteed": "a user who has set up a second factor continues with it",
}
"""Losses that no client notices, without the operation, and the reason."""


@pytest.fixture(scope="module")
def current(app: Flask) -> dict[str, Any]:
    return compact(build(app, with_examples=False))


@pytest.fixture
def released() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(RELEASED.read_text(encoding="utf-8"))
    return document


@pytest.mark.skipif(not os.environ.get("GALLEY_WRITE_RELEASED"), reason="writes the document of a release on request")
def test_released_document_is_written(current: dict[str, Any]) -> None:
    lines = [
        f'"{name}": {{\n'
        + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in parts.items())
        + "\n}"
        for name, parts in (("paths", current["paths"]), ("schemas", current["components"]["schemas"]))
    ]
    RELEASED.write_text("{\n" + f'{lines[0]},\n"components": {{{lines[1]}}}' + "\n}\n", encoding="utf-8")


def test_current_document_only_adds_to_the_released_one(current: dict[str, Any], released: dict[str, Any]) -> None:
    found = losses(released, current)
    remaining = [loss for loss in found if loss.partition(": ")[2] not in ACCEPTED]
    assert not remaining, "\n".join(remaining)


def operation(document: dict[str, Any]) -> dict[str, Any]:
    one: dict[str, Any] = document["paths"]["/things"]["post"]
    return one


def properties(document: dict[str, Any], name: str) -> dict[str, Any]:
    fields: dict[str, Any] = document["components"]["schemas"][name]["properties"]
    return fields


DOCUMENT = {
    "paths": {
        "/things": {
            "post": {
                "operationId": "createThing",
                "parameters": [{"name": "limit", "in": "query", "required": False, "schema": {"type": "integer"}}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Body"}}}},
                "responses": {
                    "201": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Body": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": ["string", "null"], "maxLength": 80},
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "parent": {"anyOf": [{"$ref": "#/components/schemas/Body"}, {"type": "null"}]},
                },
            },
            "Thing": {
                "type": "object",
                "required": ["id"],
                "properties": {
                    "id": {"type": "string"},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
                },
            },
        }
    },
}

LOSSES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "operation": (lambda one: one["paths"]["/things"].pop("post"), "POST /things was removed"),
    "parameter": (lambda one: operation(one)["parameters"].pop(), "the parameter limit was removed"),
    "required parameter": (
        lambda one: operation(one)["parameters"][0].update(required=True),
        "the parameter limit is required",
    ),
    "status": (lambda one: operation(one)["responses"].pop("201"), "the status 201 was removed"),
    "field of a body": (lambda one: properties(one, "Body").pop("kind"), "body.kind was removed"),
    "required field": (lambda one: one["components"]["schemas"]["Body"]["required"].append("kind"), "body.kind is req"),
    "value": (lambda one: properties(one, "Body")["kind"]["enum"].remove("b"), "body.kind refuses ['b']"),
    "type": (lambda one: properties(one, "Body")["name"].update(type="string"), "body.name: the type null is refused"),
    "length": (lambda one: properties(one, "Body")["name"].update(maxLength=8), "maxLength is 8 instead of 80"),
    "alternative": (lambda one: properties(one, "Body")["parent"]["anyOf"].pop(), "the type null is refused"),
    "field of a response": (lambda one: properties(one, "Thing").pop("parts"), "201.parts was removed"),
    "optional result": (lambda one: one["components"]["schemas"]["Thing"]["required"].pop(), "id is no longer guarant"),
    "type of a result": (
        lambda one: properties(one, "Thing")["id"].update(type=["string", "null"]),
        "201.id: the type null is new",
    ),
}

ADDITIONS: dict[str, Callable[[dict[str, Any]], object]] = {
    "operation id": lambda one: operation(one).update(operationId="newThing"),
    "operation": lambda one: one["paths"]["/things"].update(get=operation(one)),
    "field of a body": lambda one: properties(one, "Body").update(note={"type": "string"}),
    "value": lambda one: properties(one, "Body")["kind"]["enum"].append("c"),
    "optional field": lambda one: one["components"]["schemas"]["Body"]["required"].pop(),
    "field of a response": lambda one: properties(one, "Thing").update(note={"type": "string"}),
    "guaranteed result": lambda one: one["components"]["schemas"]["Thing"]["required"].append("parts"),
}


class TestComparison:
    @pytest.mark.parametrize("name", LOSSES)
    def test_loss_is_reported(self, name: str) -> None:
        change, expected = LOSSES[name]
        changed = copy.deepcopy(DOCUMENT)
        change(changed)
        assert any(expected in loss for loss in losses(compact(DOCUMENT), compact(changed)))

    @pytest.mark.parametrize("name", ADDITIONS)
    def test_addition_is_accepted(self, name: str) -> None:
        changed = copy.deepcopy(DOCUMENT)
        ADDITIONS[name](changed)
        assert losses(compact(DOCUMENT), compact(changed)) == []
