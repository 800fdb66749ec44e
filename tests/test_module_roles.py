"""Roles of the modules of `app/resources`: each role has a list of packages that it must not import."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings.groups import PROJECT

RESOURCES = PROJECT / "app" / "resources"
NOUN = ("flask", "marshmallow", "app.http", "app.access", ".routes")
FORBIDDEN = {
    "routes": ("sqlalchemy", "requests", "urllib3"),
    "schemas": ("sqlalchemy", "flask"),
    "guards": ("flask", "app.drivers"),
    "actions": ("flask", "marshmallow", "app.http", "app.access.scope", ".routes"),
    "service": NOUN,
    "queries": ("flask", "app.http", "app.access", "app.drivers"),
    "streams": ("flask", "sqlalchemy"),
    "responses": ("sqlalchemy",),
    "jobs": ("flask", "app.http", "app.access"),
    "events": (
        "flask",
        "marshmallow",
        "sqlalchemy",
        "app.http",
        "app.access",
        "app.drivers",
        "app.resources",
        "app.extensions",
    ),
    "subscribers": ("flask", "app.http", "app.drivers"),
    "errors": (
        "flask",
        "marshmallow",
        "sqlalchemy",
        "app.http",
        "app.access",
        "app.drivers",
        "app.models",
        "app.extensions",
    ),
}
ROUTE_NAMES = {"flask.Response"}
"""Names that a routes module may import from Flask. Views with `raw_response` return a `Response`."""

# Imports that break the rules at present. Move the code and delete the entry; never add one.
ALLOWED: dict[str, set[str]] = {
    "bucket/routes.py": {"flask"},
    "order/subscribers.py": {"app.drivers"},
    "project_content/tree/tree_rows.py": {"flask"},
    "system/routes.py": {"flask"},
}


def role_of(path: Path, root: Path = RESOURCES) -> str:
    """Return the role of a module: the name of its module or of the package that replaces the module.

    A package of a subject, such as `auth/two_factor`, contains modules of the same roles.
    """
    parts = path.relative_to(root).with_suffix("").parts
    return next((part for part in parts[1:] if part in FORBIDDEN), "service")


def imports_of(path: Path) -> Iterator[str]:
    """Yield the dotted names that a module imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(path: Path, root: Path = RESOURCES) -> set[str]:
    """Return the forbidden packages that a module imports."""
    package = f"app.resources.{path.relative_to(root).parts[0]}"
    names = set(imports_of(path))
    role = role_of(path, root)
    broken = set()
    for forbidden in FORBIDDEN[role]:
        prefix = package + forbidden if forbidden.startswith(".") else forbidden
        if any(name == prefix or name.startswith(f"{prefix}.") for name in names):
            broken.add(forbidden)
    if role == "routes" and any(name.startswith("flask.") and name not in ROUTE_NAMES for name in names):
        broken.add("flask")
    return broken


MODULES = sorted(path for path in RESOURCES.glob("*/**/*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(RESOURCES)))
def test_module_of_a_role_imports_no_forbidden_package(path: Path) -> None:
    assert violations(path) == ALLOWED.get(path.relative_to(RESOURCES).as_posix(), set())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(RESOURCES)))
def test_module_imports_no_routes_of_another_package(path: Path) -> None:
    named = (re.match(r"app\.resources\.(\w+)\.routes\b", name) for name in imports_of(path))
    assert {match[1] for match in named if match is not None} <= {path.relative_to(RESOURCES).parts[0]}


CONSOLE = sorted((PROJECT / "app" / "console").glob("*.py"))


@pytest.mark.parametrize("path", CONSOLE, ids=lambda path: path.name)
def test_console_module_imports_no_statement_and_no_client(path: Path) -> None:
    forbidden = ("sqlalchemy", "requests", "urllib3", "app.database.engines", "app.drivers.registry")
    assert not [name for name in imports_of(path) if name.startswith(forbidden)]


def test_allowed_violations_name_existing_modules() -> None:
    assert set(ALLOWED) <= {path.relative_to(RESOURCES).as_posix() for path in MODULES}


@pytest.mark.parametrize(
    ("module", "source", "broken"),
    [
        ("user/actions.py", "from app.access.scope import Scope", {"app.access.scope"}),
        ("user/queries.py", "from app.http.streaming import events", {"app.http"}),
        ("user/routes/account.py", "from flask import Blueprint, g", {"flask"}),
        ("user/quota.py", "from app.resources.user import routes", {".routes"}),
        ("user/service.py", "import httpx, flasks", set()),
    ],
)
def test_violations_of_a_module_are_reported(tmp_path: Path, module: str, source: str, broken: set[str]) -> None:
    file = tmp_path / module
    file.parent.mkdir(parents=True)
    file.write_text(source)
    assert violations(file, tmp_path) == broken


def test_schemas_and_request_bodies_have_a_suffix() -> None:
    """`SignInBody` is a request body, `UserSchema` a response and `TreeQuery` a query string."""
    suffixes = ("Schema", "Body", "Query")
    wrong = [
        f"{path.relative_to(RESOURCES)}: {node.name}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).endswith(suffixes) for base in node.bases)
        and not node.name.endswith(suffixes)
    ]
    assert wrong == []
