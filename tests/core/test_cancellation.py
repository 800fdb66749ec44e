"""Giving a wait up."""

from app.core.cancellation import Cancellation


class TestCancellation:
    def test_wait_it_is_in_is_ended(self) -> None:
        ended: list[str] = []
        cancellation = Cancellation()
        cancellation.ends_with(lambda: ended.append("first"))
        cancellation.ends_with(lambda: ended.append("second"))
        assert not cancellation.cancelled
        cancellation.cancel()
        assert cancellation.cancelled
        assert ended == ["second"]

    def test_wait_that_begins_afterwards_is_ended_at_once(self) -> None:
        ended: list[str] = []
        cancellation = Cancellation()
        cancellation.cancel()
        cancellation.ends_with(lambda: ended.append("late"))
        assert ended == ["late"]

    def test_wait_that_is_over_is_left_alone(self) -> None:
        ended: list[str] = []
        cancellation = Cancellation()
        cancellation.ends_with(lambda: ended.append("over"))
        cancellation.ends_with(None)
        cancellation.cancel()
        assert ended == []
