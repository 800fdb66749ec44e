"""Tests of `flask worker`."""

import pytest
from flask import Flask

from tests.cli.services import command


@pytest.mark.parametrize("at_once", ["0", "-1", "65"])
def test_worker_with_an_invalid_concurrency_is_refused(app: Flask, at_once: str) -> None:
    code, output = command(app, "worker", "--concurrency", at_once)
    assert (code, "is not in the range 1<=x<=64" in output) == (2, True)
