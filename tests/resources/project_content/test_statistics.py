"""Tests of the statistics of growing tables."""

import pytest
import sqlalchemy as sa
from flask import Flask

from app.database import transactions
from app.extensions import db
from app.models.project_content import ContentFile
from app.resources.project_content.statistics import GrowthStatistics
from tests.support.assertions.statements import counted


def test_statistics_are_updated_when_the_rows_have_doubled(app: Flask) -> None:
    updates = []
    with app.app_context(), counted(app) as statements:
        statistics = GrowthStatistics({ContentFile: ("index_id", "path")})
        for _ in range(8):
            statistics.add(1_000)
            updates.append(statements.count("ANALYZE content_files (index_id, path)"))
        is_postgresql = db.engine.dialect.name == "postgresql"
    assert updates == ([1, 2, 2, 3, 3, 3, 3, 4] if is_postgresql else [0] * 8)


@pytest.mark.parametrize(("added", "updates"), [(99, 0), (100, 1)])
def test_statistics_of_a_large_table_are_updated_after_a_share_of_new_rows(
    app: Flask, added: int, updates: int
) -> None:
    with app.app_context():
        if db.engine.dialect.name != "postgresql":
            pytest.skip("SQLite keeps no estimate of rows")
        with transactions.write_transaction():
            db.session.execute(sa.text("UPDATE pg_class SET reltuples = 1000 WHERE oid = 'content_files'::regclass"))
        with counted(app) as statements:
            GrowthStatistics({ContentFile: ("index_id", "path")}).add(added)
    assert statements.count("ANALYZE content_files (index_id, path)") == updates
