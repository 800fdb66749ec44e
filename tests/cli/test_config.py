"""Tests of `flask config`."""

import pytest
from flask import Flask

pytestmark = pytest.mark.one_database


class TestCheck:
    def test_check_prints_every_setting_and_no_secret(self, app: Flask) -> None:
        printed = app.test_cli_runner().invoke(args=["config", "check"]).output
        settings = app.config["SETTINGS"]
        assert len(printed.splitlines()) == len(settings.masked())
        assert settings.security.secret_key not in printed
