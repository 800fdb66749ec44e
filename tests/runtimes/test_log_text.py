"""Tests of logs as plain text."""

from app.runtimes.failure import log_tail


def test_log_tail_removes_escape_codes_and_keeps_the_end() -> None:
    log = "x" * 9000 + "\x1b[31mred\x1b[0m \x1b]8;;http://a\x07link\x1b]8;;\x07\x00\r\nlast é\n"
    tail = log_tail(log)
    assert tail.endswith("red link\nlast é\n")
    assert len(tail.encode()) <= 4096
    assert "\x1b" not in tail
