"""Addresses of images in pages."""

import pytest

from app.console.project.images import candidates, is_image, media_folder, site_url
from app.models.project import Generator, Project

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        ("/img/a.png", ["static/img/a.png", "public/img/a.png", "img/a.png"]),
        ("a%20b.png?x=1", ["content/posts/a b.png", "static/a b.png", "public/a b.png"]),
        ("../a.png", ["content/a.png"]),
        ("https://other.example/a.png", []),
        ("//other.example/a.png", []),
        ("data:image/png;base64,", []),
        ("", []),
    ],
)
def test_address_names_files_of_the_repository(source: str, paths: list[str]) -> None:
    assert candidates(source, "content/posts/first.md") == paths


def test_site_url_is_the_address_of_the_published_file() -> None:
    assert site_url("static/img/a.png", "content/a.md") == "/img/a.png"
    assert site_url("content/a.png", "content/a.md") == "a.png"
    assert site_url("assets/a.png", "content/a.md") == "/assets/a.png"
    assert is_image("a.PNG")
    assert not is_image("a.md")


@pytest.mark.parametrize(
    ("generator", "paths", "folder"),
    [
        (Generator.HUGO, {}, "static"),
        (Generator.ASTRO, {"media": None}, "public"),
        (Generator.HUGO, {"media": "assets/img"}, "assets/img"),
        (Generator.MKDOCS, {}, ""),
        (None, {}, ""),
    ],
)
def test_media_folder_is_that_of_the_settings_or_of_the_generator(
    generator: Generator | None, paths: dict[str, str | None], folder: str
) -> None:
    assert media_folder(Project(generator=generator, paths=paths)) == folder
