"""Large repositories and an application around them, for measuring what grows with a site."""

import random
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import sqlalchemy as sa
from flask import Flask, Response

from app import transactions
from app.core import logging
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.resources.project_content import indexes, indexing, snapshot
from app.resources.project_content.source import Source, source_of
from config import Settings
from tests import apps
from tests.samples.gitrepo import Content, GitRepo

ROOT = Path(__file__).parents[2]
POST = "---\ntitle: Post {n}\ndate: 2024-01-02\ntags: [a, b{m}]\n---\n\n# Post {n}\n\n{words}\n"
VOCABULARY = [f"{stem}{n}" for stem in ("river", "stone", "garden", "window", "letter") for n in range(400)]


def make_repository(folder: Path, files: int) -> GitRepo:
    """A site of that many small pages, two hundred to a folder, with some pictures between them."""
    dice = random.Random(files)
    content: dict[str, Content] = {}
    for n in range(files):
        name = f"content/section-{n // 200:04}/post-{n:06}"
        words = " ".join(dice.choices(VOCABULARY, k=60))
        content[f"{name}.md"] = POST.format(n=n, m=n % 50, words=words).encode()
    return GitRepo(folder, content)


@contextmanager
def application(home: Path, url: str) -> Iterator[Flask]:
    """The migrated application on that store, quiet as long as it is there."""
    settings = Settings.for_tests(home, DATABASE_URL=url, LOG_LEVEL="ERROR", RATE_LIMIT_SCALE=100_000)
    with apps.application(settings) as app, app.app_context():
        yield app
    logging.configure("console", "INFO")


def bare_route(file: Path) -> Flask:
    """An application that does nothing but send a file's bytes."""
    bare = Flask("bare")
    bare.add_url_rule("/", view_func=lambda: Response(file.read_bytes(), mimetype="application/json"))
    return bare


def index_of(app: Flask, project_id: str) -> tuple[ContentIndex, Source]:
    """The index of the project's working branch, and where it comes from; read anew."""
    transactions.start_reading()
    db.session.expire_all()
    project = db.session.get_one(Project, project_id)
    index = indexes.find(project, project.branch)
    assert index is not None
    return index, source_of(project, app.extensions["drivers"]["git"])


def forget(index_id: str) -> None:
    """Make the index as if it had never been made."""
    transactions.start_reading()
    with transactions.writing():
        index = db.session.get_one(ContentIndex, index_id)
        db.session.execute(sa.text("DELETE FROM content_files WHERE index_id = :id"), {"id": index_id})
        index.commit_sha, index.generation, index.files = None, 0, 0
        index.snapshot_sha = index.snapshot_key = None


def catch_up(app: Flask, project_id: str) -> None:
    """What the index's job does."""
    index, source = index_of(app, project_id)
    indexing.catch_up(index, source, lambda _done, _total: None)


def write_snapshot(app: Flask, project_id: str) -> None:
    """What the snapshot's job does."""
    snapshot.refresh(index_of(app, project_id)[0].id, app.extensions["drivers"]["trees"])


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def cpu_s() -> float:
    """CPU used so far by this process and by children that have ended."""
    mine, gone = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + gone.ru_utime + gone.ru_stime


def cpu_taken(call: Callable[[], object]) -> float:
    """How many seconds of CPU a call takes, with the programs it runs to their end."""
    before = cpu_s()
    call()
    return cpu_s() - before


def resident_mb() -> float:
    """Memory of this process."""
    return float(psutil.Process().memory_info().rss) / 1024 / 1024
