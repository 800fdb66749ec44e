"""Tests of backlinks through the API: links, images and fields."""

from typing import Any

import pytest
import sqlalchemy as sa

from app.content.schema.model import ContentSchema, SourceKind
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.resources.project_content.search.references import count_pages, uses
from app.resources.project_content.tree.folder_listing import pages_with
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


def test_file_in_the_folder_of_a_page_is_used_by_this_page(world: World) -> None:
    pages = {
        "content/posts/sea/index.md": b"# Sea\n",
        "content/posts/sea/index.fr.md": b"# Mer\n",
        "content/posts/sea/img/a.png": b"\x89PNG\r\n\x1a\na",
        "content/posts/b.png": b"\x89PNG\r\n\x1a\nb",
        "content/sea_indexes.md": b"x",
    }
    site = make_site(world, pages)
    with world.app.app_context():
        project = db.session.get_one(Project, site.project)
        index = db.session.scalar(sa.select(ContentIndex).where(ContentIndex.project_id == site.project))
        paths = ["content/posts/sea/img/a.png", "content/posts/b.png"]
        assert pages_with(index, paths, "hugo") == {paths[0]: "content/posts/sea/index.md"}
        assert count_pages(project, index, paths) == {paths[0]: 1}
        assert [
            (use.path, use.title) for use in uses(project, index, paths[0], ContentSchema(SourceKind.INFERRED, None))
        ] == [("content/posts/sea/index.md", "Sea")]
        assert pages_with(None, paths, "hugo") == {}


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
