"""Tests of the propagation of request ids to the log lines of jobs."""

import json
import logging

import pytest
from flask import Flask

from app.observability import logging as lines
from tests.support.world import World


class TestRequestIds:
    def test_log_lines_of_a_job_contain_the_id_of_its_request(
        self, app: Flask, world: World, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = logging.getLogger().handlers[:]
        try:
            lines.configure("json", "DEBUG")
            body = {"email": "lines@mail.example.org", "password": "Quiet-Harbour-9", "name": "Lines"}
            world.anonymous().post("/auth/sign-up/email", body, headers={"X-Request-Id": "the-id-of-mine"})
            world.work_off(within_s=120)
            content = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
        finally:
            logging.getLogger().handlers = before
            lines.configure(app.config["SETTINGS"].log.format, app.config["SETTINGS"].log.level)
        jobs = [line for line in content if line["event"] == "job.finished"]
        assert "the-id-of-mine" in {line.get("request_id") for line in jobs}
        assert "Quiet-Harbour-9" not in json.dumps(content)
