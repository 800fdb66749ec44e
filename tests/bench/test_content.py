"""Indexes of large sites: cold, after a commit, and read. Each is compared with its lower bound in one run.

`GALLEY_LONG=1` adds a site of 200,000 files.
"""

import math
import os
import secrets
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from flask import Flask, current_app

from app.extensions import db
from app.resources.project_content.index import search_indexing
from tests.bench import bounds, large, peers
from tests.support import factories
from tests.support.assertions.statements import counted
from tests.support.samples.gitrepo import GitRepo
from tests.support.world import World

SIZES = (10_000, 50_000, 200_000) if os.environ.get("GALLEY_LONG") else (10_000, 50_000)
ROUNDS = 3


class Site:
    """A large repository with its project in one application."""

    def __init__(self, world: World, files: int) -> None:
        self.app, self.files = world.app, files
        self.owner = world.person()
        self.name = name = f"bench/r{secrets.token_hex(4)}"
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


class TestContent:
    def test_index_costs_are_printed(self, app: Flask, capsys: pytest.CaptureFixture[str]) -> None:
        world = World(app)
        sites = [Site(world, files) for files in SIZES]
        lines = [
            f"\n{db.engine.dialect.name}: CPU of this process and its git, and how many times the least that it can cost"
        ]
        lines += [line for site in sites for line in _indexing(site)]
        lines += _after_a_commit(sites)
        lines += _file_metadata(sites)
        lines += [line for site in sites for line in _tree(site)]
        lines += _search(sites[-1])
        lines += _saving(sites[-1])
        with capsys.disabled():
            print("\n".join(lines))


def _indexing(site: Site) -> list[str]:
    """Compare a cold index with a listing of the tree and a bulk insert, both with their Git processes."""
    taken, snapshots, least = [], [], []
    for _ in range(ROUNDS):
        site.forget()
        taken.append(large.cpu_taken(site.index))
        snapshots.append(large.cpu_taken(site.snapshot))
        least.append(large.cpu_taken(partial(bounds.cold, site)))
    site.forget()
    grown = _memory_grown(site)
    texts, reading = large.cpu_taken(partial(_describe, site)), large.cpu_taken(partial(bounds.read_fields, site))
    stored = large.cpu_taken(partial(bounds.copy_rows, site))
    return [
        _row(f"cold index, {site.files} files", min(taken), min(least), 2),
        _row(f"its snapshot, {site.files} files", min(snapshots), min(least), None),
        f"  memory while indexing {site.files} files in a fresh process: +{grown:.0f} MB (goal 96)",
        _row(f"front matter and text, {site.files} files, × reading the blobs and their YAML", texts, reading, 1.6),
        _row("the same, × this and writing the same rows with their full-text index", texts, reading + stored, 1.6),
        _comparison_with_tina(site, texts / site.files * 1e6),
    ]


def _comparison_with_tina(site: Site, own_us: float) -> str:
    """Compare the CPU time of a file with that of TinaCMS, which indexes the first site only: it takes 0.5 ms a file."""
    line, tina_s = f"  the same: {own_us:.0f} µs a file (goal 120)", None
    if site.files == SIZES[0]:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "clone", "--quiet", "--branch", "main", site.repo.folder, folder], check=True)
            tina_s = peers.tina_index_s(Path(folder))
    if tina_s is None:
        return line
    tina_us = tina_s / site.files * 1e6
    return f"{line}; TinaCMS {tina_us:.0f} µs, ratio {own_us / tina_us:.2f} (goal 0.25)"


def _memory_grown(site: Site) -> float:
    home, url = site.app.config["SETTINGS"].server.instance_dir, db.engine.url.render_as_string(hide_password=False)
    program = [sys.executable, Path(__file__).with_name("memory_of_indexing.py"), home, url, site.project]
    return float(subprocess.run(program, check=True, capture_output=True, text=True).stdout.split()[-1])


def _describe(site: Site) -> None:
    index, source = large.index_of(site.app, site.project)
    search_indexing.index_new_texts(index, source, at_most=None, progress=lambda *_: None)


def _after_a_commit(sites: list[Site]) -> list[str]:
    lines, ours, everything = [], [], []
    for site in sites:
        site.snapshot()
        taken, least, complete = [], [], []
        for n in range(7):
            before = site.repo.head()
            site.commit(n)
            taken.append(large.cpu_taken(site.index))
            complete.append(taken[-1] + large.cpu_taken(site.snapshot))
            least.append(large.cpu_taken(partial(bounds.change, site, before)))
        ours.append(min(taken))
        everything.append(min(complete))
        lines.append(_row(f"after a commit of 10 files, of {site.files}", min(taken), min(least), 5))
    return [
        *lines,
        _growth("after a commit", sites, ours, 0.1),
        _growth("after a commit, with the stored tree", sites, everything, 0.15),
    ]


def _file_metadata(sites: list[Site]) -> list[str]:
    lines, ours = [], []
    for site in sites:
        path = site.url("/file?file=content/section-0002/post-000450.md")
        site.owner.get(path).ok()
        with counted(current_app) as sent:
            site.owner.get(path).ok()
        ours.append(_cpu_ms(lambda url=path, who=site.owner: who.get(url)))
        one = _cpu_ms(lambda who=site.owner, url=f"/project/{site.project}": who.get(url))
        lines.append(
            f"  file metadata of {site.files}: {ours[-1]:.2f} ms, {len(sent)} statements; {ours[-1] / one:.2f} × one project"
        )
    return [*lines, _growth("file metadata", sites, ours, 0.05)]


def _tree(site: Site) -> list[str]:
    """Compare the tree with a Flask route that sends as many stored bytes, and 304 with a constant route."""
    gzipped = {"Accept-Encoding": "gzip"}
    site.snapshot()
    answer = site.owner.get(site.url(), headers=gzipped)
    tag, body = {"If-None-Match": answer.headers["ETag"]}, answer.response.data
    with counted(current_app) as sent:
        assert site.owner.get(site.url(), headers=tag).status == 304
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(body)
        bare = large.bare_route(Path(file.name)).test_client()
        stored = _cpu_ms(lambda: bare.get("/"))
    client, url = site.owner.client, f"/api/v1{site.url()}"
    whole = _cpu_ms(lambda: client.get(url, headers=gzipped))
    known, constant = _cpu_ms(lambda: client.get(url, headers=tag)), _cpu_ms(lambda: client.get("/healthz"))
    size = len(body) / site.files
    return [
        f"  tree of {site.files}: {size:.1f} bytes a file (goal 36), {whole:.2f} ms, {whole / stored:.2f} × reading it (goal 1.5)",
        f"  the same, 304: {known:.2f} ms, {len(sent)} statements, {known / constant:.2f} × a constant route (goal 1.5)",
    ]


def _search(site: Site) -> list[str]:
    lines = []
    for q in ("Post 1234", "river17 stone3", "title:1234", "riv*", "path:post-0012", "zzzqqq", "post"):
        found = site.owner.get(site.url("/search"), query_string={"q": q}).ok()
        taken = _median_ms(lambda word=q: site.owner.get(site.url("/search"), query_string={"q": word}), 7)
        lines.append(f"  search in {site.files} files: {q!r}: {taken:.1f} ms, {len(found)} hits")
    return lines


def _saving(site: Site) -> list[str]:
    """Compare a commit of 100 files through the API with `git fast-import` of the same files."""
    taken, least = [], []
    for n in range(5):
        files = [{"path": f"saved-{n}/f{k}.md", "action": "create", "content": f"saved {n} {k}\n"} for k in range(100)]
        body = {"message": "Save", "base_sha": site.repo.head(), "files": files}
        taken.append(large.cpu_taken(partial(_post, site, body)))
        plain = {f"plain-{n}/{file['path']}": f"plain {file['content']}".encode() for file in files}
        least.append(large.cpu_taken(partial(site.repo.commit, plain)))
    return [_row(f"save of 100 files among {site.files}", min(taken), min(least), 2)]


def _post(site: Site, body: dict[str, Any]) -> None:
    site.owner.post(site.url("/commit"), body).ok(201)


def _median_ms(call: Any, times: int = 60) -> float:
    call()
    return median(large.seconds(call) for _ in range(times)) * 1_000


def _cpu_ms(call: Any, times: int = 200) -> float:
    """Return the minimum of the CPU time of a call in five rounds."""
    call()
    return min(_cpu_of(call, times // 5) for _ in range(5)) * 1_000


def _cpu_of(call: Any, times: int) -> float:
    before = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - before) / times


def _row(name: str, taken_s: float, least_s: float, goal: float | None) -> str:
    told = f" (goal {goal})" if goal else ""
    return f"  {name}: {taken_s:.3f} s, {taken_s / least_s:.2f} ×{told}"


def _growth(name: str, sites: list[Site], taken: list[float], goal: float) -> str:
    exponent = math.log(taken[-1] / taken[0]) / math.log(sites[-1].files / sites[0].files)
    return f"  {name}: growth exponent {exponent:.3f} (goal {goal})"
