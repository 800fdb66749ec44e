"""Comparison of every response of a test with the OpenAPI document of its application."""

import gzip
import json
import os
import weakref
from functools import cached_property
from typing import Any
from urllib.parse import quote

import jsonschema_rs
from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

from app.http import openapi
from tests.support.assertions.document_paths import document_paths

DOCUMENT = "urn:galley:openapi"
STRICT_CODES = bool(os.environ.get("GALLEY_STRICT_CODES"))
"""With `GALLEY_STRICT_CODES=1` a test fails if an operation does not document an error code that it returns."""

ANYWHERE = frozenset({"INTERNAL", "HEADERS_TOO_LARGE", "METHOD_NOT_ALLOWED", "BODY_LATE", "INVALID_ORIGIN"})
"""Codes that every route may return: the response `default` of the document."""


class Document:
    """The document of an application with a validator per response, created on first use."""

    def __init__(self, app: Flask) -> None:
        self._app = weakref.proxy(app)
        self._validators: dict[tuple[str, str, int], Any] = {}

    @cached_property
    def _openapi(self) -> Any:
        with self._app.app_context():
            return openapi.build(self._app, with_examples=False)

    @cached_property
    def _registry(self) -> jsonschema_rs.Registry:
        """Return the document for references. A validator with a copy of the components takes 3 ms to build."""
        return jsonschema_rs.Registry([(DOCUMENT, self._openapi)])

    @cached_property
    def _paths(self) -> dict[str, str]:
        return document_paths(self._app)

    def hold(self, response: TestResponse, method: str, path: str) -> None:
        """Fail if the route does not document this status or this JSON."""
        rule = self._rule(method, path)
        if rule is None or response.status_code in (308, 405):
            return
        validator = self._validator(method, rule, response.status_code)
        if response.headers.get("Content-Encoding", "gzip") != "gzip":
            return
        if validator is not None and response.mimetype == "application/json":
            faults = [f"{fault.instance_path}: {fault.message}" for fault in validator.iter_errors(_json(response))]
            assert not faults, (method, rule, response.status_code, faults, response.get_data(as_text=True)[:2_000])
            if STRICT_CODES:
                self._hold_code(response, method, rule)

    def _hold_code(self, response: TestResponse, method: str, rule: str) -> None:
        """Fail if the operation does not document the error code."""
        status, content = response.status_code, _json(response)
        if status < 400 or not isinstance(content, dict) or "code" not in content:
            return
        operation = self._openapi["paths"][rule].get("get" if method == "HEAD" else method.lower(), {})
        codes = operation.get("responses", {}).get(str(status), {}).get("x-error-codes", [])
        assert content["code"] in codes or content["code"] in ANYWHERE, (
            f"{method} {rule} returned {status} {content['code']}, which its declaration does not name: "
            f"add it to errors= of its @endpoint"
        )

    def _rule(self, method: str, path: str) -> str | None:
        try:
            matched, _ = self._app.url_map.bind("localhost").match(path.partition("?")[0], method, return_rule=True)
        except HTTPException:
            return None
        return self._paths.get(str(matched))

    def _validator(self, method: str, rule: str, status: int) -> Any:
        key = (method, rule, status)
        if key not in self._validators:
            self._validators[key] = self._build_validator(*key)
        return self._validators[key]

    def _build_validator(self, method: str, rule: str, status: int) -> Any:
        method = "get" if method == "HEAD" else method.lower()
        operation = self._openapi["paths"][rule].get(method)
        if operation is None:
            return None
        responses = operation["responses"]
        key = next((key for key in (str(status), f"{status // 100}XX", "default") if key in responses), None)
        assert key is not None, f"{method} {rule} returned {status}, which the document does not contain"
        if "schema" not in responses[key].get("content", {}).get("application/json", {}):
            return None
        path = ("paths", rule, method, "responses", key, "content", "application/json", "schema")
        return jsonschema_rs.Draft202012Validator({"$ref": _reference(path)}, registry=self._registry)


def _reference(path: tuple[str, ...]) -> str:
    """Return the URI of a part of the document: a JSON Pointer in the fragment."""
    parts = (part.replace("~", "~0").replace("/", "~1") for part in path)
    return f"{DOCUMENT}#/" + "/".join(quote(part, safe="") for part in parts)


def _json(response: TestResponse) -> Any:
    """Return the JSON of a plain or gzip response."""
    data = response.get_data()
    return json.loads(gzip.decompress(data) if response.headers.get("Content-Encoding") == "gzip" else data)


_documents: "weakref.WeakKeyDictionary[Flask, Document]" = weakref.WeakKeyDictionary()


def hold(app: Flask, response: TestResponse, method: str, path: str) -> None:
    """Compare one response with the document of its application."""
    if app not in _documents:
        _documents[app] = Document(app)
    _documents[app].hold(response, method, path)
