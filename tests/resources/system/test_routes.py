"""Tests of the system endpoints."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from app.core.rates import RateLimits
from app.drivers.jobs.port import QueueCounts
from app.drivers.storage.local import LocalStore
from app.extensions import db
from app.factory import create_app
from app.http.streaming import response
from app.rate_limiting.counter import RateCounter
from app.resources.system import health
from config import Settings
from tests.faults.small_disk import SmallDisk
from tests.support.world import World


class TestHealth:
    def test_healthz_returns_status_and_uptime_without_a_database(self, tmp_path: Path) -> None:
        unreachable = "postgresql+psycopg://nobody@127.0.0.1:9/none"
        app = create_app(Settings.for_tests(tmp_path, DATABASE_URL=unreachable))
        answer = app.test_client().get("/healthz", headers={"Cookie": "session_token=abc"})
        assert answer.status_code == 200
        assert set(answer.get_json()) == {"status", "uptime"}


class TestReadiness:
    def test_readyz_returns_the_state_of_each_dependency(self, world: World) -> None:
        told = world.anonymous().get("/readyz").json
        assert told["status"] in ("ok", "degraded")
        states = {name: check["state"] for name, check in told["checks"].items()}
        assert states | {"jobs": ""} == {"database": "ok", "storage": "ok", "disk": "ok", "jobs": ""}
        assert set(told["checks"]["jobs"]) == {"state", "waiting", "dead", "lag_s", "worker_seen_s"}

    @pytest.mark.parametrize(
        ("counts", "state", "status"),
        [
            (QueueCounts(3, 1, 0, 0.2, 5.0), "ok", "ok"),
            (QueueCounts(3, 1, 0, 90.0, 5.0), "late", "degraded"),
            (QueueCounts(3, 0, 0, 0.0, 90.0), "late", "degraded"),
            (QueueCounts(3, 0, 0, 0.0, None), "late", "degraded"),
            (QueueCounts(0, 0, 0, 0.0, None), "late", "ok"),
        ],
    )
    def test_late_jobs_degrade_the_status(
        self, app: Flask, tmp_path: Path, counts: QueueCounts, state: str, status: str
    ) -> None:
        class Queue:
            def counts(self, _connection: object) -> QueueCounts:
                return counts

        with app.app_context():
            told, code = health.check_dependencies(Queue(), LocalStore(tmp_path), RateCounter(), ending=False)
        assert (told["checks"]["jobs"]["state"], told["status"], code) == (state, status, 200)

    def test_missing_redis_degrades_the_status(self, app: Flask, tmp_path: Path) -> None:
        gone = RateCounter(redis_url="redis://127.0.0.1:9/0")
        with app.app_context():
            told, code = health.check_dependencies(app.extensions["jobs"], LocalStore(tmp_path), gone, ending=False)
        assert (told["checks"]["redis"], told["status"], code) == ({"state": "down"}, "degraded", 200)

    def test_missing_store_degrades_the_status(self, app: Flask, tmp_path: Path) -> None:
        (tmp_path / "media").write_text("a file where a folder should be")
        with app.app_context():
            told, code = health.check_dependencies(
                app.extensions["jobs"], LocalStore(tmp_path / "media"), RateCounter(), ending=False
            )
        assert (told["checks"]["storage"], told["status"], code) == ({"state": "down"}, "degraded", 200)

    def test_readyz_on_a_full_disk_is_degraded(self, app: Flask, tmp_path: Path) -> None:
        with SmallDisk(tmp_path / "small", size_mib=1), app.app_context():
            state, status = health.check_dependencies(
                app.extensions["jobs"], LocalStore(tmp_path), RateCounter(), ending=False, folders=[tmp_path / "small"]
            )
        assert (state["checks"]["disk"], state["status"], status) == ({"state": "full"}, "degraded", 200)

    def test_readyz_counts_the_address(self, app: Flask, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(app.extensions, "rates", counter := RateCounter())
        [rate] = RateLimits().readiness_address
        for _ in range(rate.times):
            counter.try_acquire((rate,), "readiness_address", "127.0.0.1")
        world.anonymous().get("/readyz").fails(429, "TOO_MANY_REQUESTS")

    def test_missing_database_returns_503(self, tmp_path: Path) -> None:
        unreachable = "postgresql+psycopg://nobody@127.0.0.1:9/none"
        app = create_app(Settings.for_tests(tmp_path, DATABASE_URL=unreachable))
        answer = app.test_client().get("/readyz")
        assert answer.status_code == 503
        assert answer.get_json()["checks"]["database"]["state"] == "down"

    def test_ending_process_returns_503(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(response, "draining", lambda: True)
        answer = world.app.test_client().get("/readyz")
        assert (answer.status_code, answer.get_json()) == (503, {"status": "ending", "checks": {}})


class TestMetrics:
    @pytest.fixture
    def metrics_app(self, app: Flask, tmp_path: Path) -> Iterator[Flask]:
        url = app.config["SETTINGS"].database.url
        metrics_app = create_app(Settings.for_tests(tmp_path, DATABASE_URL=url, METRICS_TOKEN="m" * 32))
        yield metrics_app
        with metrics_app.app_context():
            db.engine.dispose()

    @pytest.mark.one_database
    def test_without_a_configured_token_returns_404(self, world: World) -> None:
        assert world.app.test_client().get("/metrics").status_code == 404

    def test_wrong_token_returns_403(self, metrics_app: Flask) -> None:
        for header in ({}, {"Authorization": "Bearer wrong"}):
            assert metrics_app.test_client().get("/metrics", headers=header).status_code == 403

    def test_metrics_contain_requests_by_route_and_the_queue(self, metrics_app: Flask) -> None:
        client = metrics_app.test_client()
        client.get("/api/v1/organization/org_x")
        text = client.get("/metrics", headers={"Authorization": "Bearer " + "m" * 32}).get_data(as_text=True)
        assert re.search(
            r'galley_requests_total\{method="GET",route="/api/v1/organization/<org_id>",status="401"\}', text
        )
        assert 'galley_jobs{state="waiting"}' in text
        assert "galley_database_up 1.0" in text


class TestWelcome:
    def test_welcome_page_links_to_the_documentation(self, world: World) -> None:
        answer = world.app.test_client().get("/")
        assert answer.mimetype == "text/plain"
        assert "/api/v1/docs" in answer.get_data(as_text=True)
