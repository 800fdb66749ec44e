"""Test of a worker that is killed 50 times while it delivers webhooks. No message may be lost.

It takes about five minutes per store. `GALLEY_KILLS` sets another number.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.databases import postgresql_database
from tests.support.webhook_kills import WebhookStage, webhook_stage

KILLS, WEBHOOKS = int(os.environ.get("GALLEY_KILLS", "50")), 12
DRAIN_S = 600


@pytest.fixture(params=["sqlite", "postgresql"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WebhookStage]:
    if request.param == "sqlite":
        with webhook_stage(tmp_path, f"sqlite:///{tmp_path}/app.db", webhooks=WEBHOOKS) as made:
            yield made
        return
    with postgresql_database() as url, webhook_stage(tmp_path, url, webhooks=WEBHOOKS) as made:
        yield made


def test_killed_workers_lose_no_message(stage: WebhookStage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.receiver.latency_s = 0.05
    stage.kill_repeatedly(KILLS, seed=11)
    stage.finish(DRAIN_S)
    received = stage.check()
    with capsys.disabled():
        repeated = sum(number > 1 for number in received.values())
        print(f"\n{KILLS} kills, {len(received)} messages for {WEBHOOKS} webhooks, {repeated} received twice, 0 lost")
    assert len(received) == KILLS * WEBHOOKS
