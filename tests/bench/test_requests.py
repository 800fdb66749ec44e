"""Requests to the running service: CPU time of the server, compared with the same request to a peer.

Each server runs on the first core, the load on another. All requests are interleaved in one run. Only the CPU time of the
server processes counts, without that of PostgreSQL. Galley runs once on PostgreSQL and once on SQLite, with a log line
per request.
"""

import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import orjson
import pytest
import requests

from tests.bench import peers
from tests.bench.galley import JSON, PASSWORD, PROJECTS, TREE_FILES, Galley
from tests.bench.servers import Candidate, Comparison, Server, interleave, started
from tests.support.databases import postgresql_database

ROUNDS, REQUESTS, WARM_UP = 7, 200, 200
SIGN_INS, LATENCIES = 8, 300


@dataclass
class Peers:
    """The servers of a comparison, each None if it is not installed."""

    flask: Server
    better_auth: tuple[Server, str] | None
    directus: peers.Directus | None

    def session(self) -> Candidate | None:
        if self.better_auth is None:
            return None
        server, cookie = self.better_auth
        return Candidate("better-auth", server, "/api/auth/get-session", headers={"Cookie": cookie})

    def items(self, path: str = "", *, change: Callable[[], bytes] | None = None) -> Candidate | None:
        directus = self.directus
        if directus is None:
            return None
        url = f"/items/projects{path}".replace("/ID", f"/{directus.ids[0]}")
        candidate = Candidate("Directus", directus.server, url, headers=directus.headers | JSON)
        if change is not None:
            candidate.method, candidate.body = "PATCH", change
        return candidate


@pytest.fixture(scope="module")
def others(both: list[Galley]) -> Iterator[Peers]:
    gunicorn = Path(sys.executable).parent / "gunicorn"
    with ExitStack() as stack:
        flask = stack.enter_context(started([gunicorn, "-k", "gevent", "-b", "127.0.0.1:0", "bare:flask_app"]))
        databases = [stack.enter_context(postgresql_database()) for _ in range(2)]
        better_auth = stack.enter_context(peers.better_auth(databases[0]))
        yield Peers(flask, better_auth, stack.enter_context(peers.directus(databases[1])))


class TestRequests:
    def test_cpu_per_request_is_printed(
        self, both: list[Galley], others: Peers, capsys: pytest.CaptureFixture[str]
    ) -> None:
        numbers = itertools.count()
        constant = [each.get("/healthz") for each in both]
        lists = [each.get(f"/api/v1/project/orgs/{each.org}") for each in both]
        small = [each.get(f"/api/v1/project/orgs/{each.small_org}") for each in both]
        flask = Candidate("Flask", others.flask, "/")
        rows = [
            Comparison("/healthz with all hooks", constant, flask, 2.2),
            Comparison("get-session", [each.get("/api/v1/auth/get-session") for each in both], others.session(), 0.85),
            Comparison(
                "one project", [each.get(f"/api/v1/project/{each.projects[0]}") for each in both],
                others.items("/ID"), 0.35,
            ),
            Comparison(f"list of {PROJECTS} projects", lists, others.items(f"?limit={PROJECTS}&sort=project_name"), 0.60),
            Comparison("list of 1 project", small, others.items("?limit=1&sort=project_name"), 0.60),
            Comparison(
                "PATCH of a project", [each.rename() for each in both],
                others.items("/ID", change=lambda: orjson.dumps({"project_name": f"Name {next(numbers)}"})), 0.55,
            ),
            Comparison(f"tree of {TREE_FILES} files, 304", [each.known_tree() for each in both], flask, 5),
        ]  # fmt: skip
        interleave(rows, rounds=ROUNDS, times=REQUESTS, warm_up=WARM_UP)
        lines = ["\nCPU of the server per request, and the ratio to the peer", *(row.line() for row in rows)]
        for all_rows, one_row in zip(lists, small, strict=True):
            each_us = median(
                (many - one) / (PROJECTS - 1) * 1_000
                for many, one in zip(all_rows.rounds_ms, one_row.rounds_ms, strict=True)
            )
            lines.append(f"  each further row of the list, {all_rows.name}: {each_us:.1f} µs (goal ≤ 15)")
        with capsys.disabled():
            print("\n".join(lines))

    def test_delay_of_get_session_during_sign_ins_is_printed(
        self, both: list[Galley], capsys: pytest.CaptureFixture[str]
    ) -> None:
        lines = [f"\nget-session while {SIGN_INS} clients sign in repeatedly (goal: p99 ≤ 2.5 × idle)"]
        for each in both:
            idle_s = _latencies_s(each)
            with _signing_in(each) as sign_ins:
                busy_s = _latencies_s(each)
            idle, busy = (quantiles(values, n=100)[98] * 1_000 for values in (idle_s, busy_s))
            lines.append(
                f"  {each.name}: p99 {busy:.1f} ms, idle {idle:.1f} ms, {busy / idle:.2f} ×; {sign_ins[0]} sign-ins"
            )
        with capsys.disabled():
            print("\n".join(lines))

    def test_memory_after_all_load_is_printed(
        self, both: list[Galley], others: Peers, capsys: pytest.CaptureFixture[str]
    ) -> None:
        lines = ["\nresident memory of the web worker after this load (goal ≤ 180 MB)"]
        lines += [f"  {each.name}: {each.server.memory_mb()[0]:.0f} MB" for each in both]
        if others.directus is not None:
            lines.append(f"  Directus: {others.directus.server.memory_mb()[0]:.0f} MB")
        with capsys.disabled():
            print("\n".join(lines))


def _latencies_s(each: Galley) -> list[float]:
    client, taken = each.service.client(each.person), []
    for _ in range(LATENCIES):
        begun = time.perf_counter()
        assert client.get(f"{each.service.url}/api/v1/auth/get-session", timeout=30).ok
        taken.append(time.perf_counter() - begun)
        time.sleep(0.005)
    return taken


@contextmanager
def _signing_in(each: Galley) -> Iterator[list[int]]:
    """Sign in on `SIGN_INS` connections until the block ends. Yields the number of sign-ins."""
    stop, done = threading.Event(), [0]
    body = {"email": each.other.email, "password": PASSWORD}

    def repeat() -> None:
        client = requests.Session()
        while not stop.is_set():
            answer = client.post(f"{each.service.url}/api/v1/auth/sign-in/email", json=body, timeout=60)
            assert answer.ok or answer.status_code == 503, answer.text
            done[0] += answer.ok

    threads = [threading.Thread(target=repeat) for _ in range(SIGN_INS)]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        stop.set()
        for thread in threads:
            thread.join()
