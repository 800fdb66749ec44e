"""Tests of the creation limits of subscribers."""

from tests.support.doubles.paddle_data import event, subscription
from tests.support.payments import app, faultless, notify, paddle, settings
from tests.support.world import World

__all__ = ["app", "faultless", "paddle", "settings"]


class TestPlan:
    def test_plan_raises_the_creation_limit(self, world: World) -> None:
        me, another = world.person(), world.person()
        data = subscription(plan="Patron", user_id=me.id)
        notify(world, event("subscription.created", data)).ok()
        for person, most in ((me, 11), (another, 10)):
            assert person.post("/user/check-limits").ok()["organizations"]["limit"] == most
            for _ in range(most):
                person.new_organization()
            person.post("/organization", {"org_name": "One more"}).fails(403, "LIMIT_REACHED")

    def test_limits_of_an_organization_follow_the_plan_of_its_owner(self, world: World) -> None:
        me = world.person()
        org_id = me.new_organization()
        notify(world, event("subscription.created", subscription(plan="Patron", user_id=me.id))).ok()
        result = me.post("/user/check-limits").ok()
        assert result["projects"]["per_organization"][org_id]["limit"] == 26
        assert result["members"]["per_organization"][org_id]["limit"] == 51
