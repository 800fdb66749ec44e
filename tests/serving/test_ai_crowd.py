"""Many readers of AI streams that disconnect at once. The long form is in `tests/faults`."""

import asyncio
from pathlib import Path

import pytest

from tests.bench.ai_load import Provider
from tests.bench.large import application
from tests.serving.crowd import Crowd, hold_and_drop
from tests.serving.one_worker import cookies, service
from tests.support.databases import postgresql_database


def crowded(home: Path, url: str, *, streams: int, hold_s: float) -> Crowd:
    """Run the readers against a worker on this database."""

    async def held() -> Crowd:
        async with Provider(tokens=3, every_s=0.0).serving() as provider:
            with service(home, url, provider.port) as started:
                return await hold_and_drop(app, started, provider, headers, hold_s=hold_s)

    with application(home / "instance", url) as app:
        headers = cookies(app, streams)
        return asyncio.run(held())


def assert_resources_released(crowd: Crowd, streams: int) -> None:
    """Assert that all readers were connected and that all resources were released."""
    assert crowd.during["running"] == streams
    assert crowd.during["upstream"] >= streams
    assert crowd.during["reserved"] > 0
    assert crowd.back_s, (crowd.before, crowd.after)
    assert (crowd.after["running"], crowd.after["reserved"], crowd.after["watched"]) == (0, 0, 0)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
class TestManyReaders:
    def test_sixty_readers_that_disconnect_at_once_release_all_resources(self, tmp_path: Path, backend: str) -> None:
        if backend == "sqlite":
            assert_resources_released(crowded(tmp_path, f"sqlite:///{tmp_path}/app.db", streams=60, hold_s=1), 60)
            return
        with postgresql_database() as url:
            assert_resources_released(crowded(tmp_path, url, streams=60, hold_s=1), 60)
