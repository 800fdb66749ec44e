"""Tests use real limits or arguments. No test replaces a constant of a module or class."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CONSTANT = re.compile(r"(.*\.)?_?[A-Z][A-Z0-9_]+")
PATCHES = {"setattr", "delattr", "patch", "object"}
"""`monkeypatch.setattr`, `monkeypatch.delattr`, `mock.patch`, `mock.patch.object`."""

EXCEPTIONS = {
    "contract/test_tokens.py": "removes each condition of the statement that selects a token",
    "deploy/test_bootstrap.py": "selects the folders of a loaded script",
    "deploy/test_console_assets.py": "selects the folders of a loaded script",
}


def patched_constants(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each constant that the source replaces."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in PATCHES:
            for argument in [*node.args[:2], *(keyword.value for keyword in node.keywords)]:
                if isinstance(argument, ast.Constant) and CONSTANT.fullmatch(str(argument.value)):
                    yield node.lineno, str(argument.value)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and CONSTANT.fullmatch(node.attr):
            yield node.lineno, node.attr


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ('monkeypatch.setattr(module, "TIMEOUT_S", 1)', "TIMEOUT_S"),
        ('monkeypatch.setattr("app.module._LIMIT", 1)', "app.module._LIMIT"),
        ('monkeypatch.setattr(module, name="BATCH", value=1)', "BATCH"),
        ('patch.object(module, "BATCH", 1)', "BATCH"),
        ('mock.patch("app.module.BATCH", 1)', "app.module.BATCH"),
        ("module.BATCH = 1", "BATCH"),
    ],
)
def test_patched_constant_is_reported(source: str, name: str) -> None:
    assert list(patched_constants(source)) == [(1, name)]


@pytest.mark.parametrize(
    "source",
    [
        'monkeypatch.setattr(module, "draining", lambda: True)',
        'monkeypatch.setenv("PATH", "/bin")',
        'monkeypatch.setattr(module, "function", lambda: "TEXT")',
        "self.name, value = module.BATCH, 1",
    ],
)
def test_other_code_is_accepted(source: str) -> None:
    assert list(patched_constants(source)) == []


def test_suite_patches_no_constant() -> None:
    findings = [
        f"{path.relative_to(TESTS.parent)}:{line}: {name}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.relative_to(TESTS).as_posix() not in EXCEPTIONS
        for line, name in patched_constants(path.read_text())
    ]
    assert findings == []


@pytest.mark.parametrize("path", EXCEPTIONS)
def test_exception_is_needed(path: str) -> None:
    assert list(patched_constants((TESTS / path).read_text()))
