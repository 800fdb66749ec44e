"""A node that builds one site at a time. The sandboxes of builds are stopped at the end of each test."""

from dataclasses import replace

import pytest
from flask import Flask

from config import Settings
from tests.resources.sandbox.conftest import stop_sandboxes as stop_sandboxes


@pytest.fixture(autouse=True)
def build_process(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Settings = app.config["SETTINGS"]
    sandbox = replace(settings.sandbox, build_processes=1)
    monkeypatch.setitem(app.config, "SETTINGS", replace(settings, sandbox=sandbox))
