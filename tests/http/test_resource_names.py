"""Rule: no module of `app/http` names a resource. Its routes, texts and fields are declared in the package of the resource."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.blueprints import HANDLERS, UNVERSIONED, VERSIONED
from app.settings.groups import PROJECT

HTTP = PROJECT / "app" / "http"
MODULES = sorted(HTTP.rglob("*.py"))
MOUNTED = (*UNVERSIONED, *VERSIONED, *HANDLERS)
PACKAGES = {path.parent.name for path in (PROJECT / "app" / "resources").glob("*/__init__.py")}
TERMS = {"user", "webhooks"}
"""Names of packages that are also terms of this layer: a rate counts a user, and OpenAPI describes events in `webhooks`."""
BLUEPRINTS = {blueprint.name for _, blueprint in MOUNTED}
PATH = re.compile(rf"(?<!\w)/(?:{'|'.join(sorted(prefix.strip('/') for prefix, _ in MOUNTED if prefix))})(?![\w-])")
NAME = re.compile(rf"(?:{'|'.join(sorted((PACKAGES | BLUEPRINTS) - TERMS))})(?:[_.]\w+)*")


def texts(source: str) -> Iterator[str]:
    """Yield the strings of a module, also docstrings and the constant parts of f-strings."""
    yield from (
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def violations(source: str) -> list[str]:
    """Return the strings that contain the path of a resource, or that are the name of a resource or of its endpoint."""
    return [text for text in texts(source) if PATH.search(text) or NAME.fullmatch(text)]


class TestRule:
    @pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HTTP)))
    def test_module_names_no_resource(self, path: Path) -> None:
        source = path.read_text(encoding="utf-8")
        assert violations(source) == []
        assert "app.resources" not in source

    @pytest.mark.parametrize(
        "source",
        [
            'TAGS = {"project_draft": "Drafts"}',
            'name = "git_provider_provider"',
            'etag_of = "organization.details"',
            'def view():\n    """Serve `/project/create`."""',
            'path.startswith(f"{base}/auth/")',
        ],
    )
    def test_name_of_a_resource_is_reported(self, source: str) -> None:
        assert violations(source)

    def test_other_text_is_accepted(self) -> None:
        assert violations('text = "Deletes the project of a user at /api/v1/openapi.json"') == []
