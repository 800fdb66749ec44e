"""Tests of the safety of every migration for the previous version."""

import re
from pathlib import Path

import pytest

from app.settings.groups import PROJECT
from tests.support.migration_rules import faults
from tests.support.next_version import NextVersion

FIRST, *FURTHER = sorted((PROJECT / "migrations" / "versions").glob("[0-9]*.py"))
"""The first migration creates all tables of an empty database. The rules concern the further ones."""
HEAD = "import sqlalchemy as sa\nfrom alembic import op\n\n\ndef upgrade() -> None:\n    "
UNSAFE = {
    "a dropped column": 'op.drop_column("users", "name")',
    "a dropped table": 'op.drop_table("users")',
    "a renamed column": 'op.alter_column("users", "name", new_column_name="full_name")',
    "another type": 'op.alter_column("users", "name", type_=sa.Integer())',
    "a column that must be given": 'op.add_column("users", sa.Column("age", sa.Integer(), nullable=False))',
    "a column that must be given from now on": 'op.alter_column("users", "name", nullable=False)',
    "an index under a lock": 'op.create_index("ix_users_name", "users", ["name"])',
    "a key that is checked under a lock": 'op.create_foreign_key("fk", "users", "others", ["a"], ["b"])',
    "a rename by hand": 'op.execute("ALTER TABLE users RENAME COLUMN name TO full_name")',
    "an index by hand": 'op.execute("CREATE INDEX ix ON users (name)")',
}
SAFE = {
    "a new table with its index": 'op.create_table("notes")\n    op.create_index("ix", "notes", ["name"])',
    "a column that may be empty": 'op.add_column("users", sa.Column("age", sa.Integer(), nullable=True))',
    "a column with a default": 'op.add_column("users", sa.Column("a", sa.Text(), nullable=False, server_default=""))',
    "an index beside the traffic": 'op.create_index("ix", "users", ["name"], postgresql_concurrently=True)',
    "a key that is checked later": 'op.create_foreign_key("f", "users", "o", ["a"], ["b"], postgresql_not_valid=True)',
}


class TestRules:
    @pytest.mark.parametrize("what", UNSAFE)
    def test_unsafe_migration_is_reported(self, what: str) -> None:
        assert len(faults(HEAD + UNSAFE[what] + "\n")) == 1

    @pytest.mark.parametrize("what", SAFE)
    def test_safe_migration_is_accepted(self, what: str) -> None:
        assert faults(HEAD + SAFE[what] + "\n") == []

    def test_declared_contraction_is_accepted(self) -> None:
        assert faults('CONTRACTS = "unused since 0.2"\n' + HEAD + UNSAFE["a dropped column"] + "\n") == []

    def test_downgrade_can_drop_tables(self) -> None:
        back = '\n\ndef downgrade() -> None:\n    op.drop_table("notes")\n'
        assert faults(HEAD + 'op.create_table("notes")' + back) == []


class TestMigrations:
    def test_migrations_are_safe_for_the_previous_version(self, tmp_path: Path) -> None:
        files = [*FURTHER, NextVersion(tmp_path / "next").migration]
        assert {file.name: faults(file.read_text()) for file in files} == {file.name: [] for file in files}

    def test_migrations_are_numbered_in_order(self) -> None:
        files = [FIRST, *FURTHER]
        declared = [re.findall(r'^(?:down_)?revision.*?= "?(\w+)"?', file.read_text(), re.MULTILINE) for file in files]
        names = [file.name[:4] for file in files]
        numbers = [f"{number:04}" for number in range(int(names[0]), int(names[0]) + len(files))]
        assert names == numbers
        assert declared == [[one, before] for one, before in zip(numbers, ["None", *numbers], strict=False)]
