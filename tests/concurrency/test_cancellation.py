"""Tests of the cancellation of a wait."""

from app.concurrency.cancellation import Cancellation


class TestCancellation:
    def test_cancel_ends_the_present_wait(self) -> None:
        ended: list[str] = []
        cancellation = Cancellation()
        cancellation.on_cancel(lambda: ended.append("first"))
        cancellation.on_cancel(lambda: ended.append("second"))
        assert not cancellation.cancelled
        cancellation.cancel()
        assert cancellation.cancelled
        assert ended == ["second"]

    def test_cancel_ends_a_later_wait_immediately(self) -> None:
        ended: list[str] = []
        cancellation = Cancellation()
        cancellation.cancel()
        cancellation.on_cancel(lambda: ended.append("late"))
        assert ended == ["late"]

    def test_cancel_ignores_a_completed_wait(self) -> None:
        ended: list[str] = []
        cancellation = Cancellation()
        cancellation.on_cancel(lambda: ended.append("over"))
        cancellation.on_cancel(None)
        cancellation.cancel()
        assert ended == []
