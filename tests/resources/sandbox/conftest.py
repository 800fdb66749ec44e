"""A project with a plain site and helpers for calls of `/api/sandbox`. Every sandbox is stopped at the end."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask

from app.core.permissions import Role
from app.extensions import drivers
from tests.support import factories
from tests.support.samples.gitrepo import GitRepo
from tests.support.world import Answer, Person, World

PLAIN = {"index.html": b"<h1>Plain</h1>\n", "about/index.html": b"<h1>About</h1>\n"}


@dataclass
class PreviewSite:
    """A project, its owner, an editor and its repository."""

    world: World
    owner: Person
    editor: Person
    organization: str
    project: str
    repo: GitRepo

    def create(self, by: Person | None = None, **body: Any) -> Answer:
        body = {"projectId": self.project} | body
        return (by or self.owner).again().post("/api/sandbox/create", body, headers={"Accept": "application/json"})

    def created(self, by: Person | None = None, **body: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.create(by, **body).ok(200, 201)
        return result

    def streamed(self, by: Person | None = None, **body: Any) -> list[dict[str, Any]]:
        person = (by or self.owner).again()
        with self.world.app.app_context():
            response = person.client.post("/api/sandbox/create", json={"projectId": self.project} | body)
            assert response.mimetype == "text/event-stream", response.get_data(as_text=True)
            text = response.get_data(as_text=True)
        return [json.loads(line[6:]) for line in text.split("\n\n") if line.startswith("data: ")]

    def beat(self, by: Person | None = None, **body: Any) -> Answer:
        return (by or self.owner).post("/api/sandbox/heartbeat", body or {"projectId": self.project})

    def stop(self, by: Person | None = None, **body: Any) -> Answer:
        return (by or self.owner).post("/api/sandbox/stop", body or {"projectId": self.project})

    def record(self) -> Any:
        return self.owner.get(f"/project-preview/{self.project}").ok()

    def record_state(self) -> str:
        return str(self.record()["state"])

    def held(self) -> list[str]:
        """Return the names of the sandboxes of the host."""
        with self.world.app.app_context():
            return sorted(drivers.sandbox.list_sandboxes())


def make_site(world: World, files: dict[str, Any] | None = None) -> PreviewSite:
    owner, editor = world.person(), world.person()
    organization = factories.organization(world, owner, (editor, Role.EDITOR))
    name, repo = factories.repository(world, files or dict(PLAIN))
    project = factories.project(world, owner, organization, name)
    return PreviewSite(world, owner, editor, organization, project, repo)


@pytest.fixture
def site(world: World, stop_sandboxes: None) -> PreviewSite:
    return make_site(world)


@pytest.fixture
def stop_sandboxes(app: Flask) -> Iterator[None]:
    """Stop the remaining sandboxes at the end of a test."""
    yield
    with app.app_context():
        host = drivers.sandbox
        for name in host.list_sandboxes():
            host.stop(name)
