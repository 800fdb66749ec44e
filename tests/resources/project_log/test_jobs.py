"""Tests of the retention of the project log."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.core.ids import first_id
from app.extensions import db
from app.models.project_log import LogAction, LogSource, ProjectLogEntry
from app.resources.project_log import jobs
from app.resources.system import retention
from app.settings.providers import Retention
from tests.support import factories
from tests.support.world import World


def entry(project: str, file: str, days: float) -> ProjectLogEntry:
    at = clock.now() - timedelta(days=days)
    made_at = first_id("log", at)[:-6] + file[:6].rjust(6, "0")
    return ProjectLogEntry(
        id=made_at, project_id=project, action=LogAction.UPDATE, file=file, source=LogSource.CLIENT, created_at=at
    )


class TestRetention:
    @pytest.fixture
    def project(self, world: World) -> str:
        owner = world.person()
        name, _ = factories.repository(world, {"a.md": b"a\n"})
        project = factories.project(world, owner, factories.organization(world, owner), name)
        with world.app.app_context():
            for number in range(7):
                db.session.add(entry(project, f"old{number}", 30.1 + number))
            db.session.add(entry(project, "young", 29.9))
            db.session.commit()
        return project

    def remaining(self, app: Flask, project: str) -> list[str]:
        with app.app_context():
            found = db.session.query(ProjectLogEntry.file).filter_by(project_id=project).order_by(ProjectLogEntry.file)
            return [file for (file,) in found]

    def purge(self, app: Flask, days: int, monkeypatch: pytest.MonkeyPatch) -> None:
        settings = replace(app.config["SETTINGS"], retention=Retention(days))
        monkeypatch.setitem(app.config, "SETTINGS", settings)
        with app.app_context():
            jobs.purge_old_entries()
            db.session.commit()

    def test_purge_deletes_older_entries(self, app: Flask, project: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.purge(app, 30, monkeypatch)
        assert self.remaining(app, project) == ["young"]

    @pytest.mark.parametrize("batch_size", [3, 7, 2000])
    def test_purge_in_batches_deletes_all_matching_rows(self, app: Flask, project: str, batch_size: int) -> None:
        older = sa.and_(ProjectLogEntry.project_id == project, ProjectLogEntry.file.startswith("old"))
        with app.app_context():
            assert retention.purge(ProjectLogEntry, older, batch_size=batch_size) == 7
        assert self.remaining(app, project) == ["young"]

    def test_purge_without_a_retention_deletes_nothing(
        self, app: Flask, project: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert app.config["SETTINGS"].retention == Retention(0)
        self.purge(app, 0, monkeypatch)
        assert len(self.remaining(app, project)) == 8
