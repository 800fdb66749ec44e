"""Tests of `flask storage verify`."""

from datetime import timedelta
from io import BytesIO

import pytest
from flask import Flask

from app.core import clock
from app.extensions import db, drivers
from app.models.project import Project
from app.models.site_build import SiteBuildFile
from app.resources.site_build.service import request
from app.resources.site_build.storing import object_key
from tests.support import factories
from tests.support.world import World


def build_of(world: World, app: Flask, *hashes: str) -> str:
    """Create a build whose files have these contents, without objects. Return the project."""
    owner = world.person()
    name, _ = factories.repository(world, {"index.html": b"x"})
    project = factories.project(world, owner, factories.organization(world, owner), name)
    with app.app_context():
        build, _ = request(db.session.get_one(Project, project), "1" * 40, user_id=None, limit_mb=10)
        for sha256 in hashes:
            file = SiteBuildFile(build_id=build.id, project_id=project, path=sha256, sha256=sha256)
            file.size, file.mimetype = 1, "text/plain"
            db.session.add(file)
        db.session.commit()
    return project


def store(app: Flask, *keys: str) -> None:
    with app.app_context():
        for key in keys:
            drivers.storage.put(key, BytesIO(b"x"), mimetype="text/plain")


@pytest.fixture
def tomorrow(monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.now() + timedelta(days=2)
    monkeypatch.setattr(clock, "now", lambda: now)


def test_objects_without_a_row_are_removed_after_a_day(world: World, app: Flask, tomorrow: None) -> None:
    project = build_of(world, app, "a" * 64)
    own, other = object_key(project, "a" * 64), object_key(project, "b" * 64)
    store(app, own, other)
    runner = app.test_cli_runner()
    result = runner.invoke(args=["storage", "verify"])
    assert (result.exit_code, "1 without a row, 0 missing" in result.output) == (0, True), result.output
    with app.app_context():
        assert drivers.storage.head(other) is not None, "nothing is removed without the option"
    assert runner.invoke(args=["storage", "verify", "--remove"]).exit_code == 0
    with app.app_context():
        assert drivers.storage.head(other) is None
        assert drivers.storage.head(own) is not None
        drivers.storage.delete(own)


def test_missing_object_is_an_error(world: World, app: Flask) -> None:
    project = build_of(world, app, "c" * 64)
    new = object_key(project, "d" * 64)
    store(app, new)
    result = app.test_cli_runner().invoke(args=["storage", "verify", "--remove"])
    assert result.exit_code == 1
    assert object_key(project, "c" * 64) in result.output
    with app.app_context():
        assert drivers.storage.head(new) is not None, "a new object may belong to an output that is being stored"
        drivers.storage.delete(new)
