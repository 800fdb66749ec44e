"""Plans of SQLite for entries and backlinks, with the statistics of the migration and without statistics."""

import sqlite3
from contextlib import closing
from itertools import product
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.content.entry_filters import parse_filters, parse_order
from app.database import transactions
from app.extensions import db
from app.models.project_content import ContentIndex
from app.resources.project_content.entries.entry_pages import CursorPosition, EntryRows
from tests.resources.project_content.conftest import Site, make_site
from tests.support.assertions.statements import Executed, executed
from tests.support.world import World

pytestmark = pytest.mark.one_database

FILTERS: list[dict[str, str]] = [
    {},
    {"filter[draft]": "true"},
    {"filter[tags][contains]": "b"},
    {"filter[date][gte]": "2024-01-02"},
    {"filter[title][missing]": "true"},
    {"filter[path][gte]": "content/a"},
]


@pytest.fixture
def statements(app: Flask, world: World) -> list[Executed]:
    """Return the statements of lists of entries: sorted files, walks, and their next pages."""
    text = "---\ntitle: Post {n}\ndate: 2024-01-0{n}\ntags: [a, b]\ndraft: true\n---\n"
    site: Site = make_site(world, {f"content/a/{n}.md": text.format(n=n).encode() for n in range(1, 9)})
    with app.app_context():
        transactions.start_reading()
        index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()
        with executed(app) as recorded:
            for order, folder, few, filters in product(
                ("path", "-date", "title"), (None, "content"), (0, 2_000), FILTERS
            ):
                rows = EntryRows(site.project, index, folder, parse_order(order), parse_filters(filters), few)
                first = rows.after(None, 3)
                if first:
                    rows.after(CursorPosition(first[-1].key, first[-1].path), 3)
        transactions.release_connection()
    return recorded


@pytest.mark.parametrize("has_statistics", [True, False])
def test_files_of_values_are_read_with_their_index(
    app: Flask, statements: list[Executed], has_statistics: bool
) -> None:
    assert len({statement for statement, _ in statements}) > 40
    with app.app_context():
        file = str(db.engine.url.database)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        if not has_statistics:
            connection.execute("DELETE FROM sqlite_stat1")
            connection.execute("ANALYZE sqlite_schema")
        for statement, parameters in statements:
            plan = _plan(connection, statement, parameters)
            assert not [line for line in plan if line.startswith("SCAN content_")], (statement, plan)
            if "JOIN content_files" in statement:
                # The range of the paths would be read once for each value.
                assert any("content_files USING INDEX ix_content_files_sha" in line for line in plan), (statement, plan)
        connection.execute("ROLLBACK")


def _plan(connection: sqlite3.Connection, statement: str, parameters: Any) -> list[str]:
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
