"""The next version of the service: a copy of this code with one more migration, which only adds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from app.settings.groups import PROJECT

PARTS = ("app", "deploy", "migrations", "config.py", "wsgi.py", "gunicorn.conf.py")
MIGRATION = '''"""Add a table, a column with a default and an index. The previous version does not use them."""

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{previous}"


def upgrade() -> None:
    op.create_table("notes", sa.Column("id", sa.String(40), primary_key=True))
    op.add_column("projects", sa.Column("note", sa.Text(), server_default="none", nullable=False))
    with op.get_context().autocommit_block():
        op.create_index("ix_projects_note", "projects", ["note"], postgresql_concurrently=True)


def downgrade() -> None:
    op.drop_index("ix_projects_note", "projects")
    op.drop_column("projects", "note")
    op.drop_table("notes")
'''


class NextVersion:
    """The code of the next version in a folder. `revision` is its newest migration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in PARTS:
            source = PROJECT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        versions = folder / "migrations" / "versions"
        previous = max(versions.glob("[0-9]*.py")).name[:4]
        self.revision = f"{int(previous) + 1:04}"
        self.migration = versions / f"{self.revision}_notes.py"
        self.migration.write_text(MIGRATION.format(revision=self.revision, previous=previous))

    def flask(self, *arguments: object, **environment: str) -> str:
        """Run a command of this version, and return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "flask", *(str(argument) for argument in arguments)],
            cwd=self.folder,
            env=os.environ | environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr
