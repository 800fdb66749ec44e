"""Mutation tests of the guards. The authorization table must detect each disabled guard. `make mutants` runs them.

A mutant resolves the same target as the declared guard. It then permits (a) every verified user, (b) every signed-in user
or (c) every caller. A mutant that gives every standing the same result as the guard is not counted.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask

from app.access.guards import Guard
from app.access.scope import Scope
from app.http.endpoint import Endpoint
from tests.contract.document import STANDINGS, passes
from tests.contract.expected import Expected
from tests.contract.matrix import Matrix
from tests.contract.outside import Outside
from tests.contract.scene import template
from tests.contract.served import served
from tests.support.applications import application


def _anyone(_standing: Scope) -> bool:
    return True


def mutants(guard: Guard) -> Iterator[tuple[str, Guard]]:
    """Return the disabled forms of the guard that change the result of at least one standing."""
    forms = {
        "any verified person": dataclasses.replace(guard, allows=_anyone),
        "anyone signed in": dataclasses.replace(guard, allows=_anyone, allow_unverified=True),
        "anyone at all": dataclasses.replace(guard, allows=_anyone, allow_unverified=True, public=True),
    }
    for name, form in forms.items():
        if any(passes(form, standing) != passes(guard, standing) for standing in STANDINGS.values()):
            yield name, form


@contextmanager
def replaced(declared: Endpoint, guard: Guard) -> Iterator[None]:
    """Serve the route with another guard within the block."""
    before = declared.guard
    object.__setattr__(declared, "guard", guard)
    try:
        yield
    finally:
        object.__setattr__(declared, "guard", before)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    """Return an application on SQLite. Guards do not depend on the database."""
    with (
        Outside() as outside,
        application(outside.settings(f"sqlite:///{tmp_path}/app.db", tmp_path)) as flask_app,
    ):
        flask_app.extensions["outside"] = outside
        yield flask_app


def _let_in(row: Expected, guard: Guard, form: Guard) -> list[str]:
    """Return the standings with different results that can find the target.

    The others receive 404 from `find`. A guard with `hidden_message` finds the target and returns 404 by itself.
    """
    differing = [name for name, who in STANDINGS.items() if passes(form, who) != passes(guard, who)]
    return [name for name in differing if row.cells[name] != "404" or guard.hidden_message is not None]


def _survives(app: Flask, source: Path, row: Expected, names: list[str]) -> bool:
    """Return True if the table does not detect the mutant. The requests run in a new scene because they may change it."""
    return not Matrix(app, source, whole=False).cells([row], names).wrong


def _by_route(rows: list[Expected]) -> dict[tuple[str, str], list[Expected]]:
    """Group the rows by route. One row that detects a mutant is sufficient."""
    values: dict[tuple[str, str], list[Expected]] = {}
    for row in rows:
        values.setdefault(row.route, []).append(row)
    return values


class TestMutants:
    def test_authorization_table_detects_every_disabled_guard(
        self, app: Flask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, routes, survivors, total = template(tmp_path / "site.git"), served(app), [], 0
        for route, rows in _by_route(Matrix(app, source, whole=False).rows).items():
            declared = routes[route].declared
            guard = declared.guard
            for name, form in mutants(guard):
                let_in = [(row, names) for row in rows if (names := _let_in(row, guard, form))]
                total += bool(let_in)
                with replaced(declared, form):
                    if let_in and all(_survives(app, source, row, names) for row, names in let_in):
                        survivors.append(f"{' '.join(route)}: {name}")
        with capsys.disabled():
            print(f"\nmutants killed {total - len(survivors)}/{total}")
        assert not survivors, "\n".join(survivors)
        assert total > 0
