"""Collections that are inferred from a sample of the files."""

import pytest
import sqlalchemy as sa
from flask import Flask

from app.content.schema.model import Collection
from app.database import transactions
from app.extensions import db
from app.models.project_content import ContentIndex
from app.resources.project_content.schema.schema_sources import MAX_FILES, infer
from tests.resources.project_content.conftest import Site, make_site
from tests.support.assertions.statements import counted, executed, plan_of
from tests.support.samples.gitrepo import Content
from tests.support.world import World


def page(n: int, topics: str) -> bytes:
    return f"---\ntitle: Post {n}\ntopic: {topics[n % len(topics)]}\nrank: {n}\n---\n".encode()


@pytest.fixture
def site(world: World) -> Site:
    files: dict[str, Content] = {
        f"content/posts/{n % 7}/post-{n:03}.md": page(n, "abcdefghijklmnop") for n in range(150)
    }
    files |= {f"content/news/item-{n:03}.html": page(n, "xyz") for n in range(60)}
    files |= {f"content/few/page-{n}.md": b"---\nonly: true\n---\n" for n in range(3)}
    return make_site(world, files | {f"images/{n}.png": b"x" for n in range(80)} | {"README.md": b"Read\n"})


def inferred(site: Site, max_files: int) -> dict[str, Collection]:
    transactions.start_reading()
    index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()
    return {collection.folder: collection for collection in infer(site.project, index, max_files=max_files)}


def test_sample_of_dated_names_consists_of_the_newest(app: Flask, world: World) -> None:
    old = {f"_posts/2002-01-{day:02}-old.md": b"---\ntitle: Old\n---\n" for day in range(1, 29)}
    new = {f"_posts/2026-01-{day:02}-new.md": b"---\ntitle: New\ndate: 2026-01-01\n---\n" for day in range(1, 15)}
    site = make_site(world, old | new)
    with app.app_context():
        posts = inferred(site, 12)["_posts"]
        transactions.release_connection()
    assert {field.name: field.required for field in posts.fields} == {"date": True, "title": True}


def test_field_that_only_files_outside_of_the_sample_have_is_a_field_of_the_collection(
    app: Flask, world: World
) -> None:
    pages = {f"docs/{number:02}.md": b"---\ntitle: A\n---\n" for number in range(20)}
    pages["docs/00.md"] = b"---\ntitle: A\ndescription: B\nseo:\n  index: true\n---\n"
    other = {f"posts/{number:02}.md": b"---\ntitle: A\nauthor: B\n---\n" for number in range(3)}
    site = make_site(world, pages | other)
    with app.app_context():
        docs = inferred(site, 8)["docs"]
        transactions.release_connection()
    assert {field.name: field.required for field in docs.fields} == {"title": True, "description": False, "seo": False}
    assert [inner.name for field in docs.fields for inner in field.fields] == ["index"]


def test_collection_has_no_text_if_several_entries_have_none(app: Flask, world: World) -> None:
    empty = {f"people/{number}.md": b"---\ntitle: A\n---\n\n" for number in range(3)}
    few = {f"teams/{number}.md": b"---\ntitle: A\n---\n" for number in range(2)}
    posts = {f"posts/{number}.md": b"---\ntitle: %d\n---\n" % number for number in range(3)}
    site = make_site(world, empty | few | posts | {"posts/last.md": b"---\ntitle: A\n---\nText.\n"})
    with app.app_context():
        found = inferred(site, 50)
        transactions.release_connection()
    assert {name: one.has_body for name, one in found.items()} == {"people": False, "teams": True, "posts": True}


def test_statements_for_other_fields_do_not_grow_with_the_collections(app: Flask, world: World) -> None:
    def statements(folders: int) -> int:
        pages = {
            f"c{folder}/{number:02}.md": b"---\ntitle: A\n---\n" if number else b"---\ntitle: A\nnote: B\n---\n"
            for folder in range(folders)
            for number in range(6)
        }
        site = make_site(world, pages)
        with app.app_context(), counted(app) as sent:
            found = inferred(site, 3 * folders)
            transactions.release_connection()
        assert {field.name for one in found.values() for field in one.fields} == {"title", "note"}
        return len(sent) - folders  # one statement for the files of each collection

    assert statements(2) == statements(8)


def test_sample_has_the_collections_and_fields_of_all_files(app: Flask, site: Site) -> None:
    with app.app_context():
        everything = inferred(site, MAX_FILES)
        assert list(everything) == ["content/few", "content/news", "content/posts"]
        with executed(app) as statements:
            sample = inferred(site, 130)
        transactions.release_connection()
        assert {folder: one.pattern for folder, one in sample.items()} == {
            "content/few": "**/*.md",
            "content/news": "**/*.html",
            "content/posts": "**/*.md",
        }
        for folder, one in everything.items():
            # The sample contains few of the many topics, but no option is offered if the project has more.
            topics = [f.options for f in one.fields if f.name == "topic"]
            assert topics == (
                [("x", "y", "z")] if folder == "content/news" else [()] if folder == "content/posts" else []
            )
            names = {(f.name, f.required, f.type) for f in one.fields if f.name != "topic"}
            assert {(f.name, f.required, f.type) for f in sample[folder].fields if f.name != "topic"} == names
        assert not any(field.options for one in sample.values() for field in one.fields)
        for statement, parameters in statements:
            plan = plan_of(app, statement, parameters)
            assert not [line for line in plan if "Seq Scan" in line or line.startswith("SCAN content_")], plan
            # This plan reads all values of the project.
            assert "SEARCH content_fields USING PRIMARY KEY (project_id=?)" not in plan


def test_options_of_a_sample_are_all_values_of_the_project(app: Flask, world: World) -> None:
    topics = ["Common"] * 90 + ["rare"]
    files: dict[str, Content] = {
        f"content/posts/{n:03}.md": f"---\ntopic: {topic}\n---\n".encode() for n, topic in enumerate(topics)
    }
    with app.app_context():
        (field,) = inferred(make_site(world, files), 40)["content/posts"].fields
        assert field.options == ("Common", "rare")
