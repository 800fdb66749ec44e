"""Listings of a large folder, compared with those of a small folder of the same branch.

A site has a folder of 20,000 files and one of 100. Each page is requested 14 times, because PostgreSQL chooses a plan without
the parameters from the 11th execution of a statement. `GALLEY_LONG=1` adds files up to 220,000 in other folders.
"""

import os
import random
import secrets
import time
from statistics import median

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.extensions import db
from app.resources.project_content.index import search_indexing
from tests.bench import large
from tests.support import factories
from tests.support.samples.gitrepo import Content, GitRepo
from tests.support.world import World

SMALL, LARGE = 100, 20_000
FILES = 220_000 if os.environ.get("GALLEY_LONG") else 40_000
GOAL, REQUESTS = 3, 14
CONSOLE, API = "/console/projects/{project}", "/api/v1/project-content/{project}"
LISTINGS = (
    *(
        f"{CONSOLE}/content/content/{{folder}}?{query}"
        for query in ("", "sort=title", "sort=date", "sort=changed", "state=published", "q=post", "page=2", "view=tree",
                      "view=tree&sort=title")
    ),
    *(
        f"{API}/entries?folder=content/{{folder}}{query}"
        for query in ("", "&sort=-date", "&sort=date", "&sort=title", "&filter[tags][contains]=b7&sort=-date",
                      "&filter[title][missing]=false", "&filter[date][gte]=2024-01-02")
    ),
    f"{API}?path=content/{{folder}}&limit=100",
    f"{API}/backlinks?file=content/{{folder}}/post-000001.md",
)  # fmt: skip
WHOLE = (
    f"{CONSOLE}/content/",
    f"{CONSOLE}/content/?view=tree",
    f"{CONSOLE}/content/?view=tree&sort=title",
    f"{CONSOLE}/media",
    CONSOLE,
    f"{API}/entries?sort=-date",
    f"{API}/search?q=river12",
)


def _site(world: World) -> str:
    """Create the branch with the folders, and return the name of its repository."""
    dice, name = random.Random(3), f"bench/r{secrets.token_hex(4)}"
    paths = [f"content/small/post-{n:06}.md" for n in range(SMALL)]
    paths += [f"content/large/post-{n:06}.md" for n in range(LARGE)]
    paths += [f"content/section-{n // 200:04}/post-{n:06}.md" for n in range(FILES - len(paths) - 2_000)]
    content: dict[str, Content] = {f"static/pictures/{n}.png": str(n).encode() for n in range(2_000)}
    for n, path in enumerate(paths):
        words = " ".join(dice.choices(large.VOCABULARY, k=12))
        text = f"---\ntitle: {words[:12]} {n}\ndate: 20{10 + n % 14}-{n % 12 + 1:02}-02\ntags: [a, b{n % 50}]\n---\n{words}\n"
        content[path] = text.encode()
    GitRepo(world.git_root / f"{name}.git", content)
    return name


def _cpu_ms(client: FlaskClient, url: str) -> float:
    """Return the median CPU time of the last requests of a page."""
    taken = []
    for _ in range(REQUESTS):
        before_s = time.process_time()
        response = client.get(url)
        taken.append((time.process_time() - before_s) * 1_000)
        assert response.status_code == 200, (url, response.status_code)
    return median(taken[-4:])


class TestListings:
    def test_large_folder_is_compared_with_a_small_one(self, app: Flask, capsys: pytest.CaptureFixture[str]) -> None:
        world = World(app)
        owner = world.person()
        project = factories.project(world, owner, factories.organization(world, owner), _site(world))
        large.catch_up(app, project)
        index, source = large.index_of(app, project)
        search_indexing.index_new_texts(index, source, at_most=None, progress=lambda *_: None)
        lines = [f"\n{db.engine.dialect.name}: CPU of this process, a folder of {LARGE} files compared with {SMALL}"]
        for listing in LISTINGS:
            small, big = (
                _cpu_ms(owner.client, listing.format(project=project, folder=name)) for name in ("small", "large")
            )
            shown = listing.format(project="ID", folder="FOLDER")
            lines.append(f"  {shown}: {small:.1f} ms, {big:.1f} ms = {big / small:.2f} × (goal {GOAL})")
        for page in WHOLE:
            taken = _cpu_ms(owner.client, page.format(project=project))
            lines.append(f"  {page.format(project='ID')}, {FILES} files: {taken:.1f} ms")
        with capsys.disabled():
            print("\n".join(lines))
