"""The media library: the usage of an image, and uploads that fail."""

import io
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of

pytestmark = pytest.mark.one_database

JSON = {"Accept": "application/json", "Origin": "http://127.0.0.1:8000"}
PNG = b"\x89PNG\r\n\x1a\n"


def base_of(console: ConsoleScene) -> str:
    return f"/console/projects/{console.ids['project_id']}"


def upload(console: ConsoleScene, name: str, data: bytes = PNG, **more: Any) -> TestResponse:
    """Send the upload form of the page."""
    client = console.site.owner.client
    fields = form_of(client.get(f"{base_of(console)}/media"), 'enctype="multipart/form-data"')
    fields |= {"folder": "static"} | more.pop("fields", {})
    with console.app.app_context():
        return client.post(f"{base_of(console)}/media", data=fields | {"file": (io.BytesIO(data), name)}, **more)


def test_image_lists_the_pages_that_refer_to_it(console: ConsoleScene) -> None:
    url = f"{base_of(console)}/edit/static/picture.png"
    before = console.site.owner.client.get(url).text
    assert "No page refers to this image." in before
    assert 'value="![picture](/picture.png)"' in before
    files = {
        "content/a.md": b"---\ntitle: Uses it\ncover: /picture.png\n---\n",
        "content/b.md": b"![x](/picture.png)\n",
    }
    console.site.repo.commit(files)
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    shown = console.site.owner.client.get(url).text
    for link in ('/edit/content/a.md"><bdi>Uses it</bdi></a>', '/edit/content/b.md">'):
        assert link in shown
    assert "· 2 pages" in console.site.owner.client.get(f"{base_of(console)}/media").text


def test_usage_of_an_image_that_is_not_indexed_is_unknown(console: ConsoleScene) -> None:
    console.site.repo.commit({"static/new.png": PNG})
    shown = console.site.owner.client.get(f"{base_of(console)}/edit/static/new.png").text
    assert "The image is not read yet." in shown


def test_upload_of_another_type_is_refused_at_the_field(console: ConsoleScene) -> None:
    refused = upload(console, "notes.txt")
    assert refused.status_code == 415
    assert 'id="file-error"' in refused.text
    as_json = upload(console, "notes.txt", headers=JSON)
    assert as_json.json["errorMessage"] == [{"path": "file", "message": "This is not an image."}]


def test_upload_of_an_existing_name_is_refused_at_the_folder(console: ConsoleScene) -> None:
    refused = upload(console, "picture.png")
    assert refused.status_code == 409
    assert 'id="folder-error"' in refused.text


def test_upload_without_a_file_is_refused_at_the_field(console: ConsoleScene) -> None:
    refused = upload(console, "")
    assert refused.status_code == 400
    assert 'id="file-error"' in refused.text
