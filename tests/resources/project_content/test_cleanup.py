"""Tests of the deletion of file rows."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.ids import new_id
from app.database import inserts, transactions
from app.extensions import db
from app.models.project_content import ContentFile
from app.resources.project_content.index import cleanup

COLUMNS = ("index_id", "generation", "path", "type", "mode", "sha")


@pytest.fixture
def index_id(app: Flask) -> Iterator[str]:
    """Return the id of an index with three generations. The first one needs two batches."""
    name = new_id("idx")
    sizes = {1: cleanup.ROW_BATCH_SIZE + 1, 2: cleanup.ROW_BATCH_SIZE, 3: 2}
    rows = (
        (name, generation, f"{number:05}.md", "blob", "100644", "0" * 40)
        for generation, size in sizes.items()
        for number in range(size)
    )
    with app.app_context():
        with transactions.write_transaction():
            inserts.insert(db.session.connection(), ContentFile.__table__, COLUMNS, rows)  # type: ignore[arg-type]
        yield name


def stored(index_id: str) -> dict[int, int]:
    """Return the number of rows of each generation."""
    transactions.start_reading()
    generation = ContentFile.generation
    statement = sa.select(generation, sa.func.count()).where(ContentFile.index_id == index_id).group_by(generation)
    return {row.generation: row[1] for row in db.session.execute(statement)}


class TestDeleteFiles:
    def test_other_generations_are_deleted(self, index_id: str) -> None:
        cleanup.delete_files(index_id, except_generation=3)
        assert stored(index_id) == {3: 2}

    def test_all_generations_are_deleted(self, index_id: str) -> None:
        cleanup.delete_files(index_id)
        assert stored(index_id) == {}
