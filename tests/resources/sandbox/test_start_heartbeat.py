"""Tests of the heartbeat of a sandbox start."""

import threading

import pytest
import sqlalchemy as sa
from flask import Flask

from app.resources.sandbox import service
from app.resources.sandbox.host_sync import start_heartbeat


def test_start_heartbeat_failed_write_is_repeated(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exhausted pool or a locked database does not end the heartbeat."""
    faults: list[Exception] = [sa.exc.TimeoutError(), sa.exc.OperationalError("", None, Exception())]
    recorded = threading.Event()

    def record(_sandbox_id: str, _start_id: str) -> None:
        if faults:
            raise faults.pop()
        recorded.set()

    monkeypatch.setattr(service, "record_start_heartbeat", record)
    with app.app_context(), start_heartbeat("sbx_any", "start", interval_s=0.01):
        assert recorded.wait(30)
