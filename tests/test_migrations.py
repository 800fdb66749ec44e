"""Tests of the migrations on both databases: equality with the models, and downgrades."""

from pathlib import Path

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from flask_migrate import downgrade, upgrade

from app.extensions import db
from app.factory import create_app
from app.models.base import Base
from app.models.content_search import is_search_table
from config import Settings
from tests.support.databases import postgresql_database

FOLDER = str(Path(__file__).parents[1] / "migrations")


def _check_up_and_down(url: str, home: Path) -> None:
    app = create_app(Settings.for_tests(home, DATABASE_URL=url))
    engine_owns = app.extensions["jobs"].owns_table
    with app.app_context():
        upgrade(directory=FOLDER)
        with db.engine.connect() as connection:
            context = MigrationContext.configure(
                connection,
                opts={
                    "compare_type": True,
                    "include_object": lambda _o, name, kind, reflected, _c: (
                        not (
                            reflected
                            and (is_search_table(kind, name or "") or (kind == "table" and engine_owns(name or "")))
                        )
                    ),
                },
            )
            assert compare_metadata(context, Base.metadata) == []
        downgrade(directory=FOLDER, revision="base")
        with db.engine.connect() as connection:
            assert set(sa.inspect(connection).get_table_names()) == {"alembic_version"}
        upgrade(directory=FOLDER)
        db.engine.dispose()


class TestMigrations:
    def test_migrations_on_sqlite_match_the_models_and_can_be_reverted(self, tmp_path: Path) -> None:
        _check_up_and_down(f"sqlite:///{tmp_path}/app.db", tmp_path)

    def test_migrations_on_postgresql_match_the_models_and_can_be_reverted(self, tmp_path: Path) -> None:
        with postgresql_database() as url:
            _check_up_and_down(url, tmp_path)
