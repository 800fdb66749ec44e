"""Deliveries of webhooks by a job worker that is killed again and again."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from flask import Flask

from app.extensions import db
from app.models.outbound_webhook import DeliveryState, WebhookDelivery, WebhookMessage
from config import Settings
from tests.resources.outbound_webhook.hooks import Hook, save
from tests.support.applications import application
from tests.support.doubles.webhook_receiver import WebhookReceiver, verified
from tests.support.servers.job_worker import JobWorker
from tests.support.workspace import Workspace, make_workspace
from tests.support.world import World

START_WITHIN_S, PAUSE_S = 60, (0.0, 0.4)


@dataclass
class WebhookStage:
    """An application with webhooks of one workspace, their receiver and the environment of a worker."""

    app: Flask
    environment: dict[str, str]
    space: Workspace
    receiver: WebhookReceiver
    hooks: list[Hook]

    def kill_repeatedly(self, kills: int, *, seed: int, saves: int = 1) -> None:
        """Start a worker, wait for its first request, and kill it at a random time afterwards, `kills` times."""
        generator = random.Random(seed)
        for _ in range(kills):
            for _ in range(saves):
                save(self.space)
            before, worker = len(self.receiver.journal), JobWorker(self.environment)
            try:
                deadline = time.monotonic() + START_WITHIN_S
                while len(self.receiver.journal) == before and time.monotonic() < deadline:
                    time.sleep(0.005)
                time.sleep(generator.uniform(*PAUSE_S))
            finally:
                worker.kill()

    def finish(self, within_s: float) -> None:
        """Run a worker until no message waits."""
        worker = JobWorker(self.environment)
        try:
            deadline = time.monotonic() + within_s
            while self._waiting() and time.monotonic() < deadline:
                time.sleep(0.2)
        finally:
            worker.kill()
        assert self._waiting() == 0

    def check(self) -> Counter[str]:
        """Assert that each webhook received each message with its bytes. Return how often each one was received."""
        with self.app.app_context():
            rows = db.session.execute(sa.select(WebhookMessage.id, WebhookMessage.body)).all()
        bodies = {row.id: row.body for row in rows}
        received: Counter[str] = Counter()
        for hook in self.hooks:
            calls = hook.received
            assert {call.headers["webhook-id"] for call in calls} == set(bodies), "messages are missing"
            for call in calls:
                assert call.body == bodies[call.headers["webhook-id"]]
                assert verified(call, hook.secret)
                received[f"{hook.id} {call.headers['webhook-id']}"] += 1
        return received

    def _waiting(self) -> int:
        with self.app.app_context(), db.engine.connect() as connection:
            waiting = sa.select(sa.func.count()).where(WebhookDelivery.state != DeliveryState.DELIVERED)
            return connection.scalar(waiting) or 0


@contextmanager
def webhook_stage(home: Path, store: str, *, webhooks: int) -> Iterator[WebhookStage]:
    """Build the application on an empty database, with webhooks for commits."""
    environment = {
        "APP_ENV": "test",
        "INSTANCE_DIR": str(home / "instance"),
        "DATABASE_URL": store,
        "MAIL_DRIVER": "file",
        "RATE_LIMIT_SCALE": "100000",
        "LOG_LEVEL": "ERROR",
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.1/32",
    }
    settings = Settings.from_environment(environment | {"LOG_LEVEL": "INFO"})
    receiver = WebhookReceiver()
    try:
        with application(settings) as app:
            space = make_workspace(World(app))
            hooks = [Hook.create(space.me, space.org, receiver, f"hook{number}") for number in range(webhooks)]
            yield WebhookStage(app, environment, space, receiver, hooks)
    finally:
        receiver.close()
