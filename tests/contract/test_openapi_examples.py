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
WITHOUT_EXAMPLE = frozenset(
    {
        "system_show_metrics", "system_welcome", "media_serve", "project_content_raw_bytes", "auth_social_callback_github",
        "auth_social_callback_google", "auth_social_callback_social_a", "auth_social_callback_social_b",
    }
)  # fmt: skip
"""Operations whose success is no JSON: text, bytes and redirects."""


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    return build(app)


@pytest.mark.skipif(not WRITE, reason="records examples only on request")
def test_missing_examples_are_recorded(app: Flask, tmp_path: Path, document: dict[str, Any]) -> None:
    recorder = Recorder(app, template(tmp_path / "site.git"))
    for method, path, operation in operations(document):
        known = examples.recorded(operation["tags"][0])
        if operation["operationId"] not in WITHOUT_EXAMPLE | WRITTEN and (
            WRITE == "all" or operation["operationId"] not in known
        ):
            known[operation["operationId"]] = recorder.record(method, path, operation)
    for tag in {operation["tags"][0] for _, _, operation in operations(document)}:
        used = {one["operationId"] for _, _, one in operations(document)}
        text = {name: example for name, example in sorted(examples.recorded(tag).items()) if name in used}
        if text:
            content = json.dumps(text, indent=1, ensure_ascii=False) + "\n"
            (examples.FOLDER / f"{tag}.json").write_text(content, encoding="utf-8")
    assert not recorder.problems, "\n".join(recorder.problems)


def test_every_operation_has_an_example_that_matches_its_schemas(document: dict[str, Any]) -> None:
    if WRITE:
        document = document | {}
        examples.add_examples(document)
    faults: list[str] = []
    for method, path, operation in operations(document):
        name = f"{method.upper()} {path}"
        for content in operation.get("requestBody", {}).get("content", {}).values():
            faults += faults_of(document, content, f"body of {name}")
        if operation["operationId"] in WITHOUT_EXAMPLE:
            continue
        successes = [one for status, one in operation["responses"].items() if status.startswith("2")]
        contents = [
            content
            for one in successes
            for content in one.get("content", {}).values()
            if {"example", "examples"} & set(content)
        ]
        if not contents:
            faults.append(f"{name} has no example of a success: {HELP}")
        for content in contents:
            faults += faults_of(document, content, f"response of {name}")
    assert not faults, "\n".join(faults)


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return method, path and operation of the whole document."""
    return [(method, path, one) for path, methods in document["paths"].items() for method, one in methods.items()]


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
