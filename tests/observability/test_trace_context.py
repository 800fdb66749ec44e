"""Tests of the trace context: its headers, and its continuation in logs, responses, outbound calls and jobs."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from requests.structures import CaseInsensitiveDict

from app.observability import correlation
from app.observability import logging as lines
from app.observability.tracing import tracer
from tests.support.doubles.otlp import Collector
from tests.support.git_hosts import Hosts, hosted_application, login_of
from tests.support.world import World

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
STATE = "congo=t61rcWkgMzE,rojo@vendor=00f067"


class TestParse:
    @pytest.mark.parametrize("flags", ["00", "01", "03"])
    def test_valid_headers_are_read(self, flags: str) -> None:
        context = correlation.parse_trace({"traceparent": f"00-{TRACE}-{SPAN}-{flags}", "tracestate": STATE})
        assert context == correlation.TraceContext(TRACE, SPAN, flags, STATE)
        assert context.headers() == {"traceparent": f"00-{TRACE}-{SPAN}-{flags}", "tracestate": STATE}

    def test_later_version_is_read_and_continued_as_version_00(self) -> None:
        context = correlation.parse_trace({"traceparent": f"cc-{TRACE}-{SPAN}-ff-what-follows"})
        assert context is not None
        assert context.headers() == {"traceparent": f"00-{TRACE}-{SPAN}-03"}

    @pytest.mark.parametrize(
        "parent",
        [
            "",
            "00",
            f"ff-{TRACE}-{SPAN}-01",
            f"00-{TRACE}-{SPAN}-01-more",
            f"00-{TRACE}-{SPAN}",
            f"00-{TRACE}-{SPAN}-1",
            f"00-{TRACE.upper()}-{SPAN}-01",
            f"00-{'0' * 32}-{SPAN}-01",
            f"00-{TRACE}-{'0' * 16}-01",
            f"00-{TRACE[:-1]}-{SPAN}-01",
            f"{PARENT}\n",
            f"{PARENT},{PARENT}",
            f"cc-{TRACE}-{SPAN}-01.more",
        ],
    )
    def test_invalid_parent_is_ignored_with_its_state(self, parent: str) -> None:
        assert correlation.parse_trace({"traceparent": parent, "tracestate": STATE}) is None

    @pytest.mark.parametrize(
        ("state", "expected"),
        [
            (" a=1 , , b=2 ", "a=1,b=2"),
            (",".join(f"k{number}=v" for number in range(33)), ""),
            ("a=" + "x" * 600, ""),
            ("a=ü", ""),
            ("A=1", ""),
            ("no-value", ""),
        ],
    )
    def test_state_is_passed_on_if_it_is_valid(self, state: str, expected: str) -> None:
        context = correlation.parse_trace({"traceparent": PARENT, "tracestate": state})
        assert context is not None
        assert context.state == expected


@pytest.fixture(params=["without-packages", "with-opentelemetry"])
def hosted(
    request: pytest.FixtureRequest, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Flask, Hosts]]:
    with Collector() as collector:
        if request.param == "with-opentelemetry":
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        try:
            with hosted_application(store, tmp_path) as (app, hosts):
                yield app, hosts
        finally:
            tracer.stop()


@contextmanager
def json_log(app: Flask, capsys: pytest.CaptureFixture[str]) -> Iterator[list[dict[str, Any]]]:
    """Yield a list that contains the log lines of the block at its end."""
    before, settings, content = logging.getLogger().handlers[:], app.config["SETTINGS"].log, []
    lines.configure("json", "DEBUG")
    try:
        yield content
        content += [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    finally:
        logging.getLogger().handlers = before
        lines.configure(settings.format, settings.level)


class TestContinuation:
    def test_trace_is_continued_in_log_response_and_jobs(
        self, hosted: tuple[Flask, Hosts], capsys: pytest.CaptureFixture[str]
    ) -> None:
        app, headers = hosted[0], {"traceparent": PARENT, "tracestate": STATE}
        body = {"name": "Ada", "email": "traced@mail.example.org", "password": "Quiet-Harbour-61"}
        with json_log(app, capsys) as content:
            answer = World(app).anonymous().post("/auth/sign-up/email", body, headers=headers)
            World(app).work_off()
        _, trace, span, flags = answer.headers["traceparent"].split("-")
        assert (trace, flags) == (TRACE, "01")
        assert span != SPAN
        [request] = [line for line in content if line["event"] == "request" and line.get("trace_id") == TRACE]
        assert (request["span_id"], request["trace_flags"]) == (span, "01")
        jobs = [line for line in content if line["event"] == "job.finished" and line["job"] == "auth.send_sign_up"]
        assert [line["trace_id"] for line in jobs] == [TRACE]
        assert jobs[0]["span_id"] not in (SPAN, span)
        assert "congo" not in json.dumps(content)

    def test_outbound_calls_of_a_request_continue_its_trace(self, hosted: tuple[Flask, Hosts]) -> None:
        app, hosts = hosted
        person, headers = World(app).person(), {"traceparent": PARENT, "tracestate": STATE}
        url = person.post("/api/auth/provider_b/start", {}).ok()["url"]
        state = parse_qs(urlsplit(url).query)["state"][0]
        body = {"code": hosts.gitlab.approve(url, login_of(person)), "state": state}
        hosts.gitlab.journal.clear()
        answer = person.post("/api/auth/provider_b", body, headers=headers)
        answer.ok()
        assert hosts.gitlab.journal
        contexts = [correlation.parse_trace(CaseInsensitiveDict(call.headers)) for call in hosts.gitlab.journal]
        assert {(context.trace_id, context.flags, context.state) for context in contexts if context} == {
            (TRACE, "01", STATE)
        }
        assert SPAN not in {context.span_id for context in contexts if context}
        assert None not in contexts

    @pytest.mark.parametrize("parent", [None, f"00-{TRACE}-{'0' * 16}-01"])
    def test_request_without_a_valid_parent_has_only_traces_of_opentelemetry(
        self, hosted: tuple[Flask, Hosts], parent: str | None
    ) -> None:
        headers = {"traceparent": parent} if parent else {}
        response = hosted[0].test_client().get("/api/v1/auth/get-session", headers=headers)
        assert ("traceparent" in response.headers) is tracer.is_on
        assert TRACE not in response.headers.get("traceparent", "")
        # The context of the previous request of a connection is not used again.
        hosted[0].test_client().get("/healthz", headers={"traceparent": PARENT})
        assert correlation.current_trace() is None
