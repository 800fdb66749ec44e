"""Tests of the end of a worker: during a lost connection, and during its registration."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, cast

from procrastinate import exceptions

from app.drivers.jobs.postgresql.manager import LeasedJobManager
from app.drivers.jobs.postgresql.worker import STOP_POLL_S, cancel_when_set, repeat

WITHIN_S = 30


class Connection:
    """A connection whose first cancellation raises the error of a lost connection."""

    is_lost = False

    async def use(self, *_arguments: object, **_values: object) -> None:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            if self.is_lost:
                raise
            self.is_lost = True
            raise exceptions.ConnectorException from None

    listen_notify = execute_query_one_async = use


def ends_when_cancelled(coroutine: Coroutine[Any, Any, object]) -> bool:
    """Return whether one cancellation ends the coroutine."""

    async def cancel() -> bool:
        task = asyncio.create_task(coroutine)
        await asyncio.sleep(0.05)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=WITHIN_S)
        return task in done and task.cancelled()

    return asyncio.run(cancel())


class TestCancellation:
    def test_maintenance_ends_although_its_connection_is_lost(self) -> None:
        assert ends_when_cancelled(repeat(Connection().use, 600))

    def test_listener_ends_although_its_connection_is_lost(self) -> None:
        async def ignore(**_values: object) -> None: ...

        manager: Any = LeasedJobManager(cast(Any, Connection()))
        assert ends_when_cancelled(manager.listen_for_jobs(on_notification=ignore))

    def test_write_ends_although_its_connection_is_lost(self) -> None:
        assert ends_when_cancelled(LeasedJobManager(cast(Any, Connection())).note_failure(1, "an error"))


class Registration:
    """A job manager whose worker is registered when the test sets the id."""

    worker_id: int | None = None


class TestStop:
    def test_worker_is_cancelled_after_its_registration_only(self) -> None:
        async def stop_during_registration() -> tuple[bool, bool]:
            stop, registration = threading.Event(), Registration()
            serving = asyncio.create_task(asyncio.sleep(600))
            stopping = asyncio.create_task(cancel_when_set(stop, serving, cast(Any, registration)))
            stop.set()
            await asyncio.sleep(3 * STOP_POLL_S)
            is_early = serving.cancelling() > 0
            registration.worker_id = 1
            await asyncio.wait([stopping], timeout=WITHIN_S)
            return is_early, serving.cancelling() > 0

        assert asyncio.run(stop_during_registration()) == (False, True)
