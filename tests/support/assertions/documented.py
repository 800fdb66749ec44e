"""Comparison of every response of a test with the OpenAPI document of its application."""

import gzip
import json
import os
import weakref
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import jsonschema_rs
from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

from app.http import openapi
from app.http.openapi import documented_rules
from tests.support.assertions.document_paths import document_paths

DOCUMENT = "urn:galley:openapi"
STRICT_CODES = bool(os.environ.get("GALLEY_STRICT_CODES"))
"""With `GALLEY_STRICT_CODES=1` a test fails if an operation does not document an error code that it returns."""

ANYWHERE = frozenset({"INTERNAL", "HEADERS_TOO_LARGE", "METHOD_NOT_ALLOWED", "BODY_LATE", "INVALID_ORIGIN"})
"""Codes that every route may return: the response `default` of the document."""


class Document:
    """The document of the routes of an application with a validator per response, created on first use."""

    def __init__(self, app: Flask) -> None:
        with app.app_context():
            self._openapi: Any = openapi.build(app, with_examples=False)
        # References use the registry. A validator with a copy of the components takes 3 ms to build.
        self._registry = jsonschema_rs.Registry([(DOCUMENT, self._openapi)])
        self._paths = document_paths(app)
        self._validators: dict[tuple[str, str, int], Any] = {}

    def hold(self, app: Flask, response: TestResponse, method: str, path: str) -> None:
        """Fail if the route does not document this status or this JSON."""
        rule = self._rule(app, method, path)
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

    def _rule(self, app: Flask, method: str, path: str) -> str | None:
        try:
            matched, _ = app.url_map.bind("localhost").match(path.partition("?")[0], method, return_rule=True)
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


_Routes = tuple[tuple[str, str, frozenset[str], Callable[..., Any]], ...]
_documents: dict[_Routes, Document] = {}
_document_of: "weakref.WeakKeyDictionary[Flask, Document]" = weakref.WeakKeyDictionary()


def hold(app: Flask, response: TestResponse, method: str, path: str) -> None:
    """Compare one response with the document of its application."""
    if app not in _document_of:
        _document_of[app] = _shared_document(app)
    _document_of[app].hold(app, response, method, path)


def _shared_document(app: Flask) -> Document:
    """Return the document of the routes. Applications with the same views share it: it takes 0.3 s to build."""
    routes = tuple(
        (str(rule), rule.endpoint, frozenset(rule.methods or ()), app.view_functions[rule.endpoint])
        for rule in documented_rules(app)
    )
    if routes not in _documents:
        _documents[routes] = Document(app)
    return _documents[routes]
