"""Test of 1000 readers of streams of one worker that disconnect at once after a minute."""

import resource
from pathlib import Path

import pytest

from tests.serving.test_ai_crowd import assert_resources_released, crowded
from tests.support.databases import postgresql_database

STREAMS, HOLD_S = 1000, 60
DESCRIPTORS = 5000


@pytest.fixture(autouse=True)
def enough_descriptors() -> None:
    """Raise the limit of descriptors: both ends of all connections are in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < DESCRIPTORS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))


class TestManyReaders:
    def test_thousand_readers_that_disconnect_at_once_release_all_resources(self, tmp_path: Path) -> None:
        with postgresql_database() as url:
            crowd = crowded(tmp_path, url, streams=STREAMS, hold_s=HOLD_S)
        print(
            f"\n{STREAMS} streams for {HOLD_S} s: before {crowd.before}, during {crowd.during}, after {crowd.back_s:.1f} s"
            f" {crowd.after}; {crowd.memory_a_stream / 1024:.0f} KiB a stream; /healthz p50 {crowd.health_ms(0.5):.0f},"
            f" p99 {crowd.health_ms(0.99):.0f} ms, while all are held {crowd.health_ms(0.99, held_only=True):.0f} ms"
            f" ({len(crowd.health_s)} probes)"
        )
        assert_resources_released(crowd, STREAMS)
