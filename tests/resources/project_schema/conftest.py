"""The site of the tests of content."""

from tests.resources.project_content.conftest import site

__all__ = ["site"]
