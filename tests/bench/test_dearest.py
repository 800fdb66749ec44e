"""The dearest requests of a member: the CPU time of each route with the largest input that it takes.

The time of this process counts, also that of its threads, without that of Git and of PostgreSQL.
"""

import json
import random
import secrets
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.extensions import db
from app.resources.project_content.index import search_indexing
from tests.bench import large
from tests.support import factories
from tests.support.samples.gitrepo import Content, GitRepo
from tests.support.world import World

PAGES, WORDS, LINES = 50_000, 200, 100_000
ROUNDS, SHOWN, GOAL_MS = 3, 10, 250
SYLLABLES = [
    "the",
    "con",
    "pro",
    "win",
    "ter",
    "ing",
    "ral",
    "mo",
    "ka",
    "li",
    "so",
    "ven",
    "wa",
    "we",
    "wi",
    "wo",
    "re",
    "de",
    "st",
    "an",
]
QUESTIONS = ("w*", "the*", "win* the* pro* con*", "post", "a b", "the* post", "zzz*", "path:post", "title:post")
LISTS = ("", "sort=-date", "filter[draft]=true&sort=-date", "filter[tags][contains]=b7&sort=title", "filter[none]=x")
COLLECTIONS = ("", "?q=win", "?q=zzzqq", "?q=blog", "?state=draft&sort=-date", "?q=9&sort=title")
CONSOLE = (
    "",
    "/collections",
    "/content/content/blog",
    "/media",
    "/links",
    "/history",
    "/data",
    "/changes",
    "/search?q=the*",
)
ORIGIN = {"Origin": "http://127.0.0.1:8000"}


class Request(NamedTuple):
    """A request and its body, a form or JSON."""

    method: str
    url: str
    form: dict[str, str] | None = None
    json: dict[str, Any] | None = None


def blog() -> dict[str, Content]:
    """Return pages in one folder, half of them drafts, with words of a natural distribution."""
    dice = random.Random(7)
    vocabulary = ["".join(dice.choices(SYLLABLES, k=dice.choice([1, 2, 2, 3, 3, 4]))) for _ in range(6_000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]

    def page(n: int) -> bytes:
        words = " ".join(dice.choices(vocabulary, weights, k=WORDS))
        head = f"title: Post {n} {dice.choice(vocabulary)}\ndate: {2015 + n % 10}-{1 + n % 12:02}-{1 + n % 28:02}"
        return f"---\n{head}\ndraft: {'true' if n % 2 else 'false'}\ntags: [a, b{n % 50}]\n---\n\n{words}\n".encode()

    return {"hugo.toml": b"", **{f"content/blog/post-{n:06}.md": page(n) for n in range(PAGES)}}


def edits() -> dict[str, tuple[str, str, str]]:
    """Return the base and both versions of large files that two people edited."""
    equal, paragraphs = "same\n" * LINES, ["same para"] * (LINES // 4)
    numbers = "".join(f"{n}\n" for n in range(LINES))
    keys = "".join(f"k{n}: v{n}\n" for n in range(13_000))
    middle = ["\n\n".join([*paragraphs, *own, *paragraphs]) for own in ([], ["mine"], ["theirs"])]
    return {
        "equal.md": (equal, f"mine\n{equal[5:]}", f"theirs\n{equal[5:]}"),
        "numbers.md": (numbers, numbers.replace("5\n", "mine\n"), numbers.replace("7\n", "theirs\n")),
        "paragraphs.md": (middle[0], middle[1], middle[2]),
        "keys.yaml": (keys, keys.replace("v77\n", "m\n"), keys.replace("v7777\n", "t\n")),
    }


class Site:
    """A project with the pages, two versions of each edited file, and a draft of each."""

    def __init__(self, world: World) -> None:
        self.owner = world.person()
        name, self.edits = f"bench/r{secrets.token_hex(4)}", edits()
        repo = GitRepo(world.git_root / f"{name}.git", blog() | {path: v[0].encode() for path, v in self.edits.items()})
        self.base = repo.head()
        self.project = factories.project(world, self.owner, factories.organization(world, self.owner), name)
        for path, (_, mine, _) in self.edits.items():
            draft = {"content": mine, "base_blob_sha": repo.text("rev-parse", f"main:{path}")}
            self.owner.put(f"/project-draft/{self.project}", draft, query_string={"file": path}).ok()
        repo.commit({path: v[2].encode() for path, v in self.edits.items()})
        large.catch_up(world.app, self.project)
        index, source = large.index_of(world.app, self.project)
        search_indexing.index_new_texts(index, source, at_most=None, progress=lambda *_: None)
        large.write_snapshot(world.app, self.project)

    def requests(self) -> Iterator[Request]:
        """Yield the requests."""
        api, console = f"/api/v1/project-content/{self.project}", f"/console/projects/{self.project}"
        yield Request("GET", api)
        for url in (f"{api}/search?q={quote(q)}" for q in QUESTIONS):
            yield Request("GET", url)
        for parameters in LISTS:
            yield Request("GET", f"{api}/entries?{parameters}")
            yield Request("GET", f"{api}/entries?folder=content/blog&{parameters}")
        for rest in (*CONSOLE, *(f"/collections/content-blog{rest}" for rest in COLLECTIONS)):
            yield Request("GET", f"{console}{rest}")
        for path, (_, mine, _) in self.edits.items():
            files = [{"path": path, "action": "update", "content": mine}]
            yield Request("GET", f"{console}/conflict/{path}")
            yield Request("GET", f"{console}/edit/{path}")
            yield Request("GET", f"{api}/file?file={path}")
            yield Request("GET", f"{api}/compare?base={self.base}&file={path}")
            yield Request("POST", f"{api}/merge-preview", json={"base_sha": self.base, "files": files})
            yield Request("POST", f"{console}/preview-text/{path}", form={"body": mine})
            yield Request("POST", f"{console}/check-links/{path}", form={"body": mine})


def cpu_ms(client: FlaskClient, request: Request) -> tuple[float, int]:
    """Return the least CPU time of some rounds, and the status."""
    times, body = list[float](), None if request.json is None else json.dumps(request.json)
    kind = "application/json" if body else None
    for _ in range(ROUNDS):
        started = time.process_time()
        data = request.form if body is None else body
        response = client.open(request.url, method=request.method, data=data, content_type=kind, headers=ORIGIN)
        _ = response.data
        times.append((time.process_time() - started) * 1_000)
    return min(times), response.status_code


def _file_of(request: Request) -> str:
    return str(request.json["files"][0]["path"]) if request.json is not None else ""


def test_dearest_requests_are_printed(app: Flask, capsys: pytest.CaptureFixture[str]) -> None:
    site = Site(World(app))
    rows = [(*cpu_ms(site.owner.client, request), request) for request in site.requests()]
    rows.sort(key=lambda row: -row[0])
    lines = [
        f"\n{db.engine.dialect.name}: the dearest of {len(rows)} requests, CPU of this process (goal {GOAL_MS} ms)"
    ]
    for taken, status, request in rows[:SHOWN]:
        lines.append(
            f"  {taken:6.0f} ms  {status}  {request.method} {request.url.replace(site.project, 'P')} {_file_of(request)}"
        )
    with capsys.disabled():
        print("\n".join(lines))
