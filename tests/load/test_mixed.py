"""Mixed traffic of four reads per write from a bounded number of clients, then three times the capacity, then recovery.

The service runs under gunicorn on PostgreSQL. `GALLEY_REQUESTS` replaces the number 20,000.
"""

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.load.traffic import Ask, TrafficResult, flood, steady
from tests.support import factories
from tests.support.databases import postgresql_database
from tests.support.servers.service import Service

REQUESTS, WARM_UP, CLIENTS, PEOPLE = int(os.environ.get("GALLEY_REQUESTS", "20000")), 2_000, 16, 8
FLOOD_S, FLOOD_CONNECTIONS, TIMES = 10.0, 800, 3
RECOVERY_S, GROWTH = 5.0, 1.05
FINE, REFUSALS = frozenset({200, 201}), frozenset({429, 503})


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with postgresql_database() as url, Service(tmp_path, DATABASE_URL=url) as made:
        yield made


def traffic(service: Service) -> list[Ask]:
    """Return the usual requests of a content system: 80 reads per 20 writes."""
    world, asks, v1 = service.world, [], "/api/v1"
    for _ in range(PEOPLE):
        who = world.person()
        name, _ = factories.repository(
            world, {f"posts/{n}.md": f"---\ntitle: Post {n}\n---\n# Post {n}\n".encode() for n in range(50)}
        )
        org = factories.organization(world, who)
        site = factories.project(world, who, org, name)
        asks += [
            Ask("session", "GET", f"{v1}/auth/get-session", who.token, 30),
            Ask("organizations", "GET", f"{v1}/organization/user", who.token, 12),
            Ask("project", "GET", f"{v1}/project/{site}", who.token, 12),
            Ask("tree", "GET", f"{v1}/project-content/{site}", who.token, 8),
            Ask("file", "GET", f"{v1}/project-content/{site}/file?file=posts/7.md", who.token, 12),
            Ask("log", "GET", f"{v1}/project-log/{site}?limit=20", who.token, 6),
            Ask("preference (write)", "PATCH", f"{v1}/user-preference/theme/{who.id}", who.token, 6, lambda: {"theme": "dark"}),
            Ask("log (write)", "POST", f"{v1}/project-log/{site}", who.token, 6, lambda: {"action": "update", "file": "posts/7.md"}),
            Ask("draft (write)", "PUT", f"{v1}/project-draft/{site}?file=posts/7.md", who.token, 8, lambda: {"content": secrets.token_hex(200)}),
        ]  # fmt: skip
    world.work_off(within_s=300)
    return asks


class TestMixedTraffic:
    def test_mixed_load_has_no_errors_and_overload_only_refusals_before_recovery(
        self, service: Service, capsys: pytest.CaptureFixture[str]
    ) -> None:
        asks = traffic(service)
        steady(service.port, asks, clients=CLIENTS, requests=min(WARM_UP, REQUESTS), seed=1)
        before_kib = service.memory_kib()
        seen = steady(service.port, asks, clients=CLIENTS, requests=REQUESTS, seed=2)
        grown = service.memory_kib() / before_kib
        capacity = seen.total / seen.elapsed_s
        over = flood(service.port, asks, rate=TIMES * capacity, seconds=FLOOD_S, connections=FLOOD_CONNECTIONS, seed=3)
        recovered_s, after = _recovery(service, asks)
        with capsys.disabled():
            print("\n" + "\n".join(_report(seen, capacity, grown, over, recovered_s)))
        assert (set(seen.statuses) <= FINE, dict(seen.unheard)) == (True, {})
        assert set(over.statuses) <= FINE | REFUSALS
        assert (dict(over.unheard), over.rude) == ({}, 0)
        assert (set(after.statuses) <= FINE, dict(after.unheard)) == (True, {})
        assert recovered_s <= RECOVERY_S
        assert grown <= GROWTH


def _recovery(service: Service, asks: list[Ask]) -> tuple[float, TrafficResult]:
    """Measure the seconds until all requests succeed after the overload."""
    started, deadline = time.monotonic(), time.monotonic() + 60
    while True:
        recovered_s = time.monotonic() - started
        after = steady(service.port, asks, clients=4, requests=60, seed=4)
        if (set(after.statuses) <= FINE and not after.unheard) or time.monotonic() > deadline:
            return recovered_s, after


def _report(seen: TrafficResult, capacity: float, grown: float, over: TrafficResult, recovered_s: float) -> list[str]:
    groups = [
        f"  {group}: p50 {seen.quantile_ms(group, 0.5):.0f} ms, p99 {seen.quantile_ms(group, 0.99):.0f} ms ({len(took)})"
        for group, took in sorted(seen.took_s.items())
    ]
    return [
        f"{seen.total} requests by {CLIENTS} clients: {dict(seen.statuses)}, {capacity:.0f} a second",
        *groups,
        f"memory of the server grew to {grown:.3f} of what it was (at most {GROWTH})",
        f"{TIMES} times as much for {over.elapsed_s:.0f} s: {dict(over.statuses)}, unheard {dict(over.unheard)}",
        f"recovered {recovered_s:.1f} s after its end (at most {RECOVERY_S:.0f})",
    ]
