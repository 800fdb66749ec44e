"""Tests of the last line of the log in the events of a start."""

from app.resources.sandbox.host_sync import Shown


def test_line_of_a_log_follows_after_a_pause() -> None:
    shown = Shown(interval_s=60)
    assert shown.next_line("") is None
    assert shown.next_line("$ npm ci\n") == "$ npm ci"
    assert shown.next_line("$ npm ci\nadded 3 packages\n") is None


def test_line_of_a_log_is_shown_once() -> None:
    shown = Shown(interval_s=0)
    assert shown.next_line("$ npm ci\nadded 3 packages\n\n") == "added 3 packages"
    assert shown.next_line("$ npm ci\nadded 3 packages\n") is None
