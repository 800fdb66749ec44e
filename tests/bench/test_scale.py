"""Figures of `docs/scale.md`: bytes per row, database work per request, one partition per project."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask, current_app

from app.extensions import db
from tests.bench import large
from tests.bench.population import Population, row_sizes
from tests.support import factories
from tests.support.assertions.statements import counted
from tests.support.databases import postgresql_database
from tests.support.world import Person, World

TIMES = 100
PARTITIONS = 16


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    with postgresql_database() as url, large.application(tmp_path, url) as flask_app:
        Population().fill()
        yield flask_app


class TestScale:
    def test_row_sizes_and_request_costs_are_printed(self, app: Flask, capsys: pytest.CaptureFixture[str]) -> None:
        world = World(app)
        person = world.person()
        lines = ["\nbytes per row (table: rows, bytes with indexes, bytes of the indexes)"]
        lines += [f"  {name}: {rows}, {whole:.0f}, {indexes:.0f}" for name, rows, whole, indexes in row_sizes()]
        lines.append("per request (route: statements, CPU ms of this process)")
        for name, call in _requests(world, person):
            call()
            with counted(current_app) as sent:
                call()
            taken = large.cpu_taken(lambda call=call: [call() for _ in range(TIMES)])  # type: ignore[misc]
            lines.append(f"  {name}: {len(sent)}, {taken / TIMES * 1_000:.1f}")
        touched, spread = _partitions()
        lines.append(
            f"content_files in {PARTITIONS} partitions: {spread} rows per partition; one file reads {touched} partition"
        )
        assert touched == 1
        with capsys.disabled():
            print("\n".join(lines))


def _requests(world: World, person: Person) -> Iterator[tuple[str, Callable[[], object]]]:
    org = factories.organization(world, person)
    name, _ = factories.repository(world, {"content/a.md": b"# Alpha\n"})
    project = factories.project(world, person, org, name)
    large.catch_up(world.app, project)
    numbers = iter(range(10_000))
    yield "session", lambda: person.get("/auth/get-session").ok()
    yield "one project", lambda: person.get(f"/project/{project}").ok()
    yield "the projects of an organization", lambda: person.get(f"/project/orgs/{org}").ok()
    yield "a page of the log", lambda: person.get(f"/project-log/{project}").ok()
    yield "search", lambda: person.get(f"/project-content/{project}/search", query_string={"q": "alpha"}).ok()
    yield "rename a project", lambda: person.patch(f"/project/{project}", {"project_name": f"P {next(numbers)}"}).ok()


def _partitions() -> tuple[int, str]:
    """Return the number of partitions that the statement for a file reads, and the distribution of the rows."""
    copied = (
        "CREATE TABLE parted (LIKE content_files INCLUDING DEFAULTS) PARTITION BY HASH (index_id)",
        *(
            f"CREATE TABLE parted_{n} PARTITION OF parted FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {n})"
            for n in range(PARTITIONS)
        ),
        "ALTER TABLE parted ADD PRIMARY KEY (index_id, generation, path)",
        "INSERT INTO parted SELECT * FROM content_files",
        "ANALYZE parted",
    )
    with db.engine.begin() as connection:
        for statement in copied:
            connection.execute(sa.text(statement))
        one = "SELECT * FROM parted WHERE index_id = 'idx_00000000000000000000000001' AND generation = 1 AND path = 'a'"
        plan = connection.scalars(sa.text(f"EXPLAIN {one}")).all()
        counts = connection.scalars(sa.text("SELECT count(*) FROM parted GROUP BY tableoid")).all()
    return sum("parted_" in line and "Scan" in line for line in plan), f"{min(counts)} to {max(counts)}"
