"""Messages of services in the language of the user."""

import ast
import re
from pathlib import Path

import marshmallow
import pytest
from flask import Flask

from app.console.shell.messages import TEXTS, translate
from app.settings.groups import PROJECT
from tests.console.conftest import ConsoleScene

pytestmark = pytest.mark.one_database

GERMAN = {"Accept-Language": "de"}
PLACEHOLDER = re.compile(r"%\(\w+\)s")


def literals() -> str:
    """Return all texts of the application and of its validation library, with a mark for each inserted value."""
    library = Path(marshmallow.__file__).parent
    texts = []
    for path in [*(PROJECT / "app").rglob("*.py"), library / "fields.py", library / "validate.py"]:
        if path.name == "service_messages.py" or "console" in path.parts[-2]:
            continue
        texts += [_text(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.expr)]
    return "\n".join(re.sub(r"\{\w+\}", "%", text) for text in texts if text)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "%" for part in node.values)  # type: ignore[misc]
    return ""


COMPOSED = ("This must be a", "Too many requests", "The form is too large", "There is no such file")
"""Messages that the code composes, or that the console raises."""


def test_every_message_is_one_of_the_application() -> None:
    known = literals()
    missing = [text for text in TEXTS if PLACEHOLDER.sub("%", text) not in known and not text.startswith(COMPOSED)]
    assert missing == []


@pytest.mark.parametrize(
    ("message", "german"),
    [
        ("The current password is wrong", "Das aktuelle Passwort ist falsch"),
        ("Longer than maximum length 100.", "Länger als 100 Zeichen."),
        ("An organization has at most 50 members", "Eine Organisation hat höchstens 50 Mitglieder"),
        ("Something else", "Something else"),
    ],
)
def test_message_is_translated_with_its_values(app: Flask, message: str, german: str) -> None:
    with app.test_request_context(headers=GERMAN):
        assert translate(message) == german


def test_page_shows_the_message_in_the_language_of_the_browser(console: ConsoleScene) -> None:
    data = {"email": console.site.owner.email, "password": "wrong password"}
    with console.app.app_context():
        shown = console.people["anonymous"].client.post("/console/sign-in", data=data, headers=GERMAN)
    assert "Die E-Mail-Adresse oder das Passwort ist falsch" in shown.text
