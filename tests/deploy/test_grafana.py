"""Tests of the dashboard and the alerts: Prometheus accepts them, they use existing metrics, and each alert fires."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from flask import Flask

from app.extensions import db
from app.factory import create_app
from config import Settings
from tests.serving.processes import ROOT
from tests.support.programs import required_program
from tests.support.world import World

pytestmark = pytest.mark.one_database

FOLDER = ROOT / "deploy" / "grafana"
UNIT_TESTS = ROOT / "tests" / "deploy" / "alerts.yaml"
SUFFIXES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
NAME = re.compile(r"\bgalley_[a-z_]+")


def dashboard() -> list[str]:
    """Return the queries of the dashboard."""
    content = json.loads((FOLDER / "galley.json").read_text())
    return [target["expr"] for panel in content["panels"] for target in panel["targets"]]


def promtool(*arguments: str | Path) -> None:
    """Run promtool. Its output is the message of a failure."""
    program = required_program("promtool", package="prometheus")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def alerts() -> list[str]:
    """Return the conditions of the alerts."""
    content = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
    return [rule["expr"] for group in content["groups"] for rule in group["rules"]]


@pytest.fixture
def text(app: Flask, world: World, tmp_path: Path) -> Iterator[str]:
    """Return the response of /metrics after a worker run and an unusual request."""
    world.work_off()
    settings = Settings.for_tests(tmp_path, DATABASE_URL=app.config["SETTINGS"].database.url, METRICS_TOKEN="m" * 32)
    measured = create_app(settings)
    client = measured.test_client()
    client.open("/api/v1/organization/org_x", method="BREW")
    client.get("/api/v1/user/profile")
    yield client.get("/metrics", headers={"Authorization": "Bearer " + "m" * 32}).get_data(as_text=True)
    with measured.app_context():
        db.session.remove()
        db.engine.dispose()


def names(text: str) -> set[str]:
    told = re.findall(r"^# TYPE (galley_\w+) (\w+)$", text, re.MULTILINE)
    return {name + suffix for name, kind in told for suffix in SUFFIXES[kind] if not name.endswith("_created")}


class TestPrometheus:
    def test_shipped_rules_are_valid(self) -> None:
        promtool("check", "rules", *FOLDER.glob("*.yaml"))

    def test_queries_of_the_dashboard_are_valid(self, tmp_path: Path) -> None:
        rules = [{"record": f"dashboard:{number}", "expr": query} for number, query in enumerate(dashboard())]
        (tmp_path / "dashboard.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
        promtool("check", "rules", tmp_path / "dashboard.yaml")

    def test_each_alert_is_silent_then_fires(self) -> None:
        promtool("test", "rules", UNIT_TESTS)
        [group] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
        tested = [rule for each in yaml.safe_load(UNIT_TESTS.read_text())["tests"] for rule in each["alert_rule_test"]]
        for has_fired in (False, True):
            names = {rule["alertname"] for rule in tested if bool(rule["exp_alerts"]) is has_fired}
            assert names == {rule["alert"] for rule in group["rules"]}


class TestGrafana:
    @pytest.mark.parametrize("queries", [dashboard, alerts])
    def test_queries_name_existing_metrics(self, text: str, queries: "type[list[str]]") -> None:
        asked = {name for query in queries() for name in NAME.findall(query)}
        assert asked
        assert asked - names(text) == set()

    def test_dashboard_contains_every_metric(self, text: str) -> None:
        shown = {name for query in dashboard() for name in NAME.findall(query)}
        assert {name for name in names(text) if not name.endswith(("_sum", "_count"))} - shown == set()

    def test_labels_have_a_closed_set_of_values(self, text: str) -> None:
        assert "BREW" not in text
        assert 'method="other"' in text
