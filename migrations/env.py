"""Alembic's environment: runs on the application's own engine, leaves the job engine's tables and full-text search alone."""

from alembic import context
from flask import current_app

from app.extensions import db
from app.models.base import Base
from app.models.content_search import is_of_search

jobs = current_app.extensions["jobs"]


def include_object(found: object, name: str | None, kind: str, reflected: bool, _compared: object) -> bool:
    """Whether autogenerate looks at a table or index."""
    del found
    others = is_of_search(kind, name or "") or (kind == "table" and jobs.owns_table(name or ""))
    return not (reflected and others)


def run() -> None:
    """Migrate in one transaction a revision."""
    with db.engine.connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            include_object=include_object,
            compare_type=True,
            render_as_batch=connection.dialect.name == "sqlite",
            transaction_per_migration=True,
        )
        with context.begin_transaction():
            context.run_migrations()


run()
