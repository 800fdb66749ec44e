"""Small versions of images in lists, and the refusal of blobs that are no image of the branch."""

import re

import pytest

from app.console.project.media import image_processes
from tests.console.conftest import ConsoleScene
from tests.support.samples.pictures import opened, picture

pytestmark = pytest.mark.one_database


@pytest.fixture
def photos(console: ConsoleScene) -> ConsoleScene:
    """Add images to the project, one of them damaged."""
    files = {
        "static/photo.jpg": picture("JPEG", 1600, 1200),
        "static/broken.png": b"\x89PNG\r\n\x1a\nbroken",
        "static/mark.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    }
    console.site.repo.commit(files)
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    return console


def sources(console: ConsoleScene) -> dict[str, str]:
    """Return the address of each image of the media library by its name."""
    page = console.site.owner.client.get(f"/console/projects/{console.ids['project_id']}/media").text
    cards = re.findall(r'<img src="([^"]*)".*?<span class="card__title"><bdi>([^<]*)<', page)
    return {name: source for source, name in cards}


def test_thumbnail_has_its_width_and_is_created_once(photos: ConsoleScene) -> None:
    client, source = photos.site.owner.client, sources(photos)["photo.jpg"]
    first = client.get(source)
    assert (first.status_code, first.mimetype) == (200, "image/webp")
    assert first.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert opened(first.data).size == (480, 360)
    small = client.get(source.replace("width=480", "width=96"))
    assert opened(small.data).size == (96, 72)
    assert client.get(source.replace("width=480", "width=97")).status_code == 400
    cache = photos.app.extensions["drivers"].thumbnails
    sha = re.findall(r"/thumbnail/(\w+)", source)[0]
    cache.put(f"{photos.site.project}/{sha}-480", b"stored")
    assert client.get(source).data == b"stored"


def test_thumbnails_of_a_user_hold_no_slot_of_another_one(photos: ConsoleScene) -> None:
    source = sources(photos)["photo.jpg"]
    with image_processes.slot("usr_other"), image_processes.slot("usr_other"):
        assert photos.site.owner.client.get(source).status_code == 200


def test_damaged_image_has_no_thumbnail_and_a_vector_image_is_shown_itself(photos: ConsoleScene) -> None:
    shown = sources(photos)
    for _ in range(2):
        assert photos.site.owner.client.get(shown["broken.png"]).status_code == 404
    assert shown["mark.svg"].endswith("/raw?file=static/mark.svg")


def test_blob_of_no_file_of_the_branch_has_no_thumbnail(photos: ConsoleScene) -> None:
    client, source = photos.site.owner.client, sources(photos)["photo.jpg"]
    for sha in ("0" * 40, "x", "main"):
        assert client.get(re.sub(r"thumbnail/\w+", f"thumbnail/{sha}", source)).status_code == 404
    photos.site.repo.commit({"static/photo.jpg": None})
    photos.site.owner.post(photos.site.path("/reindex")).ok(202)
    photos.site.world.work_off()
    assert client.get(source).status_code == 404
