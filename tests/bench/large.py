"""Large repositories and their application, for measurements that depend on the size of a site."""

import random
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import sqlalchemy as sa
from flask import Flask, Response

from app.database import transactions
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.observability import logging
from app.resources.project_content.index import indexes, indexing
from app.resources.project_content.source import Source, source_of
from app.resources.project_content.tree import tree_snapshot
from config import Settings
from tests.support import applications as apps
from tests.support.samples.gitrepo import Content, GitRepo

ROOT = Path(__file__).parents[2]
POST = "---\ntitle: Post {n}\ndate: 2024-01-02\ntags: [a, b{m}]\n---\n\n# Post {n}\n\n{words}\n"
VOCABULARY = [f"{stem}{n}" for stem in ("river", "stone", "garden", "window", "letter") for n in range(400)]


def make_repository(folder: Path, files: int) -> GitRepo:
    """Create a site with this number of small pages, 200 per folder, with some images."""
    dice = random.Random(files)
    content: dict[str, Content] = {}
    for n in range(files):
        name = f"content/section-{n // 200:04}/post-{n:06}"
        words = " ".join(dice.choices(VOCABULARY, k=60))
        content[f"{name}.md"] = POST.format(n=n, m=n % 50, words=words).encode()
    return GitRepo(folder, content)


@contextmanager
def application(home: Path, url: str) -> Iterator[Flask]:
    """Build the migrated application on this database, without log output."""
    settings = Settings.for_tests(home, DATABASE_URL=url, LOG_LEVEL="ERROR", RATE_LIMIT_SCALE=100_000)
    with apps.application(settings) as app, app.app_context():
        yield app
    logging.configure("console", "INFO")


def bare_route(file: Path) -> Flask:
    """Build an application that only sends the bytes of a file."""
    bare = Flask("bare")
    bare.add_url_rule("/", view_func=lambda: Response(file.read_bytes(), mimetype="application/json"))
    return bare


def index_of(app: Flask, project_id: str) -> tuple[ContentIndex, Source]:
    """Reload the index of the working branch and its source."""
    transactions.start_reading()
    db.session.expire_all()
    project = db.session.get_one(Project, project_id)
    index = indexes.find(project.id, project.branch)
    assert index is not None
    return index, source_of(project, app.extensions["drivers"].git)


def forget(index_id: str) -> None:
    """Delete the index."""
    transactions.start_reading()
    with transactions.write_transaction():
        index = db.session.get_one(ContentIndex, index_id)
        db.session.execute(sa.text("DELETE FROM content_files WHERE index_id = :id"), {"id": index_id})
        index.commit_sha, index.generation, index.files = None, 0, 0
        index.snapshot_sha = index.snapshot_key = None


def catch_up(app: Flask, project_id: str) -> None:
    """Run the index job."""
    index, source = index_of(app, project_id)
    indexing.update_index(index, source, lambda _done, _total: None)


def write_snapshot(app: Flask, project_id: str) -> None:
    """Run the snapshot job."""
    tree_snapshot.refresh(index_of(app, project_id)[0].id, app.extensions["drivers"].trees)


def seconds(call: Callable[[], object]) -> float:
    """Measure the duration of a call in seconds."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def cpu_s() -> float:
    """Return the CPU seconds of this process and its ended children."""
    mine, gone = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + gone.ru_utime + gone.ru_stime


def cpu_taken(call: Callable[[], object]) -> float:
    """Measure the CPU seconds of a call, including the programs it runs."""
    before = cpu_s()
    call()
    return cpu_s() - before


def resident_mb() -> float:
    """Return the resident memory of this process in MB."""
    return float(psutil.Process().memory_info().rss) / 1024 / 1024
