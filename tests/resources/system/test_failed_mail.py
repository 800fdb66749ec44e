"""Tests of mail whose relay fails: the job waits, also for a restarted service, and the lifetime of a code starts later."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiosmtpd.smtp import SMTP, Envelope
from flask import Flask
from structlog.testing import capture_logs

from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import OneTimeCode
from tests.drivers.mail.test_smtp import Inbox, serving
from tests.support.applications import application, settings_for
from tests.support.databases import another_database
from tests.support.world import World

MAKE_DUE = {
    "sqlite": "UPDATE background_jobs SET run_at = 0 WHERE state = 'waiting'",
    "postgresql": "UPDATE procrastinate_jobs SET scheduled_at = NULL WHERE status = 'todo'",
}
CALLER = {"name": "Ada", "email": "ada@mail.example.org", "password": "Quiet-Harbour-61"}


@pytest.fixture
def url(store: str, tmp_path: Path) -> Iterator[str]:
    with another_database(store, tmp_path) as url:
        yield url


@contextmanager
def service(home: Path, url: str, smtp_url: str) -> Iterator[World]:
    """Run an application whose mail relay has this URL."""
    settings = settings_for(home, url)
    mail = dataclasses.replace(settings.mail, driver="smtp", smtp_url=smtp_url)
    with application(dataclasses.replace(settings, mail=mail)) as app:
        yield World(app)


def make_due(app: Flask) -> None:
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(sa.text(MAKE_DUE[connection.dialect.name]))


def counts(app: Flask) -> tuple[int, int]:
    """Return the numbers of waiting and dead calls."""
    with app.app_context(), db.engine.connect() as connection:
        result = app.extensions["jobs"].counts(connection)
    return result.waiting, result.dead


def test_mail_refused_by_a_wrong_setting_is_sent_after_the_correction_and_a_restart(tmp_path: Path, url: str) -> None:
    with serving(Inbox()) as port, service(tmp_path, url, f"smtp://user:secret@127.0.0.1:{port}") as world:
        world.anonymous().post("/auth/sign-up/email", CALLER).ok(200, 201)
        with capture_logs() as lines:
            world.work_off()
        [failure] = [line for line in lines if line["event"] == "job.failed"]
        assert "offers no sign-in" in failure["error"]
        assert counts(world.app) == (1, 0)
    inbox = Inbox()
    with serving(inbox) as port, service(tmp_path, url, f"smtp://127.0.0.1:{port}") as world:
        make_due(world.app)
        world.work_off()
        assert counts(world.app) == (0, 0)
    assert len(inbox.contents) == 1


class SlowInbox(Inbox):
    """A relay that responds to a message after the lifetime of the code that it contains."""

    engine: sa.Engine

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Envelope) -> str:
        with self.engine.begin() as connection:
            connection.execute(sa.update(OneTimeCode).values(expires_at=utcnow_ms() - timedelta(minutes=1)))
        return await super().handle_DATA(server, session, envelope)


@pytest.mark.parametrize("request_mail", ["/auth/sign-up/email", "/auth/forget-password"])
def test_lifetime_of_a_mailed_secret_starts_when_the_relay_has_accepted_it(
    tmp_path: Path, url: str, request_mail: str
) -> None:
    inbox = SlowInbox()
    with serving(inbox) as port, service(tmp_path, url, f"smtp://127.0.0.1:{port}") as world:
        with world.app.app_context():
            inbox.engine = db.engine
        if request_mail == "/auth/forget-password":
            world.person(email=CALLER["email"])
        world.anonymous().post(request_mail, CALLER).ok(200, 201)
        world.work_off()
        assert len(inbox.contents) == 1
        with world.app.app_context():
            [row] = db.session.scalars(sa.select(OneTimeCode))
            assert row.expires_at is not None
            assert row.expires_at > utcnow_ms()
