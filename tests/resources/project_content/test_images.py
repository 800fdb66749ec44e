"""Tests of the list of images and their numbers of pages."""

import re
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.content.filetypes import endings_of
from app.database import transactions
from app.extensions import db
from app.models.project import Project
from app.models.project_content import IS_IMAGE, ContentIndex
from app.resources.project_content.search.references import ImagePage, count_pages, list_images
from tests.resources.project_content.conftest import Site, make_site
from tests.support.assertions.statements import executed, plan_of
from tests.support.world import World

LOGO, COPY, UPPER = "static/img/logo.png", "static/img/other/logo.png", "static/Ärger.JPG"
FILES: dict[str, Any] = {
    "content/about.md": b"---\ncover: /img/logo.png\n---\n![Logo](/img/logo.png)\n",
    "content/posts/first.md": b"![Logo](../../static/img/logo.png)\n",
    "content/png.md": b"png\n",
    LOGO: b"\x89PNG\r\n\x1a\n\0\0",
    COPY: b"\x89PNG\r\n\x1a\n\1\1",
    UPPER: b"\xff\xd8",
}


@pytest.fixture
def pictures(world: World) -> Site:
    return make_site(world, FILES)


def index_of(site: Site) -> ContentIndex:
    return db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()


@pytest.mark.parametrize(
    ("term", "paths"), [("", [LOGO, COPY, UPPER]), ("LOGO", [LOGO, COPY]), ("ärger", [UPPER]), ("first", [])]
)
def test_images_match_the_term_in_any_case(app: Flask, pictures: Site, term: str, paths: list[str]) -> None:
    with app.app_context():
        index = index_of(pictures)
        page = list_images(index, term, limit=9)
        assert (sorted(one.path for one in page.images), page.total) == (sorted(paths), len(paths))
        assert list_images(index, term, offset=1, limit=1).images == page.images[1:2]


def test_condition_of_the_index_contains_the_endings_of_images() -> None:
    assert re.findall(r"'(\w+)'", IS_IMAGE) == sorted(ending.removeprefix(".") for ending in endings_of("image"))


def test_images_are_read_with_their_index_and_without_texts(app: Flask, pictures: Site) -> None:
    with app.app_context():
        transactions.start_reading()
        index = index_of(pictures)
        project = db.session.get_one(Project, pictures.project)
        with executed(app) as statements:
            count_pages(project, index, [one.path for one in list_images(index, "a", limit=9).images])
        transactions.release_connection()
        plans = [plan_of(app, *statement) for statement in statements]
        # PostgreSQL chooses by the small number of links.
        reads_links_by_key = "INDEX ix_content_links_project_id_key" in str(plans[2])
        assert reads_links_by_key or db.engine.dialect.name == "postgresql"
    assert all(any("ix_content_files_image" in line for line in plan) for plan in plans[:2]), plans
    assert not any("content_texts" in statement or "last_commit" in statement for statement, _ in statements)


def test_pages_that_use_an_image_are_counted_once(app: Flask, pictures: Site) -> None:
    with app.app_context():
        project = db.session.get_one(Project, pictures.project)
        assert count_pages(project, index_of(pictures), [LOGO, COPY, UPPER]) == {LOGO: 2}


def test_number_is_unknown_while_links_are_not_compared(app: Flask, pictures: Site) -> None:
    with app.app_context():
        project, index = db.session.get_one(Project, pictures.project), index_of(pictures)
        assert count_pages(project, index, [LOGO, COPY, UPPER], max_links=1) == {LOGO: 1, COPY: None}
        index.described_sha = None
        assert count_pages(project, index, [LOGO, COPY, UPPER]) == {LOGO: 2, COPY: None, UPPER: None}


def test_branch_without_index_has_no_images(app: Flask, pictures: Site) -> None:
    with app.app_context():
        assert list_images(None, limit=9) == ImagePage([], 0)
        assert count_pages(db.session.get_one(Project, pictures.project), None, [LOGO]) == {}
