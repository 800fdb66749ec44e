"""The people of the tests: each is a browser with a session, acting through the application's own client."""

import secrets
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from flask import Flask
from werkzeug.test import TestResponse

from app.core.emails import email_key
from app.core.jobs import registry
from app.core.secrets import hash_token, new_token
from app.extensions import db
from app.models.base import moment
from app.models.login import Session
from app.models.user import User
from app.worker import Runner
from tests.witnesses import documented

KEPT_CONNECTIONS = 2
WAITING_JOBS = {
    "postgresql": "procrastinate_jobs WHERE status = 'todo'",
    "sqlite": "background_jobs WHERE state = 'waiting'",
}


class Answer:
    """A response whose envelope has been checked."""

    def __init__(self, response: TestResponse) -> None:
        self.response, self.status, self.headers = response, response.status_code, response.headers
        self.json: Any = response.get_json(silent=True)
        assert self.headers["X-Request-Id"]
        assert self.status != 500, response.get_data(as_text=True)

    def ok(self, *statuses: int) -> Any:
        """The result, of a success with one of these statuses (default 200)."""
        assert self.status in (statuses or (200,)), (self.status, self.json)
        assert self.json["success"] is True
        assert self.json["statusCode"] == self.status
        return self.json["result"]

    def fails(self, status: int, code: str | None = None, *paths: str) -> Any:
        """The error envelope, with this status, code and at least these field paths."""
        assert self.status == status, (self.status, self.json)
        assert self.json["success"] is False
        assert self.json["statusCode"] == status
        assert code is None or self.json["code"] == code, self.json
        named = {item["path"] for item in self.json["errorMessage"]}
        assert set(paths) <= named, self.json
        return self.json


class Browser:
    """Somebody's browser; paths are below /api/v1 unless they start with /api/ or `absolute` is set."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.client = app.test_client()

    def call(self, method: str, path: str, body: Any = None, **kwargs: Any) -> Answer:
        """One request."""
        url = path if path.startswith(("/api/", "/healthz", "/readyz", "/media/")) or path == "/" else f"/api/v1{path}"
        if body is not None:
            kwargs["json"] = body
        with self.app.app_context():
            response = self.client.open(url, method=method, **kwargs)
            documented.hold(self.app, response, method, url)
            return Answer(response)

    def get(self, path: str, **kwargs: Any) -> Answer:
        return self.call("GET", path, **kwargs)

    def post(self, path: str, body: Any = None, **kwargs: Any) -> Answer:
        return self.call("POST", path, body, **kwargs)

    def patch(self, path: str, body: Any = None, **kwargs: Any) -> Answer:
        return self.call("PATCH", path, body, **kwargs)

    def put(self, path: str, body: Any = None, **kwargs: Any) -> Answer:
        return self.call("PUT", path, body, **kwargs)

    def delete(self, path: str, body: Any = None, **kwargs: Any) -> Answer:
        return self.call("DELETE", path, body, **kwargs)


class Person(Browser):
    """A user with a session."""

    def __init__(self, app: Flask, user_id: str, email: str, token: str) -> None:
        super().__init__(app)
        self.id, self.email, self.token = user_id, email, token
        self.client.set_cookie("session_token", token)

    def again(self) -> "Person":
        """The same person and session in a client of its own, for parallel requests."""
        return Person(self.app, self.id, self.email, self.token)

    def new_organization(self, name: str | None = None) -> str:
        """Make an organization; its id."""
        made = self.post("/organization", {"org_name": name or f"Org {secrets.token_hex(4)}"}).ok(201)
        return str(made["org_id"])

    def new_project(self, org_id: str, repository: str, **more: Any) -> str:
        """Connect a local repository; the project's id."""
        body = {
            "org_id": org_id,
            "project_name": f"Project {secrets.token_hex(4)}",
            "provider": "local",
            "repository": repository,
            "branch": "main",
        }
        return str(self.post("/project/create", body | more).ok(201)["project_id"])


class World:
    """Makes what a test needs, in the database where the API would only be slower."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def anonymous(self) -> Browser:
        """A browser without a session."""
        return Browser(self.app)

    def person(self, *, verified: bool = True, admin: bool = False, email: str | None = None) -> Person:
        """A fresh user, signed in."""
        address = email or f"p{secrets.token_hex(6)}@mail.example.org"
        token, now = new_token(), moment()
        with self.app.app_context():
            user = User(
                email=address,
                email_key=email_key(address),
                email_verified=verified,
                name=f"Person {secrets.token_hex(3)}",
                is_admin=admin,
            )
            db.session.add(user)
            db.session.flush()
            db.session.add(
                Session(
                    user_id=user.id,
                    token_hash=hash_token(token),
                    expires_at=now + timedelta(days=30),
                    idle_expires_at=now + timedelta(days=7),
                    last_seen_at=now,
                )
            )
            db.session.commit()
            return Person(self.app, user.id, address, token)

    @property
    def git_root(self) -> Path:
        """Where the local provider keeps its bare repositories."""
        root: Path = self.app.config["SETTINGS"].git.local_root
        return root

    def work_off(self, *, within_s: float = 120) -> None:
        """Run every job that is due, as the worker does, and wait until none is left but those of later."""
        engine, stop = self.app.extensions["jobs"], threading.Event()
        thread = threading.Thread(
            target=engine.work,
            args=(Runner(self.app, registry, engine.report),),
            kwargs={"jobs": _unperiodic(), "stop": stop, "concurrency": 2},
        )
        thread.start()
        idle = False
        try:
            deadline = time.monotonic() + within_s
            while not idle and time.monotonic() < deadline:
                time.sleep(
                    0.02
                )  # also before the first look: what was enqueued in this very millisecond has no lag yet
                idle = self._idle()
        finally:
            stop.set()
            thread.join(30)
        assert idle, "jobs are left over"

    def drop_jobs(self) -> None:
        """Forget every job that waits, for whoever works off jobs next would have to run it."""
        with self.app.app_context(), db.engine.begin() as connection:
            connection.execute(sa.text(f"DELETE FROM {WAITING_JOBS[connection.dialect.name]}"))

    def close_connections(self) -> None:
        """Close what a crowd has opened: PostgreSQL has a hundred connections for all processes of the tests."""
        with self.app.app_context():
            pools = db.engine.pool, self.app.extensions["reading_engine"].pool
            if any(isinstance(pool, sa.QueuePool) and pool.checkedin() > KEPT_CONNECTIONS for pool in pools):
                db.engine.dispose()

    def _idle(self) -> bool:
        with self.app.app_context(), db.engine.connect() as connection:
            counts = self.app.extensions["jobs"].counts(connection)
        return bool(counts.running == 0 and counts.lag_s == 0)


def _unperiodic() -> dict[str, Any]:
    return {name: job for name, job in registry.items() if job.every is None}
