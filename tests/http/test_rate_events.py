"""Tests of rates per hour and per day: exact on all nodes, across restarts, and for successful requests only."""

import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.core.errors import TooManyRequests
from app.core.rates import DAY, HOUR, Rate, RateLimits
from app.database import transactions
from app.extensions import db
from app.factory import create_app
from app.http import rate_limits
from app.models.request import RateEvent
from app.rate_limiting.counter import RateCounter
from app.resources.system.jobs import purge
from config import Settings
from tests.support import factories
from tests.support.world import Person, World

pytestmark = pytest.mark.slow

THREE = (Rate(3, HOUR),)


def strict(settings: Settings) -> Settings:
    """Return the settings of a production node with two workers and no Redis."""
    return replace(settings, server=replace(settings.server, rate_limit_scale=1.0, web_concurrency=2))


@pytest.fixture
def nodes(app: Flask, settings: Settings) -> Iterator[list[Flask]]:
    """Return two nodes on the database of the tests."""
    made = [create_app(strict(settings)) for _ in range(2)]
    yield made
    for node in made:
        with node.app_context():
            db.engine.dispose()


@pytest.fixture
def unscaled(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Flask:
    monkeypatch.setitem(app.config, "SETTINGS", strict(app.config["SETTINGS"]))
    monkeypatch.setitem(app.extensions, "rates", RateCounter())
    return app


@pytest.fixture
def key() -> str:
    return uuid.uuid4().hex


def record(app: Flask, key: str, rates: tuple[Rate, ...] = THREE) -> int:
    """Count an event in a separate transaction. Return the seconds to wait, or 0."""
    with app.app_context():
        try:
            with transactions.write_transaction():
                rate_limits.record_events(rates, "row", key)
        except TooManyRequests as refused:
            return int(refused.headers["Retry-After"])
        finally:
            db.session.remove()
    return 0


def recorded(app: Flask, name: str) -> int:
    with app.app_context():
        return db.session.scalar(sa.select(sa.func.count()).where(RateEvent.name == name)) or 0


class TestRecord:
    def test_record_above_the_rate_raises_with_the_remaining_time(self, unscaled: Flask, key: str) -> None:
        assert [record(unscaled, key) for _ in range(3)] == [0, 0, 0]
        assert HOUR - 60 <= record(unscaled, key) <= HOUR

    def test_record_after_the_window_has_passed_is_accepted(self, unscaled: Flask, key: str) -> None:
        with clock.shifted(timedelta(seconds=-HOUR + 30)):
            assert [record(unscaled, key) for _ in range(2)] == [0, 0]
        assert record(unscaled, key) == 0
        assert 1 <= record(unscaled, key) <= 30
        with clock.shifted(timedelta(seconds=31)):
            assert record(unscaled, key) == 0

    def test_record_compares_every_rate_of_the_row(self, unscaled: Flask, key: str) -> None:
        both = (Rate(2, HOUR), Rate(3, DAY))
        with clock.shifted(timedelta(hours=-2)):
            assert [record(unscaled, key, both) for _ in range(2)] == [0, 0]
        assert record(unscaled, key, both) == 0
        assert DAY - 2 * HOUR - 60 <= record(unscaled, key, both) <= DAY - 2 * HOUR

    def test_record_counts_each_key_separately(self, unscaled: Flask, key: str) -> None:
        assert [record(unscaled, name) for name in (key, key, key, key + "x")] == [0] * 4

    def test_record_applies_the_scale(self, app: Flask, key: str) -> None:
        assert [record(app, key) for _ in range(5)] == [0] * 5

    def test_record_on_two_nodes_in_parallel_never_exceeds_the_rate(self, nodes: list[Flask], key: str) -> None:
        rates, waits = (Rate(10, HOUR),), []

        def run(node: Flask) -> None:
            waits.extend(record(node, key, rates) for _ in range(5))

        threads = [threading.Thread(target=run, args=(node,)) for node in nodes * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert waits.count(0) == 10
        assert len(waits) == 20


class TestRequests:
    def as_user(self, node: Flask, person: Person) -> Person:
        return Person(node, person.id, person.email, person.token)

    def test_project_creations_of_two_nodes_share_the_rate(self, nodes: list[Flask], world: World) -> None:
        """The documented 20 projects per hour hold with two workers and without Redis."""
        owner = world.person()
        organization = factories.organization(world, owner)
        names = [factories.repository(world, {"index.html": b"<p>Hello</p>\n"})[0] for _ in range(21)]
        callers = [self.as_user(node, owner) for node in nodes]
        answers = []
        for number, name in enumerate(names):
            body = {
                "org_id": organization, "project_name": f"Project {number}", "provider": "local",
                "repository": name, "branch": "main",
            }  # fmt: skip
            answers.append(callers[number % 2].post("/project/create", body))
        assert [answer.status for answer in answers] == [201] * 20 + [429]
        wait_s = int(answers[-1].headers["Retry-After"])
        assert HOUR - 120 <= wait_s <= HOUR
        assert answers[-1].json["message"] == f"Too many requests. Try again in {-(-wait_s // 60)} minutes"

    def test_failed_requests_do_not_count(self, nodes: list[Flask], world: World) -> None:
        owner = world.person()
        organization = factories.organization(world, owner)
        caller = self.as_user(nodes[0], owner)
        body = {"org_id": organization, "project_name": "A", "provider": "local", "branch": "main"}
        for _ in range(22):
            assert caller.post("/project/create", body | {"repository": "none/absent"}).status in (404, 422)
        name, _ = factories.repository(world, {"index.html": b"<p>Hello</p>\n"})
        caller.post("/project/create", body | {"repository": name}).ok(201)

    def test_refused_requests_do_not_count(self, nodes: list[Flask], world: World) -> None:
        person = self.as_user(nodes[0], world.person())
        statuses = [person.post("/organization", {"org_name": f"Org {n}"}).status for n in range(12)]
        assert statuses == [201] * 10 + [429] * 2
        with clock.shifted(timedelta(seconds=HOUR + 60)):
            assert person.post("/organization", {"org_name": "Later"}).status != 429

    def test_invalid_body_does_not_count(self, nodes: list[Flask], world: World) -> None:
        person = self.as_user(nodes[0], world.person())
        statuses = {person.post("/organization", {}).status for _ in range(15)}
        assert statuses == {400}
        person.post("/organization", {"org_name": "Counted"}).ok(201)

    def test_rate_is_checked_before_the_body(self, nodes: list[Flask], world: World) -> None:
        person = self.as_user(nodes[0], world.person())
        for number in range(10):
            person.post("/organization", {"org_name": f"Org {number}"}).ok(201)
        person.call("POST", "/organization", data=b"{", content_type="text/plain").fails(429)


class TestRetention:
    def test_purge_deletes_events_older_than_a_day(self, app: Flask, key: str) -> None:
        with clock.shifted(timedelta(days=-2)):
            record(app, key)
        before = recorded(app, "row")
        record(app, key)
        with app.app_context():
            purge()
        assert recorded(app, "row") >= 1
        with app.app_context():
            oldest = db.session.scalar(sa.select(sa.func.min(RateEvent.created_at)))
        assert oldest is not None
        assert oldest > clock.now() - timedelta(days=1, minutes=1)
        assert before >= 1


class TestTable:
    def test_rows_of_the_table_are_counted_in_one_storage_each(self) -> None:
        for rates in vars(RateLimits()).values():
            assert len(rate_limits.short_rates(rates)) + len(rate_limits.long_rates(rates)) == len(rates)
