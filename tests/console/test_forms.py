"""Tests of the limits of submitted forms, and of the page for a form whose session has ended."""

import re
from io import BytesIO

import pytest
from flask import Flask
from werkzeug.test import Client, TestResponse

from app.console.files.field_lists import MAX_ALL_ITEMS, MAX_ITEMS
from app.console.project.media import MAX_FILES
from app.core.limits import InputLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import Session
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of

pytestmark = pytest.mark.one_database

FILE = "content/posts/first.md"
URLENCODED = "application/x-www-form-urlencoded"
LARGE = InputLimits.form_unauthenticated_bytes + 1


def post(app: Flask, client: Client, path: str, body: bytes, content_type: str = URLENCODED) -> TestResponse:
    with app.app_context():
        return client.post(path, data=body, content_type=content_type)


def multipart(*parts: bytes) -> bytes:
    return b"".join(b"--b\r\n" + part + b"\r\n" for part in parts) + b"--b--\r\n"


def text_part(name: str, text: bytes = b"") -> bytes:
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + text


FILE_PART = b'Content-Disposition: form-data; name="file"; filename="a.png"\r\n\r\nx'
HEADERS = (
    b'Content-Disposition: form-data; name="a"' + b"\r\nX-Long: " + b"a" * InputLimits.part_heads_bytes + b"\r\n\r\n"
)
ITEMS = b",".join(b"n%d" % at for at in range(MAX_ITEMS))
HOSTILE = {
    "fields": (b"a&" * InputLimits.form_fields, URLENCODED),
    "separators": (b"&" * InputLimits.form_fields, URLENCODED),
    "text": (b"body=" + b"a" * (InputLimits.form_bytes + 1), URLENCODED),
    "list": (b"items.l=" + b",".join(b"n%d" % i for i in range(MAX_ITEMS + 1)), URLENCODED),
    "lists": (b"&".join(b"items.l%d=" % n + ITEMS for n in range(1 + MAX_ALL_ITEMS // MAX_ITEMS)), URLENCODED),
    "parts": (multipart(*[text_part("a")] * (InputLimits.form_fields + 1)), "multipart/form-data; boundary=b"),
    "part text": (multipart(text_part("body", b"a" * (InputLimits.form_bytes + 1))), "multipart/form-data; boundary=b"),
    "part headers": (multipart(HEADERS), "multipart/form-data; boundary=b"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_form_above_a_limit_is_413(console: ConsoleScene, kind: str) -> None:
    url = f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
    owner = console.site.owner
    sent = form_of(owner.client.get(url), "editor-form")
    body, content_type = HOSTILE[kind]
    if content_type == URLENCODED:
        body = f"base_sha={sent['base_sha']}&base_blob_sha={sent['base_blob_sha']}&".encode() + body
    response = post(console.app, owner.client, url, body, content_type)
    assert response.status_code == 413
    assert "<h1" in response.text
    assert len(response.data) < 64 * 1024


def test_form_with_too_many_files_is_413(console: ConsoleScene) -> None:
    url = f"/console/projects/{console.ids['project_id']}/media"
    body = multipart(*[FILE_PART] * (MAX_FILES + 1))
    assert post(console.app, console.site.owner.client, url, body, "multipart/form-data; boundary=b").status_code == 413


def test_multipart_editor_form_is_read_and_its_other_fields_are_dropped(console: ConsoleScene) -> None:
    url = f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
    owner = console.site.owner
    sent = form_of(owner.client.get(url), "editor-form") | {"body": "Räder\r\n", "unknown": "x"}
    with console.app.app_context():
        files = {"other": (BytesIO(b"y"), "a.txt")}
        saved = owner.client.post(url, data=sent | files, content_type="multipart/form-data")
    assert saved.status_code == 303
    assert console.site.repo.git("show", f"main:{FILE}").decode().endswith("---\nRäder\n")


@pytest.mark.parametrize("name", ["kind.a" + "/a" * 2000 + "=text&fm.a" + "/a" * 2000, "items.a" + "/a" * 2000])
def test_field_with_too_many_levels_is_400(console: ConsoleScene, name: str) -> None:
    url = f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
    sent = form_of(console.site.owner.client.get(url), "editor-form")
    body = f"base_sha={sent['base_sha']}&base_blob_sha={sent['base_blob_sha']}&{name}=1"
    assert post(console.app, console.site.owner.client, url, body.encode()).status_code == 400


def test_json_field_with_too_many_levels_is_400(console: ConsoleScene) -> None:
    url = f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
    sent = form_of(console.site.owner.client.get(url), "editor-form")
    body = f"base_sha={sent['base_sha']}&base_blob_sha={sent['base_blob_sha']}&kind.x=json&fm.x={'[' * 100_000}"
    assert post(console.app, console.site.owner.client, url, body.encode()).status_code == 400


def test_ended_session_page_repeats_only_the_fields_of_its_form(console: ConsoleScene) -> None:
    url = f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
    body = b"body=One%0D%0ATwo+%26+three&fm.title=Fog&kind.title=text&unknown=%3Cx&a&a&message="
    response = post(console.app, console.people["anonymous"].client, url, body)
    assert response.status_code == 401
    form = response.text.partition("<form")[2]
    assert re.findall(r' name="([^"]+)"', form) == ["body", "fm.title", "kind.title", "message"]
    assert "\nOne\r\nTwo &amp; three</textarea>" in response.text


def test_ended_session_page_of_the_largest_form_is_small(console: ConsoleScene) -> None:
    url = f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
    unknown = post(console.app, console.people["anonymous"].client, url, b"a&" * (InputLimits.form_fields - 1))
    own = post(console.app, console.people["anonymous"].client, url, b"fm.=%0A&" * (InputLimits.form_fields - 1))
    assert (unknown.status_code, own.status_code) == (401, 401)
    assert len(unknown.data) < 8 * 1024
    assert len(own.data) < 256 * 1024


class TestLargeFormWithoutSession:
    def test_form_of_an_unknown_sender_is_401_without_its_values(self, console: ConsoleScene) -> None:
        url = f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
        response = post(console.app, console.people["anonymous"].client, url, b"body=" + b"a" * LARGE)
        assert response.status_code == 401
        assert "go back to the form" in response.text
        assert len(response.data) < 8 * 1024

    def test_form_of_an_ended_session_is_repeated(self, console: ConsoleScene) -> None:
        url = f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
        editor = console.people["editor"]
        with console.app.app_context():
            for row in db.session.query(Session):
                row.expires_at = utcnow_ms()
            db.session.commit()
        response = post(console.app, editor.client, url, b"body=" + b"a%0A" * LARGE)
        assert response.status_code == 401
        assert response.text.count("a\n") >= LARGE

    def test_form_of_a_public_page_is_413(self, console: ConsoleScene) -> None:
        body = b"email=" + b"a" * LARGE
        assert post(console.app, console.people["anonymous"].client, "/console/sign-in", body).status_code == 413


@pytest.mark.parametrize("path", ["content", "edit"])
def test_path_longer_than_any_file_is_404(console: ConsoleScene, path: str) -> None:
    url = f"/console/projects/{console.ids['project_id']}/{path}/{'a/' * 2000}a"
    assert console.site.owner.client.get(url).status_code == 404


def test_long_list_of_languages_is_read_up_to_its_limit(console: ConsoleScene) -> None:
    client = console.people["anonymous"].client
    languages = "de," + "a," * 8000
    assert 'lang="de"' in client.get("/console/sign-in", headers={"Accept-Language": languages}).text
