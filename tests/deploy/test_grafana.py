"""Tests of the dashboard and the alerts: they use existing metrics, and the dashboard contains every metric."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from flask import Flask

from app.extensions import db
from app.factory import create_app
from config import Settings
from tests.support.world import World

pytestmark = pytest.mark.one_database

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "grafana"
SUFFIXES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
NAME = re.compile(r"\bgalley_[a-z_]+")


def dashboard() -> list[str]:
    """Return the queries of the dashboard."""
    content = json.loads((FOLDER / "galley.json").read_text())
    return [target["expr"] for panel in content["panels"] for target in panel["targets"]]


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
