"""Tests of the statistics of growing tables."""

from flask import Flask

from app.extensions import db
from app.models.project_content import ContentFile
from app.resources.project_content.index.statistics import GrowthStatistics
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
