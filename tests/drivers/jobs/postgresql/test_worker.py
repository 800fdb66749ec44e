"""Tests of the maintenance of a worker during a lost connection."""

import asyncio

from procrastinate import exceptions

from app.drivers.jobs.postgresql.worker import repeat

WITHIN_S = 30


async def lose_connection() -> None:
    """Raise the error of a lost connection during the cancellation."""
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        raise exceptions.ConnectorException from None


class TestRepeat:
    def test_cancelled_task_ends_although_its_connection_is_lost(self) -> None:
        async def cancel() -> bool:
            task = asyncio.create_task(repeat(lose_connection, 600))
            await asyncio.sleep(0.05)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=WITHIN_S)
            return task in done and task.cancelled()

        assert asyncio.run(cancel())
