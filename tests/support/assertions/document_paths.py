"""Paths of the OpenAPI document."""

from flask import Flask

from app.http.api_document.operations import merged_paths
from app.http.openapi import documented_rules


def path_in_document(app: Flask, rule: str) -> str:
    """Return the path of the document for a URL rule. Rules that differ in the name of a variable share one path."""
    return merged_paths([str(one) for one in documented_rules(app)]).get(rule, rule)
