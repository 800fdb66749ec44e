"""Saying that somebody is still at a sandbox's start."""

import threading

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.errors import Unavailable
from app.resources.sandbox import service, tending


def test_what_cannot_be_said_now_is_said_again(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an exhausted pool nor a database that others write to silences a process that is at work."""
    faults: list[Exception] = [sa.exc.TimeoutError(), Unavailable(), sa.exc.OperationalError("", None, Exception())]
    said = threading.Event()

    def tended(_sandbox_id: str) -> None:
        if faults:
            raise faults.pop()
        said.set()

    monkeypatch.setattr(tending, "SAID_EVERY_S", 0.01)
    monkeypatch.setattr(service, "tended", tended)
    with tending.tending(app, "sbx_any"):
        assert said.wait(30)
