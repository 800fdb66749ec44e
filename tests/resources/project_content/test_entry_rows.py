"""Rows of entries: each way to select a page returns the same rows, and a walk needs no sorted branch.

`GALLEY_LONG=1` reads a folder with each order and filter instead of a third of them, in shorter pages.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest
import sqlalchemy as sa
from flask import current_app
from sqlalchemy import event

from app.content.entry_filters import EntryOrder, parse_filters, parse_order
from app.content.field_values import key_of
from app.content.schema.path_sets import PathSet
from app.database import transactions
from app.extensions import db
from app.models.project_content import ContentIndex
from app.resources.project_content.entries.entry_conditions import FileSelection
from app.resources.project_content.entries.entry_pages import CursorPosition, EntryRows
from tests.resources.project_content.conftest import make_site
from tests.support.samples.gitrepo import Content
from tests.support.world import World

pytestmark = pytest.mark.slow

COUNT = 60
LONG = bool(os.environ.get("GALLEY_LONG"))
LIMIT = 7 if LONG else 17
"""The number of rows of a page. The longest lists have four pages."""
ORDERS = ("path", "-path", "title", "-date", "date", "weight", "-rare", "none", "-same")
FEW = (0, 5, 2_000)
"""No file is sorted, some are, and all are."""

Values = dict[str, Any]
FILTERS: dict[str, tuple[dict[str, str], Callable[[str, Values], bool]]] = {
    "none": ({}, lambda _path, _values: True),
    "equal": ({"filter[draft]": "true"}, lambda _path, values: values.get("draft") is True),
    "item": ({"filter[tags][contains]": "B1"}, lambda _path, values: "b1" in values.get("tags", [])),
    "part": ({"filter[title][contains]": "t 1"}, lambda _path, values: "t 1" in values.get("title", "").lower()),
    "range": ({"filter[weight][gt]": "3"}, lambda _path, values: values.get("weight", 0) > 3),
    "absent": ({"filter[rare][missing]": "true"}, lambda _path, values: "rare" not in values),
    "absent in few": ({"filter[title][missing]": "true"}, lambda _path, values: "title" not in values),
    "absent in all": ({"filter[none][missing]": "true"}, lambda _path, _values: True),
    "present": ({"filter[rare][missing]": "false"}, lambda _path, values: "rare" in values),
    "path": ({"filter[path][gte]": "content/b"}, lambda path, _values: path >= "content/b"),
    "two": (
        {"filter[weight][lte]": "4", "filter[draft]": "false"},
        lambda _path, values: values.get("weight", 9) <= 4 and values.get("draft") is False,
    ),
    "unknown": ({"filter[unknown]": "x"}, lambda _path, _values: False),
}


SELECTIONS: dict[str, tuple[FileSelection, Callable[[str, Values], bool]]] = {
    "ending": (FileSelection(PathSet("content", ("**/*.html",))), lambda path, _: path.endswith(".html")),
    "two patterns": (
        FileSelection(PathSet("content", ("b/*.md", "c/*-0*.md"), slashes=1)),
        lambda path, _: path.startswith(("content/b/p", "content/c/post-0")) and path.endswith(".md"),
    ),
    "depth": (FileSelection(PathSet("content", ("*.md",), slashes=0)), lambda _path, _: False),
    "exclusions": (
        FileSelection(PathSet("content", ("**/*.md",), unlike=("**/*-1*",), without=("content/a",))),
        lambda path, _: path.endswith(".md") and "-1" not in path and not path.startswith("content/a/"),
    ),
    "term": (
        FileSelection(term="T 1"),
        lambda path, values: "t 1" in values.get("title", "").lower() or "t 1" in path,
    ),
    "name": (FileSelection(PathSet("content", ("**/*",)), term="AIN.m"), lambda path, _: path.endswith("plain.md")),
    "drafts": (FileSelection(is_draft=True), lambda _path, values: values.get("draft") is True),
    "no drafts": (FileSelection(is_draft=False), lambda _path, values: values.get("draft") is not True),
}
"""Each file of a set of paths is selected. Without one, a file is an entry only if it is markup or has front matter."""


def values_of(n: int) -> Values:
    values: Values = {"same": "2024-01-02", "draft": n % 3 == 0, "tags": ["a", f"b{n % 4}"]}
    if n % 7:
        values["title"] = f"Post {n}" if n % 5 else "Equal"
    if n % 4:
        values["date"] = "later" if n % 11 == 5 else 2024 if n % 11 == 6 else f"2024-01-{1 + n % 9:02}"
    if n % 5:
        values["weight"] = n % 8
    if n % 20 == 3:
        values["rare"] = "x"
    return values


def path_of(n: int) -> str:
    return f"content/{'abc'[n % 3]}/post-{n:02}.{'html' if n % 10 == 1 else 'md'}"


def files() -> Iterator[tuple[str, Content]]:
    for n in range(COUNT):
        lines = "".join(
            f"{name}: {str(value).lower() if isinstance(value, bool) else value}\n"
            for name, value in values_of(n).items()
        )
        yield path_of(n), f"---\n{lines}---\n{n}\n".encode()
    yield "content/a/plain.md", b"# Plain\n"
    yield "content/a/page.html", b"<p>No entry</p>"


@dataclass
class Entries:
    """An indexed branch with its expected entries."""

    index: ContentIndex
    project: str

    def rows(self, order: str, filters: dict[str, str], folder: str | None = None, few: int = 0) -> EntryRows:
        return EntryRows(self.project, self.index, folder, parse_order(order), parse_filters(filters), few)

    def selected(self, selection: FileSelection, order: str, folder: str | None, few: int) -> EntryRows:
        return replace(self.rows(order, {}, folder, few), selection=selection)

    def paths(self, rows: EntryRows, limit: int) -> list[str]:
        """Return the paths of all pages."""
        paths, position = [], None
        while page := rows.after(position, limit):
            paths += [row.path for row in page]
            position = CursorPosition(page[-1].key, page[-1].path)
        return paths


@pytest.fixture
def entries(world: World) -> Iterator[Entries]:
    site = make_site(world, dict(files()))
    with world.app.app_context():
        transactions.start_reading()
        index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()
        yield Entries(index, site.project)


DATED_NAMES = ("sub/2023-05-01-a.md", "2024-01-02-b.md", "a/2024-03-04-c.md", "_index.md", "about.md", "0-first.md")


@pytest.mark.parametrize("few", FEW)
def test_files_without_a_year_are_last_in_an_order_by_dated_names(world: World, few: int) -> None:
    site = make_site(world, {f"posts/{name}": b"# Text\n" for name in DATED_NAMES} | {"other/z.md": b"# Z\n"})
    with world.app.app_context():
        transactions.start_reading()
        index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()
        own = Entries(index, site.project)
        rows = replace(own.rows("path", {}, "posts", few), order=EntryOrder("path", True, is_by_date=True))
        names = [path.removeprefix("posts/") for path in own.paths(rows, 2)]
    dated = ["a/2024-03-04-c.md", "2024-01-02-b.md", "sub/2023-05-01-a.md"]
    assert names == [*dated, "0-first.md", "_index.md", "about.md"]


def expected(order: EntryOrder, matches: Callable[[str, Values], bool], folder: str | None) -> list[str]:
    values = {path_of(n): values_of(n) for n in range(COUNT)} | {"content/a/plain.md": {}}
    paths = sorted(path for path, own in values.items() if matches(path, own) and path.startswith(folder or ""))
    if order.name == "path":
        return paths[::-1] if order.is_descending else paths
    keys = {path: key_of(values[path][order.name]) for path in paths if order.name in values[path]}
    with_value = [path for path in paths if path in keys and (not order.is_by_date or keys[path].startswith("3"))]
    with_value.sort(key=keys.__getitem__, reverse=order.is_descending)
    return with_value + [path for path in paths if path not in with_value]


@contextmanager
def explained() -> Iterator[list[str]]:
    """Record the plan of each statement. PostgreSQL avoids sorts and table scans where an index permits it."""
    plans: list[str] = []
    engine = current_app.extensions["reading_engine"]
    is_sqlite = engine.dialect.name == "sqlite"

    def explain(_connection: object, cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        own = cursor.connection.cursor()
        for setting in () if is_sqlite else ("sort", "seqscan", "bitmapscan", "hashjoin", "mergejoin"):
            own.execute(f"SET enable_{setting} = off")
        own.execute(f"EXPLAIN {'QUERY PLAN' if is_sqlite else ''} {statement}", parameters)
        plans.append("\n".join(str(row[-1]) for row in own.fetchall()))
        if not is_sqlite:
            own.execute("RESET ALL")

    event.listen(engine, "before_cursor_execute", explain)
    try:
        yield plans
    finally:
        event.remove(engine, "before_cursor_execute", explain)


class TestEntryRows:
    @pytest.mark.parametrize("few", FEW)
    def test_pages_equal_the_sorted_and_filtered_files(self, entries: Entries, few: int) -> None:
        for n, (order, (name, (filters, matches))) in enumerate(product(ORDERS, FILTERS.items())):
            for folder in (None, "content/b") if LONG or (n + n // len(FILTERS)) % 3 == 0 else (None,):
                paths = entries.paths(entries.rows(order, filters, folder, few), LIMIT)
                assert (order, name, paths) == (order, name, expected(parse_order(order), matches, folder))

    @pytest.mark.parametrize("few", FEW)
    @pytest.mark.parametrize("is_descending", [True, False])
    def test_entries_without_a_date_are_last_in_an_order_by_date(
        self, entries: Entries, few: int, is_descending: bool
    ) -> None:
        order = EntryOrder("date", is_descending, is_by_date=True)
        for name in ("none", "equal"):
            filters, matches = FILTERS[name]
            rows = replace(entries.rows("date", filters, few=few), order=order)
            assert entries.paths(rows, LIMIT) == expected(order, matches, None)

    def test_page_of_equal_values_continues_by_path(self, entries: Entries) -> None:
        for few in FEW:
            rows = entries.rows("same", {}, few=few)
            assert entries.paths(rows, 1) == entries.paths(rows, 100)

    def test_walk_sorts_no_files(self, entries: Entries) -> None:
        for order in ("path", "-path", "title", "-date", "same"):
            for filters in ({}, {"filter[weight][gt]": "3"}, {"filter[tags][contains]": "b1"}):
                with explained() as plans:
                    entries.rows(order, filters).after(None, 7)
                assert [plan for plan in plans if "SORT" in plan.upper() or "TEMP B-TREE FOR ORDER" in plan] == []

    def test_page_is_read_with_one_statement(self, entries: Entries) -> None:
        for order in ("path", "-path", "-title"):
            with explained() as plans:
                assert len(entries.rows(order, {}).after(None, 2)) == 2
            assert len(plans) == 1

    def test_entries_without_the_sorted_field_are_walked_by_path(self, entries: Entries) -> None:
        filters = {"filter[rare][missing]": "true"}
        with explained() as plans:
            rows = entries.rows("-rare", filters).after(None, 7)
        with explained() as plans_by_path:
            assert rows == entries.rows("path", filters).after(None, 7)
        assert plans == plans_by_path

    def test_filter_that_no_file_matches_reads_no_file(self, entries: Entries) -> None:
        with explained() as plans:
            assert entries.rows("-date", {"filter[unknown]": "x"}, few=5).after(None, 7) == []
        assert len(plans) == 1
        assert "content_files" not in plans[0]


@pytest.mark.parametrize("few", FEW)
def test_selections_of_files_are_listed_and_counted(entries: Entries, few: int) -> None:
    values = {path_of(n): values_of(n) for n in range(COUNT)} | {"content/a/plain.md": {}}
    every = values | {"content/a/page.html": {}}
    for name, (selection, matches) in SELECTIONS.items():
        files = every if selection.paths is not None else values
        paths = sorted(path for path, own in files.items() if matches(path, own))
        folder = "content" if selection.paths is not None else None
        for order in ("path", "-path", "-date"):
            rows = entries.selected(selection, order, folder, few)
            listed = entries.paths(rows, LIMIT)
            assert sorted(listed) == paths, (name, order)
            assert rows.total() == len(paths), (name, order)
            if order != "-date":
                assert listed == (paths if order == "path" else paths[::-1]), (name, order)
