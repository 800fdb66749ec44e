"""The OpenAPI 3.1 document and its browsable page, generated from the declarations that serve the routes."""

import gzip
from collections.abc import Callable
from typing import Any

import brotli
import orjson
import zstandard
from apispec import APISpec
from flask import Flask, Response, current_app, request
from werkzeug.routing import Rule

from app.http import caching, envelope, rate_limits, reference
from app.http.api_document import error_codes, examples, headers, webhooks
from app.http.api_document.components import (
    Components,
    describe,
    describe_forms,
    describe_parameters,
    new_document,
    split_nullable_enums,
)
from app.http.api_document.operations import merged_paths, operation, path_of
from app.http.api_document.prose import FIELDS
from app.http.api_document.responses import add_flat_keys, failure_schema
from app.http.blueprint import ApiBlueprint, overview, tags
from app.http.endpoint import Endpoint, endpoint_of, find_endpoint

BEARER_DESCRIPTION = "An API token of a user or a service account. It needs one of the scopes that the operation names."
DOCUMENT_URL = "/api/v1/openapi.json"
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "br": lambda data: bytes(brotli.compress(data, quality=9)),  # type: ignore[no-untyped-call]
    "zstd": lambda data: zstandard.ZstdCompressor(level=12).compress(data),
}
"""Levels that take at most 50 ms. The highest ones take 0.6 s and save 8 %."""


def init_app(app: Flask) -> None:
    """Serve the document and its reference page."""
    app.add_url_rule(DOCUMENT_URL, "openapi", _serve_document)
    app.register_blueprint(reference.blueprint)


class _CompressedDocument:
    """The document as JSON, compressed once in each coding, at its first use."""

    codings = tuple(_COMPRESS)

    def __init__(self, document: dict[str, object]) -> None:
        self._plain = orjson.dumps(document)
        self._encoded: dict[str, bytes] = {}
        self.tag = caching.compute_etag(self._plain)

    def encoded(self, coding: str, /) -> bytes:
        """Return the compressed document."""
        if coding not in self._encoded:
            self._encoded[coding] = _COMPRESS[coding](self._plain)
        return self._encoded[coding]

    def plain(self) -> bytes:
        return self._plain


def _serve_document() -> Response:
    rate_limits.check_address(None)
    body: _CompressedDocument | None = current_app.extensions.get("openapi")
    if body is None:
        body = current_app.extensions["openapi"] = _CompressedDocument(build(current_app))
    return caching.precompressed_response(request, body, body.tag)


def documented_rules(app: Flask) -> list[Rule]:
    """Return the URL rules of the document: all declared routes except pages."""
    declarations = ((rule, find_endpoint(app.view_functions[rule.endpoint])) for rule in app.url_map.iter_rules())
    return [rule for rule, declared in declarations if declared is not None and not declared.is_page]


def build(app: Flask, *, with_examples: bool = True) -> dict[str, object]:
    """Return the document of all declared routes."""
    base_url = app.config["SETTINGS"].server.base_url
    components = Components()
    info = {"description": overview(app).introduction, "license": {"name": "MIT", "identifier": "MIT"}}
    spec = new_document("Galley", "1", components, info=info, servers=[{"url": base_url}])
    cookie = "__Host-session_token" if base_url.startswith("https:") else "session_token"
    spec.components.security_scheme("session", {"type": "apiKey", "in": "cookie", "name": cookie})
    spec.components.security_scheme(
        "token", {"type": "http", "scheme": "bearer", "bearerFormat": "glly_…", "description": BEARER_DESCRIPTION}
    )
    spec.components.schema("Failure", schema=failure_schema(overview(app).failure_data))
    rules = documented_rules(app)
    paths = merged_paths([str(rule) for rule in rules])
    for rule in rules:
        _add(spec, rule, paths[str(rule)], app)
    messages = webhooks.webhooks(spec, components, overview(app).events)
    document: dict[str, object] = spec.to_dict() | {"webhooks": messages}
    _complete(document, components, app, with_examples=with_examples)
    return document


def _add(spec: APISpec, rule: Rule, path: str, app: Flask) -> None:
    declared, tag = endpoint_of(app.view_functions[rule.endpoint]), app.blueprints[rule.endpoint.rpartition(".")[0]]
    if not isinstance(tag, ApiBlueprint):
        raise TypeError(f"{rule.endpoint} does not belong to an ApiBlueprint")
    is_flat = envelope.is_flat(app, path)
    methods = sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    main = _main_rule(declared, app)
    is_alias = main is not rule
    operations = {
        method.lower(): operation(method, rule, path, declared, tag, is_flat=is_flat, is_alias=is_alias)
        for method in methods
    }
    if is_alias and declared.redirect is None:
        for described in operations.values():
            described |= {
                "deprecated": True,
                "description": f"{described['description']} Another name of `{path_of(str(main))}`.",
            }
    spec.path(path=path, operations=operations)


def _main_rule(declared: Endpoint, app: Flask) -> Rule:
    """Return the rule of an endpoint that has several: the first one whose name does not end with `_alias`."""
    rules = (rule for rule in app.url_map.iter_rules() if find_endpoint(app.view_functions[rule.endpoint]) is declared)
    return min(rules, key=lambda rule: rule.endpoint.endswith("_alias"))


def _complete(document: dict[str, Any], components: Components, app: Flask, *, with_examples: bool) -> None:
    """Add what refers to the whole document: shared headers, tags, descriptions and examples."""
    parts = document["components"]
    endpoints = [endpoint_of(app.view_functions[rule.endpoint]) for rule in documented_rules(app)]
    parts["headers"] = headers.response_components(endpoints)
    parts["parameters"] = headers.request_components(endpoints)
    parts["examples"] = error_codes.examples(document)
    parts["schemas"]["ErrorCode"] = error_codes.schema()
    parts["schemas"]["Failure"]["properties"]["code"] = {"$ref": "#/components/schemas/ErrorCode"}
    describe(document, components.classes, {**FIELDS, **overview(app).fields})
    describe_forms(document)
    describe_parameters(document, {tag.name: tag.parameters for tag in tags(app)})
    split_nullable_enums(parts["schemas"])
    add_flat_keys(document)
    if with_examples:
        examples.add_examples(document)
        examples.add_field_examples(document)
    used = {tag for path in document["paths"].values() for operations in path.values() for tag in operations["tags"]}
    document["tags"] = [
        {"name": tag.name, "x-displayName": tag.title, "description": tag.description}
        for tag in tags(app)
        if tag.name in used
    ]
    document["tags"].append(webhooks.TAG)
