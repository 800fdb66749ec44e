"""Costs of webhooks: a save with one webhook, and of a live webhook while a dead one has many waiting messages."""

import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest
from flask import Flask

from app.database.inserts import batches
from app.database.transactions import reading_context, write_transaction
from app.extensions import db
from app.models.outbound_webhook import WebhookDelivery, WebhookMessage
from tests.resources.outbound_webhook.hooks import Hook, save
from tests.support.databases import postgresql_database
from tests.support.doubles.server import Fault
from tests.support.servers.job_worker import JobWorker
from tests.support.servers.service import Service
from tests.support.webhook_kills import WebhookStage, webhook_stage
from tests.support.workspace import make_workspace

SAVES, WARM_UP, GOAL = 420, 20, 1.03
WAITING, LIVE_MESSAGES, PAUSE_S = 10_000, 20, 0.5


@pytest.fixture(params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    if request.param == "sqlite":
        with Service(tmp_path, workers=1, LOG_LEVEL="ERROR") as made:
            yield made
        return
    with postgresql_database() as url, Service(tmp_path, workers=1, LOG_LEVEL="ERROR", DATABASE_URL=url) as made:
        yield made


class Saver:
    """Saves to one project of a running service."""

    def __init__(self, service: Service) -> None:
        self.space = make_workspace(service.world)
        self.client = service.client(self.space.me)
        self.url = f"{service.url}/api/v1/project-content/{self.space.project}/commit"
        self.head = self.space.git.head("main")
        self.ms: list[float] = []

    def save(self) -> None:
        file = {"path": f"content/{secrets.token_hex(8)}.md", "action": "create", "content": "# A page\n"}
        body = {"message": "Add a page", "base_sha": self.head, "files": [file]}
        start = time.perf_counter()
        answer = self.client.post(self.url, json=body, timeout=60)
        self.ms.append((time.perf_counter() - start) * 1_000)
        self.head = answer.json()["result"]["commit_sha"]


def test_save_with_a_webhook_is_printed(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    plain, hooked = Saver(service), Saver(service)
    body = {"url": "https://hooks.harbour.example.org/galley", "events": ["content.committed"]}
    hooked.space.me.post(f"/organization/{hooked.space.org}/webhooks", body).ok(201)
    for number in range(SAVES):
        for saver in (plain, hooked) if number % 2 else (hooked, plain):
            saver.save()
    costs = [median(one.ms[WARM_UP:]) for one in (plain, hooked)]
    ratio = median(one / other for one, other in zip(hooked.ms[WARM_UP:], plain.ms[WARM_UP:], strict=True))
    with capsys.disabled():
        print(f"\nSave on {db_name(service.app)}: {costs[0]:.2f} ms, with a webhook {costs[1]:.2f} ms,", end=" ")
        print(f"ratio {ratio:.3f} (goal ≤ {GOAL})")


def db_name(app: Flask) -> str:
    with app.app_context():
        return str(db.engine.dialect.name)


@pytest.fixture(params=["sqlite", "postgresql"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WebhookStage]:
    if request.param == "sqlite":
        with webhook_stage(tmp_path, f"sqlite:///{tmp_path}/app.db", webhooks=1) as made:
            yield made
        return
    with postgresql_database() as url, webhook_stage(tmp_path, url, webhooks=1) as made:
        yield made


@pytest.mark.parametrize("dead", ["none", "refuses", "hangs"])
def test_live_webhook_with_a_dead_one_is_printed(
    stage: WebhookStage, dead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    [live] = stage.hooks
    if dead != "none":
        body = {} if dead == "hangs" else {"url": "http://127.0.0.1:1/dead"}
        stage.receiver.faults.append(Fault("POST /dead", times=WAITING, delay_s=60))
        other = Hook.create(stage.space.me, stage.space.org, stage.receiver, "dead", events=["member.joined"], **body)
        _fill(stage.app, stage.space.org, other.id)
    worker = JobWorker(stage.environment)
    try:
        _wait_for(lambda: bool(live.received), lambda: save(stage.space))
        if dead == "hangs":
            _wait_for(lambda: bool(stage.receiver.received("dead")))
        taken = [_delivery_s(stage, live) for _ in range(LIVE_MESSAGES)]
    finally:
        worker.kill()
    with capsys.disabled():
        name, late = db_name(stage.app), max(taken)
        print(f"\nDead webhook: {dead}, {name}: live one after {median(taken):.2f} s, at most {late:.2f} s")
    assert len(live.received) == LIVE_MESSAGES + 1


def _wait_for(is_done: Callable[[], bool], first: Callable[[], object] = lambda: None) -> None:
    first()
    deadline = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _delivery_s(stage: WebhookStage, live: Hook) -> float:
    """Return the seconds from the end of a save to the delivery of its message."""
    before = len(live.received)
    save(stage.space)
    start = time.monotonic()
    _wait_for(lambda: len(live.received) > before)
    taken_s = time.monotonic() - start
    time.sleep(PAUSE_S)
    return taken_s


def _fill(app: Flask, org: str, endpoint_id: str) -> None:
    """Store messages of one webhook that wait."""
    with reading_context(app):
        for numbers in batches(range(WAITING), 1_000):
            messages = [
                {"id": f"msg_{secrets.token_hex(13)}", "organization_id": org, "type": "member.joined", "body": b"{}"}
                for _ in numbers
            ]
            deliveries = [{"message_id": message["id"], "endpoint_id": endpoint_id} for message in messages]
            with write_transaction():
                db.session.bulk_insert_mappings(WebhookMessage, messages)
                db.session.bulk_insert_mappings(WebhookDelivery, deliveries)
