"""Fixtures of the media tests."""

import pytest
from flask import Flask

from app.drivers.storage.local import LocalStore
from tests.resources.bucket.uploads import OrganizationTeam
from tests.support.world import World


@pytest.fixture
def team(app: Flask, world: World) -> OrganizationTeam:
    return OrganizationTeam(app, world)


@pytest.fixture
def objects(app: Flask) -> LocalStore:
    """The store of the application under test."""
    store: LocalStore = app.extensions["drivers"].storage
    return store
