"""Users of the tests. Each one is a browser with a session on the test client of the application."""

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
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import Session
from app.models.user import User
from app.security.secrets import hash_token, new_token
from app.worker import JobRunner
from tests.support.assertions import documented
from tests.support.pace import within

MAX_IDLE_CONNECTIONS = 2
WAITING_JOBS = {
    "postgresql": "procrastinate_jobs WHERE status = 'todo'",
    "sqlite": "background_jobs WHERE state = 'waiting'",
}
UNFINISHED_JOBS = {
    "postgresql": "procrastinate_jobs WHERE status = 'doing'"
    " OR (status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= clock_timestamp()))",
    "sqlite": "background_jobs WHERE state = 'running'"
    " OR (state = 'waiting' AND run_at <= (julianday('now') - 2440587.5) * 86400.0)",
}
"""The running and the due jobs. A poll with one statement costs less than the counts of the engine."""


class Answer:
    """A response with a checked envelope."""

    def __init__(self, response: TestResponse) -> None:
        self.response, self.status, self.headers = response, response.status_code, response.headers
        self.json: Any = response.get_json(silent=True)
        assert self.headers["X-Request-Id"]
        assert self.status != 500, response.get_data(as_text=True)

    def ok(self, *statuses: int) -> Any:
        """Return the result of a success with one of these statuses (default 200)."""
        assert self.status in (statuses or (200,)), (self.status, self.json)
        if isinstance(self.json, list):
            return self.json
        assert self.json["success"] is True
        assert self.json["statusCode"] == self.status
        return self.json["result"]

    def fails(self, status: int, code: str | None = None, *paths: str) -> Any:
        """Return the error envelope. Check the status, the code and the field paths."""
        assert self.status == status, (self.status, self.json)
        assert self.json["success"] is False
        assert self.json["statusCode"] == status
        assert code is None or self.json["code"] == code, self.json
        named = {item["path"] for item in self.json["errorMessage"]}
        assert set(paths) <= named, self.json
        return self.json


class Browser:
    """A browser. Paths are below /api/v1 unless they start with /api/."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.client = app.test_client()

    def call(self, method: str, path: str, body: Any = None, **kwargs: Any) -> Answer:
        """Send one request."""
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
        """Return the same user and session with another client, for parallel requests."""
        return Person(self.app, self.id, self.email, self.token)

    def prove_identity(self) -> None:
        """Record a proof of the identity in the sessions of the user, at the present time of this thread."""
        with self.app.app_context():
            now = {"reauthenticated_at": utcnow_ms()}
            db.session.execute(sa.update(Session).where(Session.user_id == self.id).values(now))
            db.session.commit()

    def new_organization(self, name: str | None = None) -> str:
        """Create an organization and return its id."""
        created = self.post("/organization", {"org_name": name or f"Org {secrets.token_hex(4)}"}).ok(201)
        return str(created["org_id"])

    def new_project(self, org_id: str, repository: str, **more: Any) -> str:
        """Connect a local repository and return the project's id."""
        body = {
            "org_id": org_id,
            "project_name": f"Project {secrets.token_hex(4)}",
            "provider": "local",
            "repository": repository,
            "branch": "main",
        }
        return str(self.post("/project/create", body | more).ok(201)["project_id"])


def sign_in(app: Flask, user: User) -> Person:
    """Add a session of the user to the database session and return the browser with its token."""
    token, now = new_token(), utcnow_ms()
    db.session.add(
        Session(
            user_id=user.id,
            token_hash=hash_token(token),
            expires_at=now + timedelta(days=30),
            idle_expires_at=now + timedelta(days=7),
            last_seen_at=now,
        )
    )
    return Person(app, user.id, user.email, token)


class World:
    """The objects of a test. They are written to the database directly where the API would be slower."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def anonymous(self) -> Browser:
        """Return a browser without a session."""
        return Browser(self.app)

    def person(self, *, verified: bool = True, admin: bool = False, email: str | None = None) -> Person:
        """Create a signed-in user."""
        address = email or f"p{secrets.token_hex(6)}@mail.example.org"
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
            person = sign_in(self.app, user)
            db.session.commit()
            return person

    @property
    def git_root(self) -> Path:
        """Return the folder of the bare repositories of the local provider."""
        root: Path = self.app.config["SETTINGS"].git.local_root
        return root

    def work_off(self, *, within_s: float = 120) -> None:
        """Run every due job as the worker does. Wait until only later ones remain."""
        engine, stop = self.app.extensions["jobs"], threading.Event()
        thread = threading.Thread(
            target=engine.work,
            args=(JobRunner(self.app, registry, engine.report),),
            kwargs={"jobs": _unperiodic(), "stop": stop, "concurrency": 2},
        )
        thread.start()
        idle = False
        try:
            deadline = time.monotonic() + within(within_s)
            while not idle and time.monotonic() < deadline:
                time.sleep(0.02)
                idle = self._is_idle()
        finally:
            stop.set()
            thread.join(120)
        assert idle, "jobs still wait or run"
        assert not thread.is_alive(), "the worker did not end"

    def drop_jobs(self) -> None:
        """Delete the waiting jobs, so that later tests do not run them."""
        with self.app.app_context(), db.engine.begin() as connection:
            connection.execute(sa.text(f"DELETE FROM {WAITING_JOBS[connection.dialect.name]}"))

    def close_connections(self) -> None:
        """Close surplus connections. PostgreSQL has 100 connections for all test processes."""
        with self.app.app_context():
            pools = db.engine.pool, self.app.extensions["reading_engine"].pool
            if any(isinstance(pool, sa.QueuePool) and pool.checkedin() > MAX_IDLE_CONNECTIONS for pool in pools):
                db.engine.dispose()

    def _is_idle(self) -> bool:
        with self.app.app_context(), db.engine.connect() as connection:
            unfinished = UNFINISHED_JOBS[connection.dialect.name]
            return not connection.scalar(sa.text(f"SELECT EXISTS (SELECT 1 FROM {unfinished})"))


def _unperiodic() -> dict[str, Any]:
    return {name: job for name, job in registry.items() if job.every is None}
