"""Tests of the served routes and guards against the specification."""

from flask import Flask

from tests.contract.expected import CALLERS, DATA, decided, expected
from tests.contract.served import served
from tests.contract.specification import EXTENSIONS, SPECIFICATION

NOT_BUILT = frozenset[str]()
"""Areas without served routes. The set is empty if the service is complete."""


class TestData:
    def test_status_table_contains_every_row_of_the_specification(self) -> None:
        rows = [(row.method, row.path) for row in SPECIFICATION]
        assert rows == [(row["method"], row["path"]) for row in DATA["endpoints"]]
        assert tuple(DATA["callers"]) == CALLERS

    def test_decided_guards_begin_with_the_specified_guards(self) -> None:
        stated = {(row.method, row.path): row.guard.replace(", ", ",") for row in SPECIFICATION if row.guard}
        words = {(row["method"], row["path"]): row["guard"] for row in DATA["endpoints"]}
        assert [key for key, guard in stated.items() if not words[key].startswith(guard)] == []


class TestRoutes:
    def test_every_served_route_is_listed(self, app: Flask) -> None:
        listed = {(row.method, row.path) for row in (*SPECIFICATION, *EXTENSIONS)}
        assert set(served(app)) - listed == set()

    def test_every_listed_route_of_a_built_area_is_served(self, app: Flask) -> None:
        rows = [row for row in (*SPECIFICATION, *EXTENSIONS) if row.area not in NOT_BUILT]
        assert {(row.method, row.path) for row in rows} - set(served(app)) == set()

    def test_areas_marked_as_not_built_have_no_routes(self, app: Flask) -> None:
        routes = served(app)
        rows = [row for row in (*SPECIFICATION, *EXTENSIONS) if row.area in NOT_BUILT]
        assert [row for row in rows if (row.method, row.path) in routes] == []

    def test_declared_guards_equal_the_table(self, app: Flask) -> None:
        routes = served(app)
        differing = {
            row.route: (decided(routes[row.route].declared.guard.spec_name), row.words)
            for row in expected()
            if row.route in routes
        }
        assert {key: words for key, words in differing.items() if words[0] != words[1]} == {}
