"""Tests of the examples of the OpenAPI document. They are recorded from real requests and match the schemas.

`GALLEY_WRITE_EXAMPLES=1` with this file records missing examples. `GALLEY_WRITE_EXAMPLES=all` records all again.
"""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from flask import Flask

from app.http.api_document import examples
from app.http.openapi import build
from tests.contract.recording import WRITTEN, Recorder
from tests.contract.scene import template

pytestmark = pytest.mark.one_database

WRITE = os.environ.get("GALLEY_WRITE_EXAMPLES", "")
HELP = "run GALLEY_WRITE_EXAMPLES=1 .venv/bin/python -m pytest --store=sqlite tests/contract/test_openapi_examples.py"
WITHOUT_EXAMPLE = {
    ("getMedia", "200", "application/octet-stream"): "the bytes of an image",
    ("getMedia", "200", "image/*"): "the bytes of an image",
}
"""Contents of successes without an example, and what they are instead of JSON or text."""


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    return build(app)


@pytest.mark.skipif(not WRITE, reason="records examples only on request")
def test_missing_examples_are_recorded(app: Flask, tmp_path: Path, document: dict[str, Any]) -> None:
    recorder = Recorder(app, template(tmp_path / "site.git"))
    for method, path, operation in operations(document):
        known, name = examples.recorded(operation["tags"][0]), operation["operationId"]
        if name not in WRITTEN and (contents_without_example(operation) or (WRITE == "all" and name in known)):
            known[name] = recorder.record(method, path, operation)
    for tag in {operation["tags"][0] for _, _, operation in operations(document)}:
        used = {one["operationId"] for _, _, one in operations(document)}
        text = {name: example for name, example in sorted(examples.recorded(tag).items()) if name in used}
        if text:
            content = json.dumps(text, indent=1, ensure_ascii=False) + "\n"
            (examples.FOLDER / f"{tag}.json").write_text(content, encoding="utf-8")
    assert not recorder.problems, "\n".join(recorder.problems)


def test_every_body_and_success_has_an_example_that_matches_its_schema(document: dict[str, Any]) -> None:
    if WRITE:
        document = document | {}
        examples.add_examples(document)
    faults: list[str] = []
    for method, path, operation in operations(document):
        name = f"{method.upper()} {path}"
        for content in operation.get("requestBody", {}).get("content", {}).values():
            faults += faults_of(document, content, f"body of {name}")
        faults += [f"{name} has no example of {content}: {HELP}" for content in contents_without_example(operation)]
        for status, media_type, content in successes(operation):
            if {"example", "examples"} & set(content):
                faults += faults_of(document, content, f"{status} {media_type} of {name}")
    assert not faults, "\n".join(faults)


def test_example_of_a_field_matches_its_schema(document: dict[str, Any]) -> None:
    faults = []
    for name, schema in document["components"]["schemas"].items():
        for variant in schema.get("anyOf", [schema]):
            for field, keywords in variant.get("properties", {}).items():
                content = {"schema": keywords, "example": keywords.get("example")}
                if "example" in keywords:
                    faults += faults_of(document, content, f"field {field} of {name}")
    assert not faults, "\n".join(faults)


def test_field_without_a_description_has_the_example_of_a_response(document: dict[str, Any]) -> None:
    fields = document["components"]["schemas"]["project_content_TreeFile"]["properties"]
    assert fields["type"]["example"] in fields["type"]["enum"]
    assert "example" not in fields["path"]


def test_list_of_contents_without_example_is_current(document: dict[str, Any]) -> None:
    found = {
        (operation["operationId"], status, media_type)
        for _, _, operation in operations(document)
        for status, media_type, content in successes(operation)
        if not {"example", "examples"} & set(content)
    }
    assert found == set(WITHOUT_EXAMPLE)


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return method, path and operation of the whole document."""
    return [(method, path, one) for path, methods in document["paths"].items() for method, one in methods.items()]


def successes(operation: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return status, media type and content of each success of an operation."""
    return [
        (status, media_type, content)
        for status, response in operation["responses"].items()
        if status.startswith("2")
        for media_type, content in response.get("content", {}).items()
    ]


def contents_without_example(operation: dict[str, Any]) -> list[str]:
    """Return the success contents that lack an example and need one."""
    return [
        f"{status} {media_type}"
        for status, media_type, content in successes(operation)
        if not {"example", "examples"} & set(content)
        and (operation["operationId"], status, media_type) not in WITHOUT_EXAMPLE
    ]


def faults_of(document: dict[str, Any], content: dict[str, Any], label: str) -> list[str]:
    """Return the faults of the examples. An event stream has one example for each event."""
    if not {"example", "examples"} & set(content):
        return [f"The {label} has no example: {HELP}"]
    validator = jsonschema_rs.Draft202012Validator(content["schema"] | {"components": document["components"]})
    values = [example["value"] for example in content.get("examples", {}).values()] or [content["example"]]
    return [
        f"The example of the {label} does not match: {fault.instance_path} {fault.message[:300]}"
        for value in values
        for fault in validator.iter_errors(value)
    ]
