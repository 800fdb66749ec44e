"""Tests of `flask billing`."""

from datetime import UTC, datetime

from tests.support.doubles.paddle import Paddle
from tests.support.doubles.paddle_data import START, adjustment, customer, event, subscription, transaction
from tests.support.doubles.server import Fault, Reply
from tests.support.payments import app, faultless, notify, paddle, settings
from tests.support.world import World

__all__ = ["app", "faultless", "paddle", "settings"]


class TestSummary:
    def test_summary_prints_tables(self, world: World) -> None:
        data = subscription(1_200_000, currency="HUF", cycle={"interval": "year", "frequency": 1})
        paid = transaction(1_200_000, of=data, currency="HUF")
        for kind, entity in (
            ("subscription.created", data),
            ("transaction.completed", paid),
            ("adjustment.created", adjustment(paid, 200_000)),
        ):
            notify(world, event(kind, entity, START)).ok()
        options = ["billing", "summary", "--from", "2026-01-01", "--to", "2026-02-28", "--currency", "HUF"]
        result = world.app.test_cli_runner().invoke(args=options)
        assert result.exit_code == 0, result.output
        lines = result.output.splitlines()
        assert lines[0] == "2026-01-01 to 2026-02-28"
        assert lines[2].split() == ["active", "trialing", "new", "canceled", "churn", "pre-orders"]
        assert lines[3].split()[:5] == ["1", "0", "1", "0", "0.00%"]
        assert lines[5] == "currency      mrr        arr    revenue  refunds  net_revenue     arpu  active"
        assert lines[6] == "HUF       100,000  1,200,000  1,200,000  200,000    1,000,000  100,000       1"
        assert lines[9].split() == ["HUF", "Pro", "100,000", "1"]
        assert [line.split() for line in lines[12:]] == [
            ["HUF", "2026-01", "1,200,000", "200,000", "100,000"],
            ["HUF", "2026-02", "0", "0", "100,000"],
        ]

    def test_summary_with_reversed_days_is_refused(self, world: World) -> None:
        result = world.app.test_cli_runner().invoke(
            args=["billing", "summary", "--from", "2026-02-01", "--to", "2026-01-01"]
        )
        assert result.exit_code == 1
        assert "after the last" in result.output


class TestReconcile:
    def test_reconcile_prints_the_number_of_applied_events(self, world: World, paddle: Paddle) -> None:
        payload = event("customer.created", customer("a@mail.example.org"), datetime.now(UTC))
        paddle.kept["events"].clear()
        paddle.add(payload)
        runner = world.app.test_cli_runner()
        assert "1 checked, 1 applied." in runner.invoke(args=["billing", "reconcile"]).output
        assert "1 checked, 0 applied." in runner.invoke(args=["billing", "reconcile", "--days", "90"]).output

    def test_reconcile_with_a_failing_provider_prints_the_reason(self, world: World, paddle: Paddle) -> None:
        paddle.faults.append(Fault("GET", reply=Reply(403)))
        result = world.app.test_cli_runner().invoke(args=["billing", "reconcile"])
        assert result.exit_code == 1
        assert "rejected the credentials or failed" in result.output
