"""Messages of services in the language of the user."""

import pytest
from flask import Flask
from marshmallow import ValidationError

from app.console.shell.messages import translate
from app.core.errors import ErrorMessage, InvalidRequest, LimitReached, TooManyRequests
from app.core.ids import new_id
from app.drivers.errors import UpstreamRejected
from app.extensions import db
from app.http.error_handlers import to_app_error
from app.http.loading import field_errors
from app.http.validation import Length
from app.models.project import ImportStatus, RepositoryImport
from app.resources.organization.schemas import InviteMemberBody
from tests.console.conftest import ConsoleScene

pytestmark = pytest.mark.one_database

GERMAN = {"Accept-Language": "de"}
CHOSEN = {"project_id": new_id("prj"), "role": "editor"}
MEMBERS = ErrorMessage("An organization has at most %(limit)s members", limit=50)


def refused(validator: Length, text: str) -> str:
    """Return the message for a text of another length."""
    with pytest.raises(ValidationError) as error:
        validator(text)
    return field_errors(error.value)[0].message


@pytest.mark.parametrize(
    ("message", "english", "german"),
    [
        ("The current password is wrong", "The current password is wrong", "Das aktuelle Passwort ist falsch"),
        (refused(Length(max=1), "ab"), "Longer than maximum length 1.", "Länger als 1 Zeichen."),
        (
            refused(Length(1, 9), ""),
            "Length must be between 1 and 9.",
            "Die Länge muss zwischen 1 und 9 Zeichen liegen.",
        ),
        (
            LimitReached(MEMBERS).message,
            "An organization has at most 50 members",
            "Eine Organisation hat höchstens 50 Mitglieder",
        ),
        (
            to_app_error(UpstreamRejected(MEMBERS)).message,
            "An organization has at most 50 members",
            "Eine Organisation hat höchstens 50 Mitglieder",
        ),
        (
            TooManyRequests(retry_after_s=1).message,
            "Too many requests. Try again in 1 second",
            "Zu viele Anfragen. Versuchen Sie es in 1 second noch einmal",
        ),
        (
            TooManyRequests("Stop", retry_after_s=1).message,
            "Stop. Try again in 1 second",
            "Stop. Try again in 1 second",
        ),
        ("Something else: 100 %(limit)s", "Something else: 100 %(limit)s", "Something else: 100 %(limit)s"),
        ("", "", ""),
    ],
)
def test_message_is_translated_with_its_values(app: Flask, message: str, english: str, german: str) -> None:
    assert message == english
    with app.test_request_context(headers=GERMAN):
        assert translate(message) == german


def test_page_shows_the_message_in_the_language_of_the_browser(console: ConsoleScene) -> None:
    data = {"email": console.site.owner.email, "password": "wrong password"}
    with console.app.app_context():
        shown = console.people["anonymous"].client.post("/console/sign-in", data=data, headers=GERMAN)
    assert "Die E-Mail-Adresse oder das Passwort ist falsch" in shown.text


@pytest.mark.parametrize(
    ("changed", "german"),
    [
        ({"role": "admin"}, "Eine Administratorin oder ein Administrator sieht alle Projekte."),
        ({"projects": []}, "Wählen Sie mindestens ein Projekt."),
        ({"access": "all"}, "Projekte lassen sich nur für ein Mitglied wählen, das einen Teil von ihnen sieht."),
        ({"projects": [CHOSEN, CHOSEN]}, "Ein Projekt ist zweimal gewählt."),
    ],
)
def test_refused_access_of_a_member_is_translated(app: Flask, changed: dict[str, object], german: str) -> None:
    access = {"email": "a@example.org", "role": "editor", "access": "projects", "projects": [CHOSEN]}
    with pytest.raises(InvalidRequest) as error:
        InviteMemberBody.loaded(access | changed)
    with app.test_request_context(headers=GERMAN):
        assert translate(error.value.fields[0].message) == german


@pytest.mark.parametrize(
    ("message", "german"),
    [
        (MEMBERS, "Eine Organisation hat höchstens 50 Mitglieder"),
        (ErrorMessage("The repository has no branch"), "Das Repository hat keinen Zweig"),
        ("Something else", "Something else"),
    ],
)
def test_stored_message_is_translated(console: ConsoleScene, message: str, german: str) -> None:
    with console.app.app_context():
        row = RepositoryImport(
            organization_id=console.ids["org_id"],
            user_id=console.site.owner.id,
            repository="a/b",
            project_name="Docs",
            url="https://example.org/docs",
            status=ImportStatus.FAILED,
            problem_text=message,
        )
        db.session.add(row)
        db.session.commit()
        assert row.problem_text == message
        with console.app.test_request_context(headers=GERMAN):
            assert translate(row.problem_text) == german
