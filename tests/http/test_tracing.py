"""Tests of the traces of requests, statements, outbound calls and jobs that a collector receives."""

import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.observability.tracing import tracer
from tests.support.databases import another_database
from tests.support.doubles.otlp import Collector
from tests.support.git_hosts import Hosts, hosted_application
from tests.support.world import World

ROOT = Path(__file__).resolve().parents[2]
SECRET = "very-secret-value"


@pytest.fixture
def traced(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Flask, Hosts, Collector]]:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        try:
            with hosted_application(store, tmp_path) as (app, hosts):
                yield app, hosts, collector
        finally:
            tracer.stop()


def attributes_of(span: Any) -> dict[str, Any]:
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


class TestTraces:
    def test_request_with_its_statements_calls_and_job_is_one_trace(
        self, traced: tuple[Flask, Hosts, Collector]
    ) -> None:
        app, _, collector = traced
        world = World(app)
        email = f"traced-{SECRET}@mail.example.org"
        answer = world.anonymous().post(
            f"/auth/sign-up/email?note={SECRET}",
            {"email": email, "password": f"{SECRET}-Passes", "name": "Traced"},
            headers={"X-Request-Id": "a-request-of-mine", "X-Note": SECRET},
        )
        answer.ok(200, 201)
        world.work_off()
        tracer.stop()
        spans = collector.spans()
        (request,) = [one for one in spans if attributes_of(one).get("http.route") == "/api/v1/auth/sign-up/email"]
        assert attributes_of(request)["http.request.method"] == "POST"
        assert attributes_of(request)["http.response.status_code"] in (200, 201)
        assert attributes_of(request)["galley.request_id"] == "a-request-of-mine"
        same = [one for one in spans if one.trace_id == request.trace_id]
        jobs = [one for one in same if one.name.startswith("job ")]
        assert jobs
        statements = [one for one in same if "db.query.text" in attributes_of(one)]
        assert {one.parent_span_id for one in statements} >= {request.span_id, jobs[0].span_id}
        assert SECRET.encode() not in b"".join(map(_plain, collector.bodies))

    def test_outbound_call_span_contains_the_host_only(self, traced: tuple[Flask, Hosts, Collector]) -> None:
        app, hosts, collector = traced
        from tests.support.git_hosts import connect_gitlab

        connect_gitlab(World(app).person(), hosts)
        tracer.stop()
        outgoing = [one for one in collector.spans() if "server.address" in attributes_of(one)]
        assert outgoing
        assert {frozenset(attributes_of(one)) for one in outgoing} == {frozenset({"server.address"})}
        sent = b"".join(map(_plain, collector.bodies))
        assert not [token for token in hosts.gitlab.grants if token.encode() in sent]

    @pytest.mark.slow
    def test_process_without_a_collector_does_not_import_opentelemetry(self, tmp_path: Path) -> None:
        program = (
            "import sys; from app.factory import create_app; from config import Settings; from pathlib import Path\n"
            f"app = create_app(Settings.for_tests(Path({str(tmp_path)!r})))\n"
            "app.test_client().get('/healthz')\n"
            # The Redis client imports the metrics of OpenTelemetry if they are installed.
            "sys.exit(any(name.startswith(('opentelemetry.sdk.trace', 'opentelemetry.exporter')) for name in sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env={"PATH": "/usr/bin:/bin"}, check=False)
        assert done.returncode == 0

    def test_collector_without_opentelemetry_disables_tracing(
        self, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
        monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
        with another_database(store, tmp_path):
            tracer.start()
        assert not tracer.is_on


def _plain(body: bytes) -> bytes:
    return gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
