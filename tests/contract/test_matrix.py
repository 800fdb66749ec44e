"""The authorization table, cell by cell (contract, section 1)."""

from pathlib import Path

import pytest
from flask import Flask

from tests.contract.matrix import Matrix, Tally
from tests.contract.scene import template


@pytest.fixture(scope="module")
def matrix(app: Flask, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return Matrix(app, template(Path(tmp_path_factory.mktemp("template"), "site.git")))


def _errors(tally: Tally, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with capsys.disabled():
        print(f"\ncells checked {tally.checked}, wrong {len(tally.wrong)}")
    return tally.wrong


class TestMatrix:
    def test_every_endpoint_answers_every_caller_as_the_table_says(
        self, matrix: Matrix, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert _errors(matrix.cells(), capsys) == []

    def test_unknown_and_malformed_ids_are_not_found(self, matrix: Matrix, capsys: pytest.CaptureFixture[str]) -> None:
        assert _errors(matrix.unknown_ids(), capsys) == []

    def test_ids_in_body_query_and_headers_never_widen_the_path(
        self, matrix: Matrix, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert _errors(matrix.smuggled_ids(), capsys) == []
