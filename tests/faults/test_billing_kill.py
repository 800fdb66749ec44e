"""Tests of a service that is killed before or after the commit of a notification. Its effect must occur once.

Run them with `make faults`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests
import sqlalchemy as sa

from app.extensions import db
from app.models.order import BillingDay, BillingEvent, Order
from config import Settings
from tests.support.doubles.paddle import KEY
from tests.support.doubles.paddle_data import Entity, event, signature, transaction
from tests.support.payments import SECRETS, app, faultless, paddle, settings
from tests.support.servers.ports import free_port
from tests.support.world import World

__all__ = ["app", "faultless", "paddle", "settings"]

ROOT = Path(__file__).parents[2]
SERVER = """
import os, signal, sys
from werkzeug.serving import make_server
from app.factory import create_app
from app.extensions import db
import sqlalchemy as sa

app = create_app()

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

@app.after_request
def after(response):
    if when == "after" and "webhooks" in __import__("flask").request.path:
        die()
    return response

port, when = int(sys.argv[1]), sys.argv[2]
if when == "before":
    def die_if_stored(session):
        if session.connection().exec_driver_sql("SELECT count(*) FROM billing_events").scalar_one() > int(sys.argv[3]):
            die()
    sa.event.listen(db.session, "before_commit", die_if_stored)
make_server("127.0.0.1", port, app, threaded=True).serve_forever()
"""


class Server:
    """A service that kills itself `before` the commit, `after` it, or `never`."""

    def __init__(self, settings: Settings, when: str, events: int) -> None:
        self.port = free_port()
        environment = {
            "APP_ENV": "test",
            "INSTANCE_DIR": str(settings.server.instance_dir),
            "DATABASE_URL": settings.database.url,
            "BILLING_DRIVER": "paddle",
            "PADDLE_API_KEY": KEY,
            "PADDLE_WEBHOOK_SECRET": SECRETS[0],
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(self.port), when, str(events)],
            cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 40
        while not self.is_up():
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.1)

    def is_up(self) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.port)) == 0

    def notify(self, payload: Entity) -> int | None:
        """Send a notification. Return the status, or None without a response."""
        body = json.dumps(payload).encode()
        headers = {
            "Paddle-Signature": signature(body, SECRETS[0], datetime.now(UTC)),
            "Content-Type": "application/json",
        }
        with requests.Session() as session:
            session.trust_env = False
            try:
                url = f"http://127.0.0.1:{self.port}/api/webhooks/billing"
                return session.post(url, data=body, headers=headers, timeout=20).status_code
            except requests.ConnectionError:
                return None


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    started: list[Server] = []
    yield started
    for server in started:
        server.process.kill()
        server.process.wait(10)


def effects(world: World, payload: Entity) -> tuple[int, int, int]:
    """Return the number of events and orders and the revenue of a payment in a separate currency."""
    data = payload["data"]
    with world.app.app_context():
        return (
            db.session.scalar(sa.select(sa.func.count()).where(BillingEvent.id == payload["event_id"])) or 0,
            db.session.scalar(sa.select(sa.func.count()).where(Order.provider_id == data["id"])) or 0,
            db.session.scalar(
                sa.select(sa.func.sum(BillingDay.revenue_minor)).where(BillingDay.currency == data["currency_code"])
            )
            or 0,
        )


class TestServerKills:
    @pytest.mark.parametrize(("when", "kept", "currency"), [("before", 0, "BHD"), ("after", 1, "KWD")])
    def test_event_before_and_after_a_kill_takes_effect_once(
        self, world: World, settings: Settings, servers: list[Server], when: str, kept: int, currency: str
    ) -> None:
        payload = event("transaction.completed", transaction(2900, currency=currency))
        with world.app.app_context():
            events = db.session.scalar(sa.select(sa.func.count()).select_from(BillingEvent)) or 0
        servers.append(Server(settings, when, events))
        assert servers[0].notify(payload) is None
        assert servers[0].process.wait(10) == -signal.SIGKILL
        assert effects(world, payload) == (kept, kept, kept * 2900)

        servers.append(Server(settings, "never", 0))
        assert [servers[1].notify(payload) for _ in range(3)] == [200, 200, 200]
        assert effects(world, payload) == (1, 1, 2900)
