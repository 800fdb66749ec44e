"""Tests of log lines in the JSON format: values of every kind, without secrets."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import structlog
from flask import Flask

from app.content.marks import MarkRules, mark_file
from app.observability import logging as lines


@pytest.fixture
def _restored(app: Flask) -> Iterator[None]:
    before = logging.getLogger().handlers[:]
    yield
    settings = app.config["SETTINGS"].log
    lines.configure(settings.format, settings.level)
    logging.getLogger().handlers = before


@pytest.mark.usefixtures("_restored")
def test_json_line_contains_values_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    lines.configure("json", "INFO")
    at = datetime(2026, 1, 2, tzinfo=UTC)
    values = {"text": "é\n\u2028", "broken": "\ud800", "large": 1 << 70, "at": at, "numbers": {1: 2}, "token": "secret"}
    for name, value in values.items():
        structlog.get_logger("test").info("event", **{name: value})
    logging.getLogger("plain").warning("of the standard library")
    written = [json.loads(line) for line in capsys.readouterr().err.split("\n") if line.startswith("{")]
    assert [line.get(name) for name, line in zip(values, written, strict=False)] == [
        "é\n\u2028", "\ud800", 1 << 70, written[3]["at"], {"1": 2}, "[redacted]",
    ]  # fmt: skip
    assert "2026" in written[3]["at"]
    assert written[-1]["event"] == "of the standard library"


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_line_contains_no_credentials_of_a_url(capsys: pytest.CaptureFixture[str], log_format: str) -> None:
    lines.configure(log_format, "INFO")
    url = "https://wilma:hunter2@host.example.org/x?key=hunter3"
    log = structlog.get_logger("test")
    log.warning("test.call_failed", error=f"cannot connect to {url}")
    logging.getLogger("plain").warning("cannot connect to %s", url)
    if log_format == "json":
        try:
            int(url)
        except ValueError:
            log.exception("test.read_failed")
    written = capsys.readouterr().err
    assert written.count("********@host.example.org") >= 2
    assert "hunter" not in written


@pytest.mark.usefixtures("_restored")
def test_parser_of_markdown_logs_no_line_for_each_block(capsys: pytest.CaptureFixture[str]) -> None:
    lines.configure("console", "DEBUG")
    assert mark_file("content/a.md", b"# Title\n\nA text with words.\n", 0, MarkRules()) is not None
    assert "entering" not in capsys.readouterr().err
