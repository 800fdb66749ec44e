"""Removal of the check of `projects.generator`: the list of generators grows, and the service validates it."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

CONTRACTS = "every version validates the generator before it writes one"

NAMES = ("hugo", "astro", "nextjs", "eleventy", "jekyll", "nuxt", "sveltekit", "gatsby", "tanstack", "static")
CONSTRAINT = "ck_projects_generator"
CHECK = "generator IN (" + ", ".join(f"'{name}'" for name in NAMES) + ")"
CLAUSE = f"CONSTRAINT {CONSTRAINT} CHECK ({CHECK})"
NEXT = "CONSTRAINT ck_projects_visibility"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _edit_schema(f"{CLAUSE}, \n\t", "")
    else:
        op.execute(f"ALTER TABLE projects DROP CONSTRAINT {CONSTRAINT}")


def downgrade() -> None:
    projects = sa.table("projects", sa.column("generator"))
    op.execute(projects.update().where(projects.c.generator.not_in(NAMES)).values(generator=None))
    if op.get_bind().dialect.name == "sqlite":
        _edit_schema(NEXT, f"{CLAUSE}, \n\t{NEXT}")
    else:
        op.create_check_constraint(op.f(CONSTRAINT), "projects", CHECK)


def _edit_schema(before: str, after: str) -> None:
    """Change the stored declaration of the table.

    A rebuild of the table would delete the rows that refer to it: SQLite applies ON DELETE CASCADE to DROP TABLE, and
    foreign keys cannot be switched off inside a transaction. The procedure is SQLite's own for the removal of a check
    (https://www.sqlite.org/lang_altertable.html, section 8).
    """
    connection = op.get_bind()
    version = connection.scalar(sa.text("PRAGMA schema_version"))
    op.execute("PRAGMA writable_schema = ON")
    statement = sa.text(
        "UPDATE sqlite_master SET sql = replace(sql, :before, :after) WHERE type = 'table' AND name = 'projects'"
    )
    connection.execute(statement, {"before": before, "after": after})
    op.execute(f"PRAGMA schema_version = {int(version or 0) + 1}")
    op.execute("PRAGMA writable_schema = OFF")
