"""Every answer a test gets, held against the OpenAPI document of the application that gave it."""

import re
import weakref
from functools import cached_property
from typing import Any

import jsonschema_rs
from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

from app.http import openapi

_VARIABLE = re.compile(r"<(?:[^:>]+:)?([^>]+)>")


class Document:
    """An application's document, and a validator for each of its answers, made when it is first wanted."""

    def __init__(self, app: Flask) -> None:
        self._app = weakref.proxy(app)
        self._validators: dict[tuple[str, str, int], Any] = {}

    @cached_property
    def _told(self) -> Any:
        with self._app.app_context():
            return openapi.build(self._app)

    def hold(self, response: TestResponse, method: str, path: str) -> None:
        """Fail when the route does not tell of this status, or tells of JSON that looks otherwise."""
        rule = self._rule(method, path)
        if rule is None or response.status_code in (308, 405):
            return
        validator = self._validator(method, rule, response.status_code)
        if validator is not None and response.mimetype == "application/json":
            faults = [f"{fault.instance_path}: {fault.message}" for fault in validator.iter_errors(response.get_json())]
            assert not faults, (method, rule, response.status_code, faults, response.get_data(as_text=True)[:2_000])

    def _rule(self, method: str, path: str) -> str | None:
        try:
            found, _ = self._app.url_map.bind("localhost").match(path.partition("?")[0], method, return_rule=True)
        except HTTPException:
            return None
        rule = _VARIABLE.sub(r"{\1}", str(found))
        return rule if rule in self._told["paths"] else None

    def _validator(self, method: str, rule: str, status: int) -> Any:
        key = (method, rule, status)
        if key not in self._validators:
            self._validators[key] = self._made(*key)
        return self._validators[key]

    def _made(self, method: str, rule: str, status: int) -> Any:
        operation = self._told["paths"][rule].get("get" if method == "HEAD" else method.lower())
        if operation is None:
            return None
        answers = operation["responses"]
        told = answers.get(str(status)) or answers.get(f"{status // 100}XX") or answers.get("default")
        assert told is not None, f"{method} {rule} answers {status}, of which the document does not tell"
        schema = told.get("content", {}).get("application/json", {}).get("schema")
        if schema is None:
            return None
        return jsonschema_rs.Draft202012Validator(schema | {"components": self._told["components"]})


_documents: "weakref.WeakKeyDictionary[Flask, Document]" = weakref.WeakKeyDictionary()


def hold(app: Flask, response: TestResponse, method: str, path: str) -> None:
    """Hold one answer against its application's document."""
    if app not in _documents:
        _documents[app] = Document(app)
    _documents[app].hold(response, method, path)
