"""Tests of the path of a page in the built site."""

from typing import Any

import pytest

from app.content.site_paths import path_in_site


@pytest.mark.parametrize(
    ("path", "values", "root", "address"),
    [
        ("content/posts/Fog Signals.md", {}, None, "/posts/fog-signals/"),
        ("content/posts/_index.md", {}, None, "/posts/"),
        ("content/_index.md", {}, None, "/"),
        ("src/content/blog/a.mdx", {"slug": "b"}, None, "/blog/b/"),
        ("content/blog/harbour/index.md", {}, None, "/blog/harbour/"),
        ("content/blog/harbour/index.md", {"slug": "harbour"}, None, "/blog/harbour/"),
        ("content/index.md", {"slug": "home"}, None, "/home/"),
        ("site/src/content/docs/de/a.mdx", {}, None, "/de/a/"),
        ("texts/a.md", {}, "texts", "/a/"),
        ("_posts/2026-05-27-fog.md", {}, None, "/2026/05/27/fog.html"),
        ("README.md", {}, None, "/"),
        ("content/a.md", {"url": "/räder/"}, None, "/r%C3%A4der/"),
        ("content/a.md", {"permalink": "/:year/:title/"}, None, "/a/"),
        ("content/a.md", {"url": "//other.example/"}, None, "/a/"),
        ("hugo.toml", {}, None, "/"),
    ],
)
def test_path_follows_the_rules_of_generators(
    path: str, values: dict[str, Any], root: str | None, address: str
) -> None:
    assert path_in_site(path, values, root) == address


def test_name_of_the_folder_is_omitted_with_eleventy() -> None:
    paths = ["posts/pier/pier.md", "posts/pier/quay.md", "posts/piers/pier.md"]
    addresses = [path_in_site(path, {}, "", generator="eleventy") for path in paths]
    assert addresses == ["/posts/pier/", "/posts/pier/quay/", "/posts/piers/pier/"]
    assert path_in_site(paths[0], {}, "", generator="hugo") == "/posts/pier/pier/"
