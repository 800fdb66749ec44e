"""Tests of entries: fields, order, filters, cursors and freshness, without a Git call."""

from typing import Any

import pytest

from app.drivers.git.local.provider import BareRepository
from tests.resources.project_content.conftest import Site, make_site
from tests.support.world import World

PAGES = {
    "content/posts/a.md": b"---\ntitle: Alpha\ndate: 2026-01-02\ndraft: true\ntags: [sea, sun]\nseo: {title: A}\n---\n",
    "content/posts/b.md": b"+++\ntitle = 'beta'\ndate = 2025-12-31T23:00:00-02:00\nweight = 10\n+++\n",
    "content/posts/c.md": b"---\ntitle: Gamma 100%\ndate: 2024-05-06\nweight: 9\ntags: [Sea]\ndraft: false\n---\n",
    "content/posts/d.md": b"---\ntitle: delta\nweight: -2\n---\n",
    "content/posts/e.md": b"# No front matter\n",
    "content/pages/about.html": b"---\ntitle: About\n---\n<p>",
    "layouts/index.html": b"<html>",
    "data/site.yaml": b"title: Data\n",
    "hugo.toml": b"title = 'Site'\n",
}

ORDERS = [
    ("path", "abcde"),
    ("-path", "edcba"),
    ("title", "abdce"),
    ("-date", "abcde"),
    ("date", "cbade"),
    ("weight", "dcbae"),
    ("-weight", "bcdae"),
]
FILTERS = [
    ({"filter[draft]": "true"}, "a"),
    ({"filter[draft]": "false"}, "c"),
    ({"filter[date][gte]": "2026-01-01"}, "ab"),
    ({"filter[date][gt]": "2026-01-01"}, "a"),
    ({"filter[date][lte]": "2026-01-01"}, "bc"),
    ({"filter[date][lt]": "2025-01-01"}, "c"),
    ({"filter[tags][contains]": "sea"}, "ac"),
    ({"filter[title][contains]": "100%"}, "c"),
    ({"filter[title][contains]": "L"}, "ad"),
    ({"filter[title][eq]": "BETA"}, "b"),
    ({"filter[title][missing]": "true"}, "e"),
    ({"filter[weight][missing]": "false"}, "bcd"),
    ({"filter[weight][gte]": "9"}, "bc"),
    ({"filter[weight]": "10.0"}, "b"),
    ({"filter[seo.title]": "a"}, "a"),
    ({"filter[path][contains]": "posts/d"}, "d"),
    ({"filter[tags][contains]": "sea", "filter[draft]": "true"}, "a"),
    ({"filter[none]": "x"}, ""),
]
INVALID = [
    ({"filter[title][like]": "x"}, "filter[title][like]"),
    ({"filter[title": "x"}, "filter[title"),
    ({"filter[title][missing]": "1"}, "filter[title][missing]"),
    ({"sort": "-"}, "sort"),
    ({"fields": "[a]"}, "fields"),
    ({"folder": "../x"}, "folder"),
    ({"cursor": "nonsense"}, "cursor"),
    ({"limit": "0"}, "limit"),
]


@pytest.fixture
def pages(world: World) -> Site:
    return make_site(world, PAGES)


def listed(site: Site, **query: Any) -> Any:
    return site.owner.get(site.path("/entries"), query_string=query)


def names(site: Site, **query: Any) -> list[str]:
    return [entry["path"].rpartition("/")[2][0] for entry in listed(site, folder="content/posts", **query).ok()]


class TestEntries:
    def test_entries_of_a_branch_are_markup_and_files_with_front_matter(self, pages: Site) -> None:
        response = listed(pages, fields="title,seo.title")
        assert [(e["path"], e["fields"]["title"]) for e in response.ok()] == [
            ("content/pages/about.html", "About"),
            ("content/posts/a.md", "Alpha"),
            ("content/posts/b.md", "beta"),
            ("content/posts/c.md", "Gamma 100%"),
            ("content/posts/d.md", "delta"),
            ("content/posts/e.md", None),
        ]
        assert response.ok()[1]["fields"]["seo.title"] == "A"
        assert response.json["meta"] == {"next_cursor": None, "commit_sha": pages.repo.head(), "complete": True}

    def test_entries_are_sorted_by_type_and_paged_without_gaps(self, pages: Site) -> None:
        for sort, expected in ORDERS:
            assert "".join(names(pages, sort=sort)) == expected
            seen, cursor = "", None
            for _ in range(3):
                more = {"cursor": cursor} if cursor else {}
                response = listed(pages, folder="content/posts", sort=sort, limit=2, **more)
                seen += "".join(entry["path"][-4] for entry in response.ok())
                cursor = response.json["meta"]["next_cursor"]
            assert (seen, cursor) == (expected, None)

    def test_filters_compare_typed_values(self, pages: Site) -> None:
        for query, expected in FILTERS:
            assert ("".join(names(pages, **query)), query) == (expected, query)

    @pytest.mark.one_database
    def test_invalid_query_returns_400_with_the_parameter(self, pages: Site) -> None:
        for query, path in INVALID:
            listed(pages, **query).fails(400, "VALIDATION_FAILED", path)

    def test_cursor_of_another_order_returns_400(self, pages: Site) -> None:
        cursor = listed(pages, limit=1).json["meta"]["next_cursor"]
        listed(pages, limit=1, cursor=cursor).ok()
        listed(pages, limit=1, cursor=cursor, sort="title").fails(400, "VALIDATION_FAILED", "cursor")
        listed(pages, limit=1, cursor=cursor, **{"filter[a]": "b"}).fails(400, "VALIDATION_FAILED", "cursor")

    def test_etag_of_an_unchanged_list_returns_304(self, pages: Site) -> None:
        tag = listed(pages, sort="-date").headers["ETag"]
        again = pages.owner.get(pages.path("/entries?sort=-date"), headers={"If-None-Match": tag})
        assert again.status == 304

    def test_entries_are_listed_without_a_git_call(self, pages: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("head", "blob", "tree", "entries", "history"):
            monkeypatch.setattr(BareRepository, name, lambda *_a, **_k: pytest.fail("Git was called"))
        assert names(pages, sort="-date") == list("abcde")

    def test_saved_entry_is_listed_before_and_after_its_text_is_indexed(self, pages: Site) -> None:
        page = {"path": "content/posts/f.md", "action": "create", "content": "---\ntitle: New\ndate: 2027-01-01\n---\n"}
        pages.commit(page).ok(201)
        response = listed(pages, folder="content/posts", fields="title")
        assert response.ok()[-1]["fields"] == {"title": "New"}
        assert response.json["meta"]["complete"] is False
        pages.world.work_off()
        assert names(pages, sort="-date") == list("fabcde")

    @pytest.mark.one_database
    def test_nonmember_returns_403_and_anonymous_401(self, pages: Site) -> None:
        pages.world.person().get(pages.path("/entries")).fails(403)
        pages.world.anonymous().get(pages.path("/entries")).fails(401)


DATED = b"""\
collections:
  - name: talks
    folder: talks
    pattern: "*.md"
    fields:
      - {name: title, type: string}
      - {name: date, type: date, date_format: dd.MM.yyyy}
      - {name: seo, type: object, fields: [{name: changed, type: datetime, date_format: "d MMMM yyyy, HH:mm"}]}
"""
TALKS = {
    "talks/a.md": b"---\ntitle: A\ndate: 01.12.2024\nseo: {changed: '3 May 2024, 08:05'}\n---\n",
    "talks/b.md": b"---\ntitle: B\ndate: 04.01.2024\nseo: {changed: '3 May 2023, 08:05'}\n---\n",
    "talks/c.md": b"---\ntitle: C\ndate: 03.05.2024\n---\n",
    "talks/d.md": b"---\ntitle: D\ndate: soon\n---\n",
    "notes/e.md": b"---\ntitle: E\ndate: 02.02.2024\n---\n",
}


class TestDeclaredDates:
    """A schema makes texts dates. The index sorts and compares them as dates, and still finds the texts."""

    def names(self, site: Site, **query: Any) -> str:
        entries = site.owner.get(site.path("/entries"), query_string={"folder": "talks", **query}).ok()
        return "".join(entry["path"][6] for entry in entries)

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"sort": "-date"}, "dacb"),
            ({"sort": "date"}, "bcad"),
            ({"filter[date][gt]": "2024-02-01"}, "ac"),
            ({"filter[date][lte]": "2024-05-03"}, "bc"),
            ({"filter[date]": "2024-01-04"}, "b"),
            ({"filter[date]": "04.01.2024"}, "b"),
            ({"filter[date][contains]": ".2024"}, "abc"),
            ({"filter[date][missing]": "false"}, "abcd"),
            ({"filter[seo.changed][gt]": "2024-01-01T00:00"}, "a"),
        ],
    )
    def test_entries_are_sorted_and_compared_by_date(self, world: World, query: dict[str, str], expected: str) -> None:
        site = make_site(world, {".galley.yml": DATED, **TALKS})
        assert self.names(site, **query) == expected
        assert site.owner.get(site.path("/entries"), query_string={"folder": "notes"}).ok()[0]["fields"]["date"]

    def test_changed_schema_changes_the_dates_of_all_entries(self, world: World) -> None:
        site = make_site(world, {"README.md": b"x", **TALKS})
        assert self.names(site, **{"filter[date][gt]": "2024-02-01"}) == ""
        for files, expected in (
            ({".galley.yml": DATED}, "ac"),
            ({".galley.yml": DATED.replace(b"dd.MM", b"MM.dd")}, "bc"),
            ({"talks/d.md": b"---\ndate: 07.30.2024\n---\n"}, "bcd"),
            ({".galley.yml": None}, ""),
        ):
            site.repo.commit(files)
            site.owner.post(site.path("/reindex")).ok(202)
            world.work_off()
            assert self.names(site, **{"filter[date][gt]": "2024-02-01"}) == expected
        assert self.names(site, **{"filter[date]": "04.01.2024"}) == "b"
