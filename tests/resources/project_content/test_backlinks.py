"""Tests of backlinks through the API: links, images and fields."""

from typing import Any

import pytest

from tests.resources.project_content.conftest import Site, make_site
from tests.support.world import World

PAGES: dict[str, Any] = {
    "content/about.md": b"---\ntitle: About\ncover: /img/logo.png\n---\n\n[Home](/) [Post](posts/first.md)\n",
    "content/_index.md": b"# Home\n\n[About us](/about/) and [the post](/posts/first/#end).\n",
    "content/posts/first.md": b"# First\n\n[[about]] ![Logo](../../static/img/logo.png)\n\n[out](https://x.org/about)\n",
    "content/posts/copy.md": b"# Home\n\n[About us](/about/) and [the post](/posts/first/#end).\n",
    "content/fr/about.md": b"# \xc3\x80 propos\n",
    "layouts/page.html": b'<img src="/img/logo.png">\n',
    "static/img/logo.png": b"\x89PNG\r\n\x1a\n\0\0",
    "static/css/site.css": b"a { background: url(../img/logo.png) }\n",
    "static/img/other/logo.png": b"\x89PNG\r\n\x1a\n\1\1",
}


@pytest.fixture
def linked(world: World) -> Site:
    return make_site(world, PAGES)


def backlinks_of(site: Site, file: str) -> dict[str, list[str]]:
    result = site.owner.get(site.path("/backlinks"), query_string={"file": file}).ok()
    return {source["path"]: [link["url"] for link in source["links"]] for source in result}


class TestBacklinks:
    def test_backlinks_of_a_page_are_the_linking_pages(self, linked: Site) -> None:
        assert backlinks_of(linked, "content/about.md") == {
            "content/_index.md": ["/about/"],
            "content/posts/copy.md": ["/about/"],
            "content/posts/first.md": ["about"],
        }

    def test_backlinks_of_an_image_are_its_pages(self, linked: Site) -> None:
        assert backlinks_of(linked, "static/img/logo.png") == {
            "content/about.md": ["/img/logo.png"],
            "content/posts/first.md": ["../../static/img/logo.png"],
            "layouts/page.html": ["/img/logo.png"],
            "static/css/site.css": ["../img/logo.png"],
        }
        assert backlinks_of(linked, "static/img/other/logo.png") == {}

    def test_saved_link_is_a_backlink_and_a_removed_link_is_not(self, linked: Site) -> None:
        change = {"path": "content/_index.md", "action": "update", "content": "[x](/posts/copy)\n"}
        linked.commit(change).ok(201)
        linked.world.work_off()
        assert "content/_index.md" not in backlinks_of(linked, "content/about.md")
        assert backlinks_of(linked, "content/posts/copy.md") == {"content/_index.md": ["/posts/copy"]}

    def test_unknown_file_returns_404_and_invalid_path_400(self, linked: Site) -> None:
        linked.owner.get(linked.path("/backlinks?file=nope.md")).fails(404)
        linked.owner.get(linked.path("/backlinks?file=../x")).fails(400, None, "file")
