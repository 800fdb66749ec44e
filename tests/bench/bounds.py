"""Lower bounds of indexing: the same work without Galley."""

import sqlite3
from typing import Protocol

import psycopg
import sqlalchemy as sa
import yaml
from flask import Flask

from app.database import transactions
from app.extensions import db
from tests.bench import large
from tests.support import factories
from tests.support.samples.gitrepo import GitRepo
from tests.support.world import Person, World

COLUMNS = "index_id, generation, path, type, mode, sha, size"


class BenchmarkSite(Protocol):
    """A large repository with its project in one application."""

    app: Flask
    owner: Person
    repo: GitRepo
    project: str
    name: str


def cold(site: BenchmarkSite) -> None:
    """Run `git ls-tree -l`, parse the output and insert the rows in bulk."""
    listed = site.repo.git("ls-tree", "-r", "-l", "-z", "--full-tree", "main")
    rows = (
        ("idx_least", 1, path.decode(), kind, mode, sha, int(size) if size.isdigit() else None)
        for about, _, path in (record.partition(b"\t") for record in listed.split(b"\0")[:-1])
        for mode, kind, sha, size in [about.decode().split()]
    )
    key = "PRIMARY KEY (index_id, generation, path)"
    shape = f"index_id VARCHAR(40), generation INT, path TEXT, type TEXT, mode TEXT, sha TEXT, size BIGINT, {key}"
    ordered = shape.replace("path TEXT", 'path TEXT COLLATE "C"')
    if db.engine.dialect.name == "postgresql":
        with psycopg.connect(_dsn()) as raw, raw.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS least")
            cursor.execute(f"CREATE TABLE least ({ordered})")
            with cursor.copy(f"COPY least ({COLUMNS}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        return
    with sqlite3.connect(db.engine.url.database or "", isolation_level=None) as lite:
        lite.execute("DROP TABLE IF EXISTS least")
        lite.execute(f"CREATE TABLE least ({shape})")
        lite.execute("BEGIN IMMEDIATE")
        lite.executemany(f"INSERT INTO least ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        lite.execute("COMMIT")
    lite.close()


def _dsn() -> str:
    return db.engine.url.render_as_string(hide_password=False).replace("+psycopg", "")


def read_fields(site: BenchmarkSite) -> None:
    """Read every blob with `git cat-file` and parse its YAML in C: the minimal cost of front matter."""
    _, source = large.index_of(site.app, site.project)
    shas = [entry.sha for entry in source.repository.tree(site.repo.head())]
    for _, data in source.repository.blobs(shas, max_bytes=10**9):
        assert yaml.load(data.decode().split("---\n", 2)[1], Loader=yaml.CSafeLoader)


def copy_rows(site: BenchmarkSite) -> None:
    """Copy the stored rows to another project: the minimal cost of storing them with their database indexes."""
    other = factories.project(
        World(site.app), site.owner, factories.organization(World(site.app), site.owner), site.name
    )
    columns = "sha, title, body, words"
    copied = f"INSERT INTO content_texts (project_id, {columns}) SELECT :other, {columns} FROM content_texts"
    transactions.start_reading()
    with transactions.write_transaction():
        db.session.execute(sa.text(f"{copied} WHERE project_id = :mine"), {"other": other, "mine": site.project})


def change(site: BenchmarkSite, before: str) -> None:
    """Run `git diff-tree` and upsert ten rows."""
    told = site.repo.git("diff-tree", "-r", "-z", "--no-renames", before, "main").split(b"\0")[:-1]
    index = large.index_of(site.app, site.project)[0]
    rows = [{"i": index.id, "g": index.generation, "p": path.decode(), "s": "0" * 40} for path in told[1::2]]
    upsert = sa.text(
        "INSERT INTO content_files (index_id, generation, path, type, mode, sha) VALUES (:i, :g, :p, 'blob', '100644', :s)"
        " ON CONFLICT (index_id, generation, path) DO UPDATE SET sha = content_files.sha"
    )
    with transactions.write_transaction():
        db.session.execute(upsert, rows)
