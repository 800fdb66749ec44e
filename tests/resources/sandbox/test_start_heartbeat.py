"""Saying that somebody is still at a sandbox's start."""

import threading

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.errors import ServiceUnavailable
from app.resources.sandbox import service, start_heartbeat


def test_what_cannot_be_said_now_is_said_again(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an exhausted pool nor a database that others write to silences a process that is at work."""
    faults: list[Exception] = [
        sa.exc.TimeoutError(),
        ServiceUnavailable(),
        sa.exc.OperationalError("", None, Exception()),
    ]
    said = threading.Event()

    def tended(_sandbox_id: str, _start_id: str) -> None:
        if faults:
            raise faults.pop()
        said.set()

    monkeypatch.setattr(start_heartbeat, "HEARTBEAT_INTERVAL_S", 0.01)
    monkeypatch.setattr(service, "record_start_heartbeat", tended)
    with app.app_context(), start_heartbeat.start_heartbeat("sbx_any", "start"):
        assert said.wait(30)
