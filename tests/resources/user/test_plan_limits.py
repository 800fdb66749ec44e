"""Tests of the creation limits that a plan raises."""

import secrets
from datetime import UTC, datetime

import pytest

from app.core.limits import Limits
from app.extensions import db
from app.models.order import Subscription
from app.resources.user.creation_limits import limits_for
from tests.support.world import Person, World

LIMITS = Limits(organizations=10, projects=100, projects_per_organization=25, members=50)
PLANS = {"Pro": {"projects": 300, "members": 40}, "Team": {"members": 500, "projects": 200}}
START = datetime(2026, 1, 1, tzinfo=UTC)


def subscribe(world: World, person: Person, plan: str, status: str = "active") -> None:
    with world.app.app_context():
        made = Subscription(
            user_id=person.id, customer_id="ctm_1", provider_id=f"sub_{secrets.token_hex(8)}", plan=plan, status=status,
            amount_minor=1, currency="USD", interval="month", frequency=1, started_at=START,
        )  # fmt: skip
        db.session.add(made)
        db.session.commit()


def numbers(world: World, person: Person) -> tuple[int, int, int, int]:
    with world.app.app_context():
        plan_limits = limits_for(person.id, limits=LIMITS, plans=PLANS)
    return plan_limits.organizations, plan_limits.projects, plan_limits.projects_per_organization, plan_limits.members


class TestLimitsFor:
    def test_limits_without_a_plan_are_the_defaults(self, world: World) -> None:
        subscribe(world, world.person(), "Pro")
        assert numbers(world, world.person()) == (10, 100, 25, 50)

    def test_plan_raises_limits_and_never_lowers_them(self, world: World) -> None:
        me = world.person()
        subscribe(world, me, "Pro")
        assert numbers(world, me) == (10, 300, 25, 50)

    def test_several_plans_apply_the_highest_limits(self, world: World) -> None:
        me = world.person()
        subscribe(world, me, "Pro")
        subscribe(world, me, "Team")
        assert numbers(world, me) == (10, 300, 25, 500)

    @pytest.mark.parametrize(
        ("status", "projects"),
        [("trialing", 300), ("past_due", 300), ("paused", 100), ("canceled", 100)],
    )
    def test_plan_applies_while_its_subscription_is_active_or_past_due(
        self, world: World, status: str, projects: int
    ) -> None:
        me = world.person()
        subscribe(world, me, "Pro", status)
        assert numbers(world, me)[1] == projects

    def test_unconfigured_plan_has_no_effect(self, world: World) -> None:
        me = world.person()
        subscribe(world, me, "Gift")
        assert numbers(world, me) == (10, 100, 25, 50)
