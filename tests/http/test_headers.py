"""Tests of the maximum size of request headers."""

import pytest
from flask import Flask

from app.core.limits import InputLimits

pytestmark = pytest.mark.one_database


class TestSize:
    def test_headers_above_the_total_size_receive_431(self, app: Flask) -> None:
        headers = {f"X-{number}": "a" * 4000 for number in range(6)}
        response = app.test_client().get("/healthz", headers=headers)
        assert (response.status_code, (response.json or {})["code"]) == (431, "HEADERS_TOO_LARGE")

    def test_headers_below_the_total_size_are_accepted(self, app: Flask) -> None:
        response = app.test_client().get("/healthz", headers={"X-A": "a" * (InputLimits.header_bytes // 2)})
        assert response.status_code == 200
