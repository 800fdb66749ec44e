"""Tests of the cursor that describes a statement once."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from app.database.postgres_cursor import MAX_STATEMENTS, CachingCursor
from tests.support.databases import postgresql_database


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection[Any]]:
    with postgresql_database() as url:
        address = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(address, cursor_factory=CachingCursor, autocommit=True) as connection:
            yield connection


def names(cursor: psycopg.Cursor[Any]) -> list[str] | None:
    return None if cursor.description is None else [column.name for column in cursor.description]


class TestCachingCursor:
    def test_second_execution_has_the_same_columns(self, connection: psycopg.Connection[Any]) -> None:
        described = []
        for value in (1, 2):
            cursor = connection.cursor()
            cursor.execute("SELECT %s AS number, 'a' AS text", (value,))
            described.append(cursor.description)
            assert (names(cursor), cursor.fetchone()) == (["number", "text"], (value, "a"))
        assert described[0] is described[1]

    def test_reused_cursor_has_the_columns_of_its_last_statement(self, connection: psycopg.Connection[Any]) -> None:
        cursor = connection.cursor()
        cursor.execute("SELECT 1 AS first")
        assert names(cursor) == ["first"]
        cursor.execute("SELECT 1 AS second")
        assert names(cursor) == ["second"]
        cursor.executemany("SELECT %s AS third", [(1,)], returning=True)
        assert names(cursor) == ["third"]

    def test_statement_without_rows_has_no_columns(self, connection: psycopg.Connection[Any]) -> None:
        cursor = connection.cursor()
        assert names(cursor) is None
        cursor.execute("CREATE TEMPORARY TABLE described (a INT)")
        assert names(cursor) is None
        cursor.execute("INSERT INTO described VALUES (1) RETURNING a")
        assert names(cursor) == ["a"]

    def test_many_statements_are_described(self, connection: psycopg.Connection[Any]) -> None:
        cursor = connection.cursor()
        for number in range(MAX_STATEMENTS + 2):
            cursor.execute(f"SELECT 1 AS c{number}")  # type: ignore[call-overload]
            assert names(cursor) == [f"c{number}"]
