"""The running service on one database, with data for requests and saves."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import requests

from app.extensions import db
from app.models.user import User
from app.security.passwords import hash_password
from tests.bench import large
from tests.bench.servers import Candidate, Server
from tests.support import factories
from tests.support.servers.service import Service

PROJECTS, FILES, TREE_FILES = 20, 2_000, 50_000
PASSWORD = "Quiet-Harbour-1"
JSON = {"Content-Type": "application/json"}


class Galley:
    """The service on one database, with a user, two organizations and an indexed project."""

    def __init__(self, name: str, service: Service) -> None:
        self.name, self.service = name, service
        self.server = Server(service.process.pid, service.port)
        world, app = service.world, service.app
        # Sign-ins end the oldest sessions of their account.
        self.person, self.other = world.person(), world.person()
        with app.app_context():
            user = db.session.get_one(User, self.other.id)
            user.password_hash = hash_password(PASSWORD)
            db.session.commit()
        org, self.small_org = (factories.organization(world, self.person) for _ in range(2))
        repository = f"bench/{name.lower()}"
        large.make_repository(world.git_root / f"{repository}.git", FILES)
        self.org = org
        self.projects = [factories.project(world, self.person, org, repository) for _ in range(PROJECTS)]
        factories.project(world, self.person, self.small_org, f"{repository}-small")
        self._store_tree(self.projects[0])

    def _store_tree(self, project: str) -> None:
        app = self.service.app
        with app.app_context():
            large.catch_up(app, project)
            large.write_snapshot(app, project)
            db.session.remove()

    def get(self, path: str, **headers: str) -> Candidate:
        signed_in = {"Cookie": f"session_token={self.person.token}", **headers}
        return Candidate(self.name, self.server, path, headers=signed_in)

    def rename(self) -> Candidate:
        numbers = itertools.count()
        candidate = self.get(f"/api/v1/project/{self.projects[0]}", **JSON)
        candidate.method, candidate.body = "PATCH", lambda: orjson.dumps({"project_name": f"Name {next(numbers)}"})
        return candidate

    def known_tree(self) -> Candidate:
        world, repository = self.service.world, f"bench/{self.name.lower()}-tree"
        large.make_repository(world.git_root / f"{repository}.git", TREE_FILES)
        project = factories.project(world, self.person, factories.organization(world, self.person), repository)
        self._store_tree(project)
        path = f"/api/v1/project-content/{project}"
        headers = {"Cookie": f"session_token={self.person.token}", "Accept-Encoding": "gzip"}
        tag = requests.get(self.service.url + path, headers=headers, timeout=30).headers["ETag"]
        candidate = self.get(path, **{"Accept-Encoding": "gzip", "If-None-Match": tag})
        candidate.status = 304
        return candidate


@contextmanager
def galley(folder: Path, name: str, **environment: str) -> Iterator[Galley]:
    folder.mkdir()
    with (folder / "server.log").open("wb") as log:
        service = Service(folder, workers=1, log=log, **environment)
        service.environment |= {"LOG_LEVEL": "INFO", "LOG_FORMAT": "json", "APP_ENV": "development"}
        with service:
            yield Galley(name, service)
