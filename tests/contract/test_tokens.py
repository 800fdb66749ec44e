"""Tests of the table of API tokens, cell by cell, and of each token check disabled in turn."""

from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from app.access import guards, tokens
from app.core.api_tokens import TokenGrant, TokenScope
from tests.contract.matrix import Tally
from tests.contract.scene import template
from tests.contract.served import served
from tests.contract.token_matrix import TokenMatrix
from tests.contract.token_table import PUBLIC, SESSION, TOKEN_CALLERS, needed

pytestmark = pytest.mark.one_database

SAMPLE = frozenset(
    {
        ("GET", "/tokens"),
        ("GET", "/auth/list-sessions"),
        ("GET", "/user/:id"),
        ("GET", "/project/:projectId"),
        ("GET", "/organization/:org_id"),
        ("PATCH", "/organization/:org_id"),
        ("PATCH", "/project/:projectId"),
        ("PUT", "/project-draft/:project_id"),
        ("POST", "/project-content/:project_id/commit"),
        ("POST", "/change-set/:change_set_id/publish"),
        ("GET", "/change-set/:change_set_id"),
    }
)
"""Endpoints of each kind of guard. Disabling a check changes a cell of at least one of them."""

ALL = frozenset(TokenScope)
DISABLED: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    **{
        name: lambda patch, name=name: patch.setattr(  # type: ignore[misc]
            tokens,
            "_VALID_TOKEN",
            tokens.select_token(condition for key, condition in tokens.CONDITIONS.items() if key != name),
        )
        for name in tokens.CONDITIONS
    },
    "scope": lambda patch: patch.setattr(
        tokens.TokenRule,
        "needed",
        lambda rule, *, is_read: ALL if (rule.read if is_read else rule.change) else rule.read,
    ),
    "session": lambda patch: patch.setattr(
        tokens.TokenRule, "needed", lambda rule, *, is_read: (rule.read if is_read else rule.change) or ALL
    ),
    "publish": lambda patch: patch.setattr(guards, "check_branch", lambda *_: None),
    "project": lambda patch: patch.setattr(TokenGrant, "_covers_project", lambda *_: True),
    "organization": lambda patch: patch.setattr(TokenGrant, "_covers_organizations", lambda *_: True),
    "guard": lambda patch: patch.setattr(tokens.TokenRule, "check", lambda *_args, **_kwargs: None),
}


@pytest.fixture(scope="module")
def matrix(app: Flask, tmp_path_factory: pytest.TempPathFactory) -> TokenMatrix:
    return TokenMatrix(app, template(Path(tmp_path_factory.mktemp("tokens"), "site.git")))


def _reported(tally: Tally, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with capsys.disabled():
        print(f"\ntoken cells checked {tally.checked}, wrong {len(tally.wrong)}")
    return tally.wrong


class TestTable:
    def test_every_endpoint_responds_to_every_token_as_in_the_table(
        self, matrix: TokenMatrix, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert _reported(matrix.cells(), capsys) == []

    def test_declared_scopes_equal_the_table(self, app: Flask, matrix: TokenMatrix) -> None:
        routes, differing = served(app), {}
        for row in matrix.rows:
            guard, scope = routes[row.route].declared.guard, needed(row)
            declared = guard.token.needed(is_read=row.method == "GET")
            if (
                guard.public != (scope == PUBLIC)
                or (not guard.public and (not declared) != (scope == SESSION))
                or (declared and scope not in declared)
            ):
                differing[row.route] = (declared, scope)
        assert differing == {}

    def test_commits_check_the_branch(self, app: Flask) -> None:
        """A body with a base commit writes a commit, except a draft and the preview of a merge.

        The guard must distinguish the working branch. A change set is always another branch.
        """
        exempt = {
            ("PUT", "/project-draft/:project_id"),
            ("POST", "/project-content/:project_id/merge-preview"),
            ("POST", "/change-set/:change_set_id/commit"),
        }
        unchecked = {
            key
            for key, route in served(app).items()
            if (schema := route.declared.body_schema) is not None
            and "base_sha" in schema._declared_fields
            and route.declared.guard.written_branch is None
        }
        assert unchecked == exempt


class TestDisabledChecks:
    @pytest.mark.parametrize("check", DISABLED)
    def test_disabled_check_changes_a_cell(
        self, matrix: TokenMatrix, monkeypatch: pytest.MonkeyPatch, check: str
    ) -> None:
        rows = [row for row in matrix.rows if (row.method, row.path) in SAMPLE]
        assert len(rows) == len(SAMPLE)
        DISABLED[check](monkeypatch)
        assert matrix.cells(rows, TOKEN_CALLERS[2:]).wrong
