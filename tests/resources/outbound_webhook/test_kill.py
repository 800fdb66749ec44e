"""Test of a worker that is killed while it delivers a webhook. `tests/faults/test_webhook_kill.py` does it 50 times."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.databases import postgresql_database
from tests.support.doubles.server import Fault
from tests.support.webhook_kills import WebhookStage, webhook_stage

pytestmark = pytest.mark.server


@pytest.fixture
def stage(store: str, tmp_path: Path) -> Iterator[WebhookStage]:
    if store.startswith("sqlite"):
        with webhook_stage(tmp_path, f"sqlite:///{tmp_path}/app.db", webhooks=1) as made:
            yield made
        return
    with postgresql_database() as url, webhook_stage(tmp_path, url, webhooks=1) as made:
        yield made


def test_message_of_a_killed_worker_is_sent_again(stage: WebhookStage) -> None:
    stage.receiver.faults.append(Fault("POST", delay_s=5))
    stage.kill_repeatedly(1, seed=1, saves=3)
    [hook] = stage.hooks
    assert len(hook.received) == 1
    hook.run()
    received = stage.check()
    assert sorted(received.values()) == [1, 1, 2]
    assert hook.states() == ["delivered"] * 3
