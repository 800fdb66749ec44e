"""Sets of fields: entries without a field are listed without a walk, also before the sets of all entries are stored."""

from collections.abc import Iterator, Sequence

import pytest
import sqlalchemy as sa
from flask import current_app

from app.database import transactions
from app.extensions import db
from app.models.content_search import ContentShape
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content.entries.entry_shapes import MAX_SHAPES, shapes_without, store_shapes
from app.resources.project_content.index import cleanup
from app.resources.project_content.index.search_indexing import MAX_BLOB_BYTES
from tests.resources.project_content.conftest import Site, make_site
from tests.support.assertions.statements import counted
from tests.support.world import World

pytestmark = pytest.mark.slow

LARGE = b"# Large\n" + b"x" * MAX_BLOB_BYTES
FILES = {
    "content/a.md": b"---\ntitle: A\ndate: 2026-01-02\n---\n",
    "content/b.md": b"---\ntitle: B\ndate: 2026-01-03\n---\n",
    "content/c.md": b"---\ndate: 2026-01-04\n---\n",
    "content/d.md": b"---\ntitle: null\ndate: 2026-01-05\n---\n",
    "content/empty.md": b"",
    "content/large.md": LARGE,
    "content/plain.md": b"# Plain\n",
    "content/z.css": b"",
    "content/z.html": b"---\nlayout: x\n---\n",
    "data/site.yaml": b"title: Data\n",
}
UNTITLED = ["c.md", "d.md", "empty.md", "large.md", "plain.md", "z.html"]


@pytest.fixture
def pages(world: World) -> Iterator[Site]:
    site = make_site(world, FILES)
    with world.app.app_context():
        yield site


def without(site: Site, name: str, **query: str) -> list[str]:
    listed = site.owner.get(site.path("/entries"), query_string={f"filter[{name}][missing]": "true"} | query).ok()
    return [entry["path"].rpartition("/")[2] for entry in listed]


def index_of(site: Site) -> ContentIndex:
    transactions.start_reading()
    db.session.expire_all()
    return db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()


def forget(site: Site) -> None:
    """Delete the sets of fields, as if a version without them had indexed the branch."""
    with transactions.write_transaction():
        db.session.execute(sa.delete(ContentShape).where(ContentShape.project_id == site.project))
        db.session.execute(
            sa.update(ContentIndex).where(ContentIndex.project_id == site.project).values(shaped_sha=None)
        )


def shapes(site: Site) -> Sequence[str]:
    transactions.start_reading()
    return db.session.scalars(sa.select(ContentShape.shape).where(ContentShape.project_id == site.project)).all()


class TestEntriesWithoutAField:
    def test_entries_without_a_field_are_listed_from_the_sets(self, pages: Site) -> None:
        assert without(pages, "title") == UNTITLED
        assert without(pages, "date", sort="-path") == ["z.html", "plain.md", "large.md", "empty.md"]
        assert without(pages, "layout", folder="content", sort="-date")[:2] == ["d.md", "c.md"]

    def test_field_of_all_entries_reads_no_file(self, pages: Site) -> None:
        names = ("c.md", "d.md", "empty.md", "large.md", "plain.md", "z.css", "z.html")
        pages.commit(*({"path": f"content/{name}", "action": "delete"} for name in names)).ok(201)
        pages.world.work_off()
        cleanup.delete_unreferenced()
        with counted(current_app) as statements:
            assert without(pages, "title") == []
        assert [each for each in statements if "content_files" in each] == []

    def test_missing_sets_are_replaced_by_a_walk(self, pages: Site) -> None:
        forget(pages)
        assert shapes_without(index_of(pages), "title") is None
        assert without(pages, "title") == UNTITLED

    def test_more_sets_than_the_limit_are_replaced_by_a_walk(self, pages: Site) -> None:
        index = index_of(pages)
        assert len(shapes_without(index, "title") or ()) == 3
        with transactions.write_transaction():
            for number in range(MAX_SHAPES):
                db.session.add(ContentShape(project_id=pages.project, sha=f"{number:040}", shape=f"{number:016}"))
        assert shapes_without(index_of(pages), "title") is None
        assert without(pages, "title") == UNTITLED

    def test_last_page_of_a_sorted_list_continues_with_entries_without_the_field(self, pages: Site) -> None:
        first = pages.owner.get(pages.path("/entries"), query_string={"sort": "title", "limit": 4})
        assert [entry["path"][8:] for entry in first.ok()] == ["a.md", "b.md", "c.md", "d.md"]
        more = {"sort": "title", "cursor": first.json["meta"]["next_cursor"]}
        second = pages.owner.get(pages.path("/entries"), query_string=more).ok()
        assert [entry["path"][8:] for entry in second] == UNTITLED[2:]


class TestStoredSets:
    def test_hourly_job_stores_the_sets_of_an_older_version(self, pages: Site) -> None:
        forget(pages)
        cleanup.enqueue_missing()
        pages.world.work_off()
        index = index_of(pages)
        assert index.shaped_sha == index.commit_sha
        assert len(shapes(pages)) == 8
        assert without(pages, "title") == UNTITLED

    def test_saved_entry_is_listed_before_and_after_its_set_is_stored(self, pages: Site) -> None:
        pages.commit({"path": "content/new.md", "action": "create", "content": "---\nx: 1\n---\n"}).ok(201)
        assert "new.md" in without(pages, "title")
        pages.world.work_off()
        assert "new.md" in without(pages, "title")
        assert index_of(pages).shaped_sha == pages.repo.head()

    def test_reset_during_the_indexing_is_kept(self, pages: Site) -> None:
        before = index_of(pages).shaped_sha
        assert before is not None
        forget(pages)
        head = pages.repo.head()
        store_shapes(index_of(pages), None, commit_sha=head, since=before)
        assert index_of(pages).shaped_sha is None
        store_shapes(index_of(pages), None, commit_sha=head, since=None)
        assert index_of(pages).shaped_sha == index_of(pages).commit_sha

    def test_sets_of_deleted_entries_are_deleted(self, pages: Site) -> None:
        pages.commit({"path": "content/z.html", "action": "delete"}).ok(201)
        pages.world.work_off()
        cleanup.delete_unreferenced()
        files = sa.select(ContentFile.sha).where(ContentFile.index_id == index_of(pages).id)
        assert len(shapes(pages)) == 7
        assert set(
            db.session.scalars(sa.select(ContentShape.sha).where(ContentShape.project_id == pages.project))
        ) <= set(db.session.scalars(files))
