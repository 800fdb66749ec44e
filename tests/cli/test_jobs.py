"""Tests of `flask jobs`: list and retry of dead letters."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from app.core.jobs import Job, JobCall, PermanentFailure
from app.drivers.jobs.port import JobRun
from app.extensions import db
from config import Settings
from tests.cli.services import command
from tests.drivers.jobs.contract.suite import running_worker, until
from tests.support.applications import application
from tests.support.databases import another_database


@pytest.fixture
def quiet(store: str, tmp_path: Path) -> Iterator[Flask]:
    """Return an application without other jobs."""
    with another_database(store, tmp_path) as url, application(Settings.for_tests(tmp_path, DATABASE_URL=url)) as app:
        yield app


def fail(_call: JobRun) -> None:
    raise PermanentFailure("the repository is gone")


class TestJobs:
    def test_retry_of_a_dead_letter_enqueues_it_again(self, quiet: Flask) -> None:
        assert command(quiet, "jobs", "dead") == (0, "No job has failed permanently.\n")
        engine = quiet.extensions["jobs"]
        with quiet.app_context(), db.engine.begin() as connection:
            job_id = engine.defer(connection, JobCall("cli.hopeless", {"id": "x_1"}))
        with quiet.app_context(), running_worker(engine, fail, {"cli.hopeless": Job("cli.hopeless", print, retries=0)}):
            until(lambda: "cli.hopeless" in command(quiet, "jobs", "dead")[1])

        output = command(quiet, "jobs", "dead")[1]
        assert output.endswith("cli.hopeless  PermanentFailure: the repository is gone\n")
        assert "x_1" not in output
        assert command(quiet, "jobs", "retry", job_id) == (0, f"Job {job_id} waits again.\n")
        assert command(quiet, "jobs", "dead") == (0, "No job has failed permanently.\n")
        assert command(quiet, "jobs", "retry", job_id)[0] == 1

    @pytest.mark.parametrize("text", ["x", "0", "9" * 30, "123456789"])
    def test_retry_of_an_unknown_id_is_refused(self, quiet: Flask, text: str) -> None:
        assert command(quiet, "jobs", "retry", text)[0] != 0
