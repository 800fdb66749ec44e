"""Fixtures of the tests with doubles of Git hosts."""

import pytest
from flask import Flask

from tests.support.git_hosts import Hosts


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    """The application whose Git hosts are doubles."""
    return hosted[0]
