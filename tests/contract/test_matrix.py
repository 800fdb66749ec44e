"""Tests of the authorization table, cell by cell (contract, section 1)."""

from pathlib import Path

import pytest
from flask import Flask

from tests.contract.matrix import Matrix, Tally
from tests.contract.scene import template
from tests.contract.specification import RECENT


@pytest.fixture(scope="module")
def matrix(app: Flask, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return Matrix(app, template(Path(tmp_path_factory.mktemp("template"), "site.git")))


def _errors(tally: Tally, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with capsys.disabled():
        print(f"\ncells checked {tally.checked}, wrong {len(tally.wrong)}")
    return tally.wrong


class TestMatrix:
    def test_every_endpoint_returns_the_status_of_the_table_for_every_caller(
        self, matrix: Matrix, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert _errors(matrix.cells(), capsys) == []

    def test_unknown_or_malformed_id_returns_404(self, matrix: Matrix, capsys: pytest.CaptureFixture[str]) -> None:
        assert _errors(matrix.unknown_ids(), capsys) == []

    def test_session_without_a_recent_proof_is_refused_where_the_table_says_so(
        self, matrix: Matrix, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert _errors(matrix.old_sessions(RECENT), capsys) == []

    def test_ids_in_body_query_and_headers_do_not_extend_the_permission(
        self, matrix: Matrix, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert _errors(matrix.smuggled_ids(), capsys) == []
