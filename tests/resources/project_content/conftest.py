"""Fixtures of the content tests: an indexed project of one user on a separate repository."""

from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask

from tests.support import factories
from tests.support.samples.gitrepo import GitRepo
from tests.support.world import Person, World

POST = b"---\ntitle: Hello\ntags: [a, b]\ndraft: false\n---\n\n# Hello\n\nWords.\n\n## Details\n\n[link](https://example.com/)\n"
FILES = {
    "hugo.toml": b'title = "Small"\n',
    "content/posts/hello.md": POST,
    "content/about.md": b"# About\n\nUs.\n",
    "bin/run.sh": ("100755", b"#!/bin/sh\n"),
}


@dataclass
class Site:
    """A person, their project and its repository."""

    world: World
    owner: Person
    organization: str
    project: str
    repo: GitRepo
    name: str

    def path(self, rest: str = "") -> str:
        return f"/project-content/{self.project}{rest}"

    def tree(self, **query: Any) -> Any:
        return self.owner.get(self.path(), query_string=query).ok()

    def blobs(self, **query: Any) -> dict[str, tuple[str, str, int]]:
        return {f["path"]: (f["mode"], f["sha"], f["size"]) for f in self.tree(**query)["files"] if f["type"] == "blob"}

    def file(self, path: str) -> Any:
        return self.owner.get(self.path("/file"), query_string={"file": path})

    def commit(self, *files: dict[str, Any], base: str | None = None, **more: Any) -> Any:
        body = {"message": "Edit", "base_sha": base or self.repo.head(), "files": list(files)} | more
        return self.owner.again().post(self.path("/commit"), body)

    def oracle(self, ref: str = "main") -> dict[str, tuple[str, str, int]]:
        """Return the blobs of the branch according to git."""
        values = {}
        for line in self.repo.git("ls-tree", "-r", "-l", "-z", ref).split(b"\0")[:-1]:
            meta, path = line.split(b"\t", 1)
            mode, kind, sha, size = meta.split()
            if kind == b"blob":
                values[path.decode()] = mode.decode(), sha.decode(), int(size)
        return values


def make_site(world: World, files: dict[str, Any], *, indexed: bool = True) -> Site:
    owner = world.person()
    org = factories.organization(world, owner)
    name, repo = factories.repository(world, files)
    project = factories.project(world, owner, org, name)
    if indexed:
        world.work_off()
    return Site(world, owner, org, project, repo, name)


@pytest.fixture
def site(world: World) -> Site:
    return make_site(world, FILES)


@pytest.fixture(scope="module")
def unchanged_site(app: Flask) -> Site:
    """Return an indexed project for the tests of a module that change nothing in it."""
    return make_site(World(app), FILES)
