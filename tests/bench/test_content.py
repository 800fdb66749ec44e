"""Indexes of large sites: cold, after a commit, and read; each beside the least that the work can cost, in one run.

`GALLEY_LONG=1` adds a site of 200,000 files.
"""

import math
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from flask import Flask

from app import transactions
from app.extensions import db
from app.resources.project_content import describing, snapshot
from tests import factories
from tests.bench import large
from tests.conftest import postgresql_database
from tests.gitrepo import GitRepo
from tests.world import World

SIZES = (10_000, 50_000, 200_000) if os.environ.get("GALLEY_LONG") else (10_000, 50_000)
ROUNDS = 3
COLUMNS = "index_id, generation, path, type, mode, sha, size"


class Site:
    """A large repository and its project, in one application."""

    def __init__(self, world: World, files: int) -> None:
        self.app, self.files = world.app, files
        self.owner = world.person()
        name = f"bench/r{secrets.token_hex(4)}"
        self.repo: GitRepo = large.make_repository(world.git_root / f"{name}.git", files)
        self.project = factories.project(world, self.owner, factories.organization(world, self.owner), name)

    def forget(self) -> None:
        large.forget(large.index_of(self.app, self.project)[0].id)

    def index(self) -> None:
        large.catch_up(self.app, self.project)

    def snapshot(self) -> None:
        large.write_snapshot(self.app, self.project)

    def url(self, rest: str = "") -> str:
        return f"/project-content/{self.project}{rest}"

    def commit(self, n: int) -> None:
        self.repo.commit(
            {f"content/section-0001/post-{200 + k:06}.md": f"changed {n} {k}\n".encode() for k in range(10)}
        )


@pytest.fixture(params=["sqlite", "postgresql"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    if request.param == "sqlite":
        with large.application(tmp_path, f"sqlite:///{tmp_path}/app.db") as made:
            yield made
        return
    with postgresql_database() as url, large.application(tmp_path, url) as made:
        yield made


class TestContent:
    def test_what_it_costs(self, app: Flask, capsys: pytest.CaptureFixture[str]) -> None:
        world = World(app)
        sites = [Site(world, files) for files in SIZES]
        lines = [f"\n{db.engine.dialect.name}: seconds, and how many times the least that it can cost"]
        lines += [line for site in sites for line in _indexing(site)]
        lines += _after_a_commit(sites)
        lines += _file_metadata(sites)
        lines += [line for site in sites for line in _tree(site)]
        lines += _search(sites[-1])
        lines += _saving(sites[-1])
        with capsys.disabled():
            print("\n".join(lines))


def _indexing(site: Site) -> list[str]:
    """Cold: against listing the tree with sizes, parsing it, and inserting it in bulk."""
    taken, snapshots, least, grown = [], [], [], 0.0
    for _ in range(ROUNDS):
        site.forget()
        with _memory() as most:
            taken.append(large.seconds(site.index))
            snapshots.append(large.seconds(site.snapshot))
        least.append(large.seconds(partial(_least, site)))
        grown = max(grown, most[0])
    texts, reading = large.seconds(partial(_describe, site)), large.seconds(partial(_read_blobs, site))
    return [
        _row(f"cold index, {site.files} files", median(taken), median(least), 2),
        _row(f"its snapshot, {site.files} files", median(snapshots), median(least), None),
        f"  memory while indexing {site.files} files: +{grown:.0f} MB (goal 96)",
        _row(f"text for search, {site.files} files", texts, reading, None),
    ]


def _least(site: Site) -> None:
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


def _describe(site: Site) -> None:
    index, source = large.index_of(site.app, site.project)
    describing.catch_up(index, source, at_most=None, progress=lambda *_: None)


def _read_blobs(site: Site) -> None:
    """What search cannot do without: reading every text once."""
    _, source = large.index_of(site.app, site.project)
    shas = [entry.sha for entry in source.git.tree(source.repo, site.repo.head())]
    assert sum(len(data) for _, data in source.git.blobs(source.repo, shas))


def _after_a_commit(sites: list[Site]) -> list[str]:
    lines, ours = [], []
    for site in sites:
        taken, least = [], []
        for n in range(7):
            before = site.repo.head()
            site.commit(n)
            taken.append(large.seconds(site.index))
            least.append(large.seconds(partial(_least_change, site, before)))
        ours.append(median(taken))
        lines.append(_row(f"after a commit of 10 files, of {site.files}", median(taken), median(least), 5))
    return [*lines, _growth("after a commit", sites, ours, 0.1)]


def _least_change(site: Site, before: str) -> None:
    """`git diff-tree` and an upsert of ten rows."""
    told = site.repo.git("diff-tree", "-r", "-z", "--no-renames", before, "main").split(b"\0")[:-1]
    index = large.index_of(site.app, site.project)[0]
    rows = [{"i": index.id, "g": index.generation, "p": path.decode(), "s": "0" * 40} for path in told[1::2]]
    upsert = sa.text(
        "INSERT INTO content_files (index_id, generation, path, type, mode, sha) VALUES (:i, :g, :p, 'blob', '100644', :s)"
        " ON CONFLICT (index_id, generation, path) DO UPDATE SET sha = content_files.sha"
    )
    with transactions.writing():
        db.session.execute(upsert, rows)


def _file_metadata(sites: list[Site]) -> list[str]:
    lines, ours = [], []
    for site in sites:
        path = site.url("/file?file=content/section-0002/post-000450.md")
        site.owner.get(path).ok()
        with large.statements() as sent:
            site.owner.get(path).ok()
        ours.append(_median_ms(lambda url=path, who=site.owner: who.get(url)))
        one = _median_ms(lambda who=site.owner, url=f"/project/{site.project}": who.get(url))
        lines.append(
            f"  file metadata of {site.files}: {ours[-1]:.2f} ms, {len(sent)} statements; {ours[-1] / one:.2f} × one project"
        )
    return [*lines, _growth("file metadata", sites, ours, 0.05)]


def _tree(site: Site) -> list[str]:
    gzipped = {"Accept-Encoding": "gzip"}
    site.snapshot()
    answer = site.owner.get(site.url(), headers=gzipped)
    tag = {"If-None-Match": answer.headers["ETag"]}
    with large.statements() as sent:
        assert site.owner.get(site.url(), headers=tag).status == 304
    body = len(answer.response.data)
    whole = _median_ms(lambda: site.owner.get(site.url(), headers=gzipped), 15)
    index = large.index_of(site.app, site.project)[0]
    stored = _median_ms(lambda: snapshot.load(index), 15)
    known = _median_ms(lambda: site.owner.get(site.url(), headers=tag))
    constant = _median_ms(lambda: site.owner.get("/healthz"))
    return [
        f"  tree of {site.files}: {body / site.files:.1f} bytes a file (goal 36), {whole:.2f} ms, reading it {stored:.2f} ms",
        f"  the same, 304: {known:.2f} ms, {len(sent)} statements; a constant route {constant:.2f} ms",
    ]


def _search(site: Site) -> list[str]:
    lines = []
    for q in ("Post 1234", "river17 stone3", "title:1234", "riv*", "path:post-0012", "zzzqqq", "post"):
        found = site.owner.get(site.url("/search"), query_string={"q": q}).ok()
        taken = _median_ms(lambda word=q: site.owner.get(site.url("/search"), query_string={"q": word}), 7)
        lines.append(f"  search in {site.files} files: {q!r}: {taken:.1f} ms, {len(found)} hits")
    return lines


def _saving(site: Site) -> list[str]:
    """A commit of 100 files through the API against `git fast-import` of the same."""
    taken, least = [], []
    for n in range(5):
        files = [{"path": f"saved-{n}/f{k}.md", "action": "create", "content": f"saved {n} {k}\n"} for k in range(100)]
        body = {"message": "Save", "base_sha": site.repo.head(), "files": files}
        taken.append(large.seconds(partial(_post, site, body)))
        plain = {f"plain-{n}/{file['path']}": f"plain {file['content']}".encode() for file in files}
        least.append(large.seconds(partial(site.repo.commit, plain)))
    return [_row(f"save of 100 files among {site.files}", median(taken), median(least), 2)]


def _post(site: Site, body: dict[str, Any]) -> None:
    site.owner.post(site.url("/commit"), body).ok(201)


def _median_ms(call: Any, times: int = 60) -> float:
    call()
    return median(large.seconds(call) for _ in range(times)) * 1_000


def _row(name: str, taken_s: float, least_s: float, goal: float | None) -> str:
    told = f" (goal {goal})" if goal else ""
    return f"  {name}: {taken_s:.3f} s, {taken_s / least_s:.2f} ×{told}"


def _growth(name: str, sites: list[Site], taken: list[float], goal: float) -> str:
    exponent = math.log(taken[-1] / taken[0]) / math.log(sites[-1].files / sites[0].files)
    return f"  {name}: growth exponent {exponent:.3f} (goal {goal})"


@contextmanager
def _memory() -> Iterator[list[float]]:
    """By how many megabytes the process grows at most."""
    before, most, stop = large.resident_mb(), [0.0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.01):
            most[0] = max(most[0], large.resident_mb() - before)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        stop.set()
        thread.join()
