"""The media library: the usage of an image, uploads that fail, sorting, folders and the deletion of selected images."""

import html
import io
import json
import re
from typing import Any

import pytest
from werkzeug.test import TestResponse

from app.core.limits import CommitLimits
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of, submit

pytestmark = pytest.mark.one_database

JSON = {"Accept": "application/json", "Origin": "http://127.0.0.1:8000"}
PNG = b"\x89PNG\r\n\x1a\n"


def base_of(console: ConsoleScene) -> str:
    return f"/console/projects/{console.ids['project_id']}"


def upload(console: ConsoleScene, name: str, data: bytes = PNG, **more: Any) -> TestResponse:
    """Send the upload form of the page."""
    client = console.site.owner.client
    fields = form_of(client.get(f"{base_of(console)}/media"), 'enctype="multipart/form-data"')
    fields |= {"folder": "static", "file": (io.BytesIO(data), name)} | more.pop("fields", {})
    with console.app.app_context():
        return client.post(f"{base_of(console)}/media", data=fields, **more)


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


def test_several_images_are_uploaded_in_one_change(console: ConsoleScene) -> None:
    files = [(io.BytesIO(PNG), "one.png"), (io.BytesIO(PNG), "two.png")]
    before = len(console.site.repo.git("rev-list", "main").split())
    done = upload(console, "", fields={"file": files})
    assert done.status_code == 303
    assert "q=" not in done.location
    assert {"static/one.png", "static/two.png"} <= set(
        console.site.repo.git("ls-tree", "-r", "--name-only", "main").decode().split()
    )
    assert len(console.site.repo.git("rev-list", "main").split()) == before + 1


def test_several_images_are_all_refused_if_one_is_no_image(console: ConsoleScene) -> None:
    refused = upload(console, "", fields={"file": [(io.BytesIO(PNG), "one.png"), (io.BytesIO(b"x"), "notes.txt")]})
    assert refused.status_code == 415
    assert b"static/one.png" not in console.site.repo.git("ls-tree", "-r", "--name-only", "main")


def test_image_of_a_page_folder_has_the_title_of_the_page(console: ConsoleScene) -> None:
    files = {"content/posts/fog/index.md": b"---\ntitle: Fog signals\n---\n", "content/posts/fog/cover.png": PNG}
    console.site.repo.commit(files)
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    shown = console.site.owner.client.get(f"{base_of(console)}/media?q=cover.png").text
    assert "<bdi>Fog signals</bdi>" in shown


def library(console: ConsoleScene, query: str = "") -> str:
    return html.unescape(console.site.owner.client.get(f"{base_of(console)}/media{query}").text)


def names_in(shown: str) -> list[str]:
    return re.findall(r'name="select" value="([^"]+)"', shown)


@pytest.fixture
def pictures(console: ConsoleScene) -> ConsoleScene:
    """A site with images in two folders, of which two pages use one, and with an image of a page."""
    console.site.repo.commit(
        {
            "static/img/a.png": PNG + b"largest",
            "static/img/old/z.png": PNG,
            "content/posts/fog/index.md": b"---\ntitle: Fog signals\n---\n",
            "content/posts/fog/cover.png": PNG,
            "content/pier.md": b"---\ntitle: The pier\n---\n![a](/img/a.png)\n",
        }
    )
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    return console


def test_images_are_sorted_by_name_and_size(pictures: ConsoleScene) -> None:
    by_name = names_in(library(pictures, "?sort=name"))
    assert by_name == [
        *("static/img/a.png", "content/posts/fog/cover.png", "static/picture.png"),
        "static/img/old/z.png",
    ]
    assert names_in(library(pictures, "?sort=-size"))[0] == "static/img/a.png"


def test_new_image_is_the_first_one_before_and_after_it_is_indexed(pictures: ConsoleScene) -> None:
    assert upload(pictures, "new.png", fields={"folder": "static/img"}).status_code == 303
    assert names_in(library(pictures))[0] == "static/img/new.png"
    pictures.site.world.work_off()
    assert names_in(library(pictures))[0] == "static/img/new.png"


def test_folders_have_numbers_of_images_and_restrict_the_list(pictures: ConsoleScene) -> None:
    shown = library(pictures)
    options = dict(re.findall(r'<option value="([^"]+)">([^<]+ \(\d+\))</option>', shown))
    assert options == {
        "content/posts": "Posts (1)",
        "static": "Static (3)",
        "static/img": "Static / Img (2)",
        "static/img/old": "Static / Img / Old (1)",
    }
    assert set(names_in(library(pictures, "?folder=static/img"))) == {"static/img/a.png", "static/img/old/z.png"}
    assert "No image matches the filter." in library(pictures, "?folder=static/im")


def test_upload_goes_into_the_shown_folder(pictures: ConsoleScene) -> None:
    fields = form_of(
        pictures.site.owner.client.get(f"{base_of(pictures)}/media?folder=static/img"), 'enctype="multipart/form-data"'
    )
    assert fields["folder"] == "static/img"


def delete(console: ConsoleScene, *paths: str, **more: str) -> TestResponse:
    fields = {"base_sha": console.site.repo.head(), "select[]": json.dumps(paths), **more}
    return submit(console.site.owner, f"{base_of(console)}/media/delete?sort=name", **fields)


def test_deletion_names_the_pages_of_the_images_then_deletes_them_in_one_commit(pictures: ConsoleScene) -> None:
    paths, before = ["static/img/a.png", "static/picture.png"], pictures.site.repo.git("rev-list", "main").split()
    asked = delete(pictures, *paths)
    text = html.unescape(asked.text)
    assert (asked.status_code, "Delete 2 images?" in text) == (200, True)
    assert re.search(r"<bdi>a.png</bdi>: <a [^>]*/content/pier.md\"><bdi>The pier</bdi></a></li></ul>", text)
    assert set(paths) <= set(pictures.site.repo.entries())
    [form] = re.findall(r'<form class="form__actions".*?</form>', asked.text, re.DOTALL)
    [sent] = re.findall(r"name=\"select\[\]\" value='([^']*)'", form)
    assert json.loads(sent) == paths
    done = delete(pictures, *paths, confirmed="1")
    assert "sort=name&done=deleted" in done.location
    assert set(paths).isdisjoint(pictures.site.repo.entries())
    assert len(pictures.site.repo.git("rev-list", "main").split()) == len(before) + 1
    assert set(paths).isdisjoint(names_in(library(pictures)))


def test_deletion_of_unused_images_says_so(pictures: ConsoleScene) -> None:
    assert "No page uses these images." in delete(pictures, "static/img/old/z.png").text


def test_deletion_of_images_that_are_not_read_yet_does_not_call_them_unused(pictures: ConsoleScene) -> None:
    upload(pictures, "new.png")
    asked = delete(pictures, "static/new.png").text
    assert ("The image is not read yet." in asked, "Pages use some" in asked) == (True, False)


def test_deletion_without_a_selection_or_with_too_many_images_is_refused(pictures: ConsoleScene) -> None:
    assert "Select at least one file." in delete(pictures).text
    many = delete(pictures, *(f"static/{number}.png" for number in range(CommitLimits.files + 1)), confirmed="1")
    assert (many.status_code, "Select at most 300 files." in many.text) == (400, True)


def test_deletion_of_a_page_with_other_files_is_refused(pictures: ConsoleScene) -> None:
    assert delete(pictures, "content/posts/fog/index.md", confirmed="1").status_code == 400
    assert "content/posts/fog/cover.png" in pictures.site.repo.entries()
