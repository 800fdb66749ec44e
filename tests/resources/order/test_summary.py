"""Tests that the billing summary equals figures that the test computes from generated subscriptions.

`GALLEY_LONG=1` generates 120 subscriptions instead of 48.
"""

import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.drivers.billing.paddle.values import read_event
from app.extensions import db
from app.models.order import PreOrder
from app.resources.order.event_store import store_event
from app.resources.order.schemas import SummarySchema
from app.resources.order.summary import summary
from tests.support.applications import application
from tests.support.databases import postgresql_database
from tests.support.doubles.paddle_data import Entity, adjustment, event, item, name, rfc3339, subscription, transaction
from tests.support.payments import paying

pytestmark = pytest.mark.slow

COUNT = 120 if os.environ.get("GALLEY_LONG") else 48
FIRST = datetime(2025, 1, 1, tzinfo=UTC)
DAYS = 548
CURRENCIES = ("EUR", "JPY", "USD")
PLANS = {"Starter": 900, "Pro": 2901, "Team": 9999}
CYCLES = {
    "month": {"interval": "month", "frequency": 1},
    "quarter": {"interval": "month", "frequency": 3},
    "year": {"interval": "year", "frequency": 1},
    "week": {"interval": "week", "frequency": 1},
}
A_MONTH = {"month": Fraction(1), "quarter": Fraction(1, 3), "year": Fraction(1, 12), "week": Fraction(52, 12)}
LENGTH = {"month": 30, "quarter": 91, "year": 365, "week": 7}
RANGES = [
    (date(2025, 1, 1), date(2026, 6, 30)),
    (date(2025, 3, 15), date(2025, 3, 15)),
    (date(2025, 2, 10), date(2026, 1, 31)),
    (date(2026, 2, 1), date(2026, 2, 28)),
    (date(2024, 1, 1), date(2024, 12, 31)),
    (date(2026, 5, 5), date(2027, 5, 5)),
]


@dataclass
class SubscriptionStory:
    """The history of one subscription: status changes, payments and refunds."""

    currency: str
    started: datetime
    turns: list[tuple[datetime, str, str, int, str]] = field(default_factory=list)
    paid: list[tuple[datetime, int]] = field(default_factory=list)
    back: list[tuple[datetime, int]] = field(default_factory=list)
    ended: datetime | None = None

    def at(self, moment: datetime) -> tuple[str, str, int, str] | None:
        """Return status, plan, amount and cycle before a time."""
        before = [state for state in self.turns if state[0] < moment]
        return max(before)[1:] if before else None

    def monthly(self, moment: datetime) -> Fraction:
        now = self.at(moment)
        return now[2] * A_MONTH[now[3]] if now is not None and now[0] == "active" else Fraction(0)


class HistoryGenerator:
    """Generator of subscription histories and their events."""

    def __init__(self) -> None:
        self.dice = random.Random(200)
        self.stories: list[SubscriptionStory] = []
        self.events: list[Entity] = []

    def write(self, number: int) -> None:
        dice, currency = self.dice, CURRENCIES[number % 3]
        start = FIRST + timedelta(days=dice.randrange(DAYS - 20), seconds=dice.randrange(86_400))
        cycle, plan = dice.choice([*CYCLES, "month", "month"]), dice.choice(list(PLANS))
        self.story, self.currency = SubscriptionStory(currency, start), currency
        self.data = subscription(status="trialing", currency=currency, cycle=CYCLES[cycle], started_at=start)
        self.plan, self.cycle, now = plan, cycle, start
        if dice.random() < 0.4:
            self.change_status("subscription.created", "trialing", now)
            now += timedelta(days=14)
            if dice.random() < 0.3:
                self.change_status("subscription.canceled", "canceled", now)
                return self.end(now)
            self.change_status("subscription.activated", "active", now)
        else:
            self.change_status("subscription.created", "active", now)
        return self.live(now)

    def live(self, now: datetime) -> None:
        """Pay in each billing period until the history ends, with random events between payments."""
        dice = self.dice
        while now < FIRST + timedelta(DAYS):
            self.pay(now)
            between = now + timedelta(days=LENGTH[self.cycle] * 0.6)
            happens = dice.random()
            if happens < 0.06:
                self.change_status("subscription.canceled", "canceled", between)
                return self.end(between)
            if happens < 0.14:
                self.plan = dice.choice(list(PLANS))
                self.change_status("subscription.updated", "active", between)
            elif happens < 0.20:
                self.change_status("subscription.paused", "paused", between)
                now = between + timedelta(days=dice.randrange(5, 60))
                self.change_status("subscription.resumed", "active", now)
                continue
            elif happens < 0.26:
                self.change_status("subscription.past_due", "past_due", between)
                self.change_status("subscription.updated", "active", between + timedelta(days=2))
            now += timedelta(days=LENGTH[self.cycle])
        return self.end(None)

    def change_status(self, kind: str, status: str, at: datetime) -> None:
        amount = PLANS[self.plan] * (10 if self.cycle == "year" else 1)
        items = [item(amount, plan=self.plan, currency=self.currency, cycle=CYCLES[self.cycle])]
        ended = rfc3339(at) if status == "canceled" else None
        self.events.append(event(kind, self.data | {"status": status, "items": items, "canceled_at": ended}, at))
        self.story.turns.append((at, status, self.plan, amount, self.cycle))

    def pay(self, at: datetime) -> None:
        amount = PLANS[self.plan] + self.dice.randrange(200)
        paid = transaction(amount, currency=self.currency, of=self.data, at=at)
        self.events.append(event("transaction.completed", paid, at))
        self.story.paid.append((at, amount))
        if self.dice.random() < 0.12:
            back, later = self.dice.randrange(1, amount + 1), at + timedelta(days=self.dice.randrange(40), hours=1)
            pending = adjustment(paid, back, status="pending_approval")
            self.events.append(event("adjustment.created", pending, at))
            if self.dice.random() < 0.8:
                self.events.append(event("adjustment.updated", pending | {"status": "approved"}, later))
                self.story.back.append((later, back))
        if self.dice.random() < 0.1:
            failed = transaction(amount, currency=self.currency, of=self.data, status="past_due")
            self.events.append(event("transaction.payment_failed", failed, at))

    def end(self, ended: datetime | None) -> None:
        self.story.ended = ended
        self.stories.append(self.story)


def round_half_up(value: Fraction) -> int:
    return int((value + Fraction(1, 2)) // 1)


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def expected_summary(stories: list[SubscriptionStory], first: date, last: date, only: str | None) -> dict[str, Any]:
    """Compute the summary from the histories without a database."""
    since, until = midnight(first), midnight(last + timedelta(1))
    stories = [story for story in stories if only in (None, story.currency)]
    new = sum(since <= story.started < until for story in stories)
    canceled = sum(story.ended is not None and since <= story.ended < until for story in stories)
    at_start = sum(story.monthly(since) > 0 for story in stories)
    values = {one: figures([s for s in stories if s.currency == one], since, until) for one in CURRENCIES}
    return {
        "from": first.isoformat(),
        "to": last.isoformat(),
        "currencies": {one: billed for one, billed in values.items() if billed is not None},
        "active_subscriptions": sum(story.monthly(until) > 0 for story in stories),
        "trialing_subscriptions": sum((story.at(until) or "?")[0] == "trialing" for story in stories),
        "new_subscriptions": new,
        "canceled_subscriptions": canceled,
        "churn_rate": round(canceled / at_start, 4) if at_start else 0.0,
    }


def figures(stories: list[SubscriptionStory], since: datetime, until: datetime) -> dict[str, Any] | None:
    if not any(story.started < until for story in stories):
        return None
    paid = [(at, amount) for story in stories for at, amount in story.paid if since <= at < until]
    back = [(at, amount) for story in stories for at, amount in story.back if since <= at < until]
    active = [story for story in stories if story.monthly(until) > 0]
    plans: dict[str, list[Fraction]] = defaultdict(list)
    for story in active:
        plans[story.at(until)[1]].append(story.monthly(until))
    mrr = round_half_up(sum((story.monthly(until) for story in stories), Fraction(0)))
    months, day = [], since
    while day < until:
        end = min(until, midnight((day.date().replace(day=1) + timedelta(31)).replace(day=1)))
        months.append(
            {
                "month": day.strftime("%Y-%m"),
                "revenue": sum(amount for at, amount in paid if day <= at < end),
                "refunds": sum(amount for at, amount in back if day <= at < end),
                "mrr": round_half_up(sum((story.monthly(end) for story in stories), Fraction(0))),
            }
        )
        day = end
    revenue, refunds = sum(amount for _, amount in paid), sum(amount for _, amount in back)
    return {
        "mrr": mrr, "arr": 12 * mrr, "revenue": revenue, "refunds": refunds, "net_revenue": revenue - refunds,
        "arpu": round_half_up(Fraction(mrr, len(active))) if active else 0, "active": len(active),
        "by_plan": [
            {"plan": plan, "mrr": round_half_up(sum(bills, Fraction(0))), "active": len(bills)} for plan, bills in sorted(plans.items())
        ],
        "by_month": months,
    }  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def billed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Flask, HistoryGenerator]]:
    """Return an application with a new database that contains the shuffled events of the subscriptions."""
    writer, home = HistoryGenerator(), tmp_path_factory.mktemp("billed")
    for number in range(COUNT):
        writer.write(number)
    if request.param == "sqlite":
        yield from _application_with_events(f"sqlite:///{home}/app.db", home, writer)
    else:
        with postgresql_database() as url:
            yield from _application_with_events(url, home, writer)


def _application_with_events(url: str, home: Any, writer: HistoryGenerator) -> Iterator[tuple[Flask, HistoryGenerator]]:
    with application(paying(url, home, "http://127.0.0.1:9")) as app:
        shuffled = list(writer.events)
        random.Random(1).shuffle(shuffled)
        with app.app_context():
            for payload in shuffled:
                store_event(read_event(payload))
            for days in (0, 31, 60, 400):
                db.session.add(PreOrder(plan=name("plan"), created_at=FIRST + timedelta(days)))
            db.session.commit()
        yield app, writer


def summary_of(app: Flask, first: date | None, last: date | None, only: str | None) -> dict[str, Any]:
    with app.app_context():
        shown: dict[str, Any] = SummarySchema().dump(summary(first, last, only))
    return shown


class TestSummary:
    def test_histories_contain_all_kinds_of_events(self, billed: tuple[Flask, HistoryGenerator]):
        kinds = Counter(payload["event_type"] for payload in billed[1].events)
        assert len(billed[1].stories) == COUNT
        assert {story.currency for story in billed[1].stories} == set(CURRENCIES)
        assert (
            min(kinds[f"subscription.{one}"] for one in ("activated", "paused", "resumed", "past_due", "canceled"))
            > COUNT / 8
        )
        assert kinds["adjustment.updated"] > COUNT / 3

    @pytest.mark.parametrize("only", [None, "EUR", "USD"])
    @pytest.mark.parametrize(("first", "last"), RANGES)
    def test_figures_equal_the_expected_summary(
        self, billed: tuple[Flask, HistoryGenerator], first: date, last: date, only: str | None
    ):
        app, writer = billed
        found = summary_of(app, first, last, only)
        at_all = [FIRST + timedelta(days) for days in (0, 31, 60, 400)]
        pre_orders = sum(midnight(first) <= at < midnight(last + timedelta(1)) for at in at_all)
        assert found == expected_summary(writer.stories, first, last, only) | {"pre_orders": pre_orders}

    def test_default_range_is_the_last_twelve_months(self, billed: tuple[Flask, HistoryGenerator]):
        with clock.shifted(datetime(2026, 6, 30, 12, tzinfo=UTC) - datetime.now(UTC)):
            found = summary_of(billed[0], None, None, None)
        assert found == summary_of(billed[0], date(2025, 6, 30), date(2026, 6, 30), None)

    def test_summary_runs_three_statements(self, billed: tuple[Flask, HistoryGenerator]):
        app, statements = billed[0], []
        with app.app_context():
            engine = db.engine

            def note(*given: Any) -> None:
                statements.append(given[2])

            sa.event.listen(engine, "before_cursor_execute", note)
            try:
                summary(date(2025, 1, 1), date(2026, 6, 30), None)
            finally:
                sa.event.remove(engine, "before_cursor_execute", note)
        assert len(statements) == 3
