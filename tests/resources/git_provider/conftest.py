"""The application of these tests is one whose Git hosts are doubles."""

import pytest
from flask import Flask

from tests.support.git_hosts import Hosts


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    """The application."""
    return hosted[0]
