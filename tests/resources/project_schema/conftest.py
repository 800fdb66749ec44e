"""Fixtures of the schema tests: the site of the content tests."""

from tests.resources.project_content.conftest import site

__all__ = ["site"]
