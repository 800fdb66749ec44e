"""Billing summary over a million events on PostgreSQL.

The events are generated in the database: 50,000 subscriptions over 18 months, each with a start, renewals and payments.
Their periods, orders, refunds and totals equal the result of the projection.
"""

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest
import sqlalchemy as sa
from flask import Flask

from app.extensions import db
from app.resources.order.summary import Summary, summary
from tests.support.applications import application
from tests.support.databases import postgresql_database
from tests.support.payments import paying

EVENTS, SUBSCRIPTIONS = 1_000_000, 50_000
FIRST = datetime(2025, 1, 1, tzinfo=UTC)
ALLOWED_MS = 300
ROUNDS = 7

SUBSCRIBED = """
INSERT INTO subscriptions (id, customer_id, provider_id, plan, status, amount_minor, currency, "interval", frequency,
                           started_at, canceled_at, created_at, updated_at)
SELECT 'sub_' || n, 'ctm_' || n, 'sub_p' || n, (ARRAY['Starter', 'Pro', 'Team'])[1 + n % 3],
       CASE WHEN n % 4 = 0 THEN 'canceled' ELSE 'active' END, 900 + n % 5000,
       (ARRAY['USD', 'EUR', 'JPY'])[1 + n % 3], 'month', 1, at,
       CASE WHEN n % 4 = 0 THEN at + interval '120 days' END, at, at
FROM (SELECT n, :first + n % 500 * interval '1 day' AS at FROM generate_series(1, :subscriptions) AS n) AS made
"""
PERIODS = """
INSERT INTO subscription_periods (subscription_id, valid_from, valid_to, status, plan, amount_minor, currency,
                                  "interval", frequency, monthly_millionths)
SELECT id, started_at, started_at + interval '14 days', 'trialing', plan, amount_minor, currency, 'month', 1, 0
FROM subscriptions
UNION ALL
SELECT id, started_at + interval '14 days', started_at + interval '75 days', 'active', 'Starter', amount_minor / 2,
       currency, 'month', 1, amount_minor / 2 * 1000000 FROM subscriptions
UNION ALL
SELECT id, started_at + interval '75 days', canceled_at, 'active', plan, amount_minor, currency, 'month', 1,
       amount_minor * 1000000 FROM subscriptions
UNION ALL
SELECT id, canceled_at, NULL, 'canceled', plan, amount_minor, currency, 'month', 1, 0
FROM subscriptions WHERE canceled_at IS NOT NULL
"""
PAID = """
INSERT INTO orders (id, customer_id, provider_id, status, amount_minor, currency, completed_at, created_at, updated_at)
SELECT 'ord_' || p.n, 'ctm_' || s.n, 'txn_' || p.n, 'completed', s.amount_minor, s.currency, at, at, at
FROM (SELECT n, :first + n % 540 * interval '1 day' AS at, 1 + n % :subscriptions AS subscription
      FROM generate_series(1, :payments) AS n) AS p
JOIN (SELECT row_number() OVER () AS n, amount_minor, currency FROM subscriptions) AS s ON s.n = p.subscription
"""
REFUNDED = """
INSERT INTO refunds (provider_id, order_provider_id, customer_id, amount_minor, currency, approved_at, created_at,
                     updated_at)
SELECT 'adj_' || provider_id, provider_id, customer_id, amount_minor / 2, currency, completed_at, created_at, updated_at
FROM orders WHERE right(provider_id, 1) = '0'
"""
SUMMED = """
INSERT INTO billing_days (day, currency, revenue_minor, refunds_minor, billed_millionths, billed_count)
SELECT date_trunc('day', at), currency, sum(revenue), sum(refunds), sum(billed), sum(number)
FROM (SELECT completed_at, currency, amount_minor, 0, 0, 0 FROM orders
      UNION ALL SELECT approved_at, currency, 0, amount_minor, 0, 0 FROM refunds
      UNION ALL SELECT valid_from, currency, 0, 0, monthly_millionths, 1 FROM subscription_periods
                WHERE monthly_millionths > 0
      UNION ALL SELECT valid_to, currency, 0, 0, -monthly_millionths, -1 FROM subscription_periods
                WHERE monthly_millionths > 0 AND valid_to IS NOT NULL
     ) AS moved (at, currency, revenue, refunds, billed, number)
GROUP BY 1, 2
"""
TOLD = """
INSERT INTO billing_events (id, type, entity_id, occurred_at, state, received_at)
SELECT 'evt_' || n, CASE WHEN n % 2 = 0 THEN 'transaction.completed' ELSE 'subscription.updated' END,
       CASE WHEN n % 2 = 0 THEN 'txn_' || n / 2 ELSE 'sub_p' || n % :subscriptions END, :first, '{}', :first
FROM generate_series(1, :events) AS n
"""


def fill() -> None:
    """Generate all rows. The service's own engine ends a statement that takes longer than a request may."""
    data = {"first": FIRST, "subscriptions": SUBSCRIPTIONS, "payments": EVENTS // 2, "events": EVENTS}
    engine = sa.create_engine(db.engine.url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in (SUBSCRIBED, PERIODS, PAID, REFUNDED, SUMMED, TOLD):
            used = {name: value for name, value in data.items() if f":{name}" in statement}
            connection.execute(sa.text(statement), used)
        connection.execute(sa.text("VACUUM ANALYZE"))
    engine.dispose()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Build an application on a filled database."""
    home = tmp_path_factory.mktemp("bench")
    with postgresql_database() as url, application(paying(url, home, "http://127.0.0.1:9")) as app:
        with app.app_context():
            fill()
        yield app


def timed(first: date | None, last: date | None) -> tuple[float, Summary]:
    """Return the median of several runs in milliseconds."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        found = summary(first, last, None)
        taken.append((time.perf_counter() - start) * 1000)
        db.session.rollback()
    return sorted(taken)[ROUNDS // 2], found


@pytest.mark.parametrize(
    ("first", "last"), [(date(2025, 7, 1), date(2026, 6, 30)), (date(2025, 1, 1), date(2026, 6, 30))]
)
def test_summary_of_a_million_events_is_within_the_time_limit(filled: Flask, first: date, last: date) -> None:
    with filled.app_context():
        taken_ms, found = timed(first, last)
    active = found.active_subscriptions
    print(
        f"\nsummary {first} to {last}: {taken_ms:.0f} ms, allowed {ALLOWED_MS} ({EVENTS:,} events, {active:,} active)"
    )
    assert active > SUBSCRIPTIONS / 2
    assert taken_ms < ALLOWED_MS
