"""Paths of the OpenAPI document."""

from flask import Flask

from app.http.api_document.operations import merged_paths
from app.http.openapi import documented_rules


def document_paths(app: Flask) -> dict[str, str]:
    """Return the path of the document for each URL rule. Rules that differ in the name of a variable share one path."""
    return merged_paths([str(rule) for rule in documented_rules(app)])
