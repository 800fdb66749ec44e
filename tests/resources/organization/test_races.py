"""Organizations when many requests come at the same time."""

from functools import partial

from tests.support.parallel import THREADS, patiently, statuses, together
from tests.support.world import Person, World


def _many(me: Person, method: str, path: str, *bodies: dict[str, object]) -> dict[int, int]:
    """Send the bodies in turn from 50 threads; how often each status was answered."""
    requests = (partial(me.again().call, method, path, bodies[index % len(bodies)]) for index in range(THREADS))
    return statuses(together([patiently(request) for request in requests]))


class TestCreate:
    def test_at_one_below_the_limit_exactly_one_is_made(self, world: World) -> None:
        me = world.person()
        for _ in range(9):
            me.new_organization()
        bodies = [{"org_name": f"Racer {number}"} for number in range(THREADS)]
        assert _many(me, "POST", "/organization", *bodies) == {201: 1, 403: THREADS - 1}
        assert me.post("/user/check-limits", {}).ok()["organizations"]["used"] == 10

    def test_one_name_is_given_once(self, world: World) -> None:
        assert _many(world.person(), "POST", "/organization", {"org_name": "Twin"}) == {201: 1, 409: THREADS - 1}


class TestEnsureDefault:
    def test_fifty_calls_get_one_organization(self, world: World) -> None:
        me = world.person()
        answers = together([partial(me.again().post, "/organization/ensure-default", {}) for _ in range(THREADS)])
        assert len({answer.ok()["org_id"] for answer in answers}) == 1
        assert [one["default"] for one in me.get("/organization/user").ok()] == [True]


class TestInvite:
    def test_double_invitation_is_one_membership(self, world: World) -> None:
        me, guest = world.person(), world.person()
        org = me.new_organization()
        body = {"email": guest.email, "role": "editor"}
        assert _many(me, "PATCH", f"/organization/member/{org}", body) == {200: 1, 409: THREADS - 1}
        assert len(me.get(f"/organization/{org}").ok()["members"]) == 2

    def test_the_last_place_is_taken_once(self, world: World) -> None:
        me = world.person()
        org = me.new_organization()
        for number in range(48):
            me.patch(f"/organization/member/{org}", {"email": f"g{number}@mail.example.org", "role": "editor"}).ok()
        bodies = [{"email": f"r{number}@mail.example.org", "role": "editor"} for number in range(THREADS)]
        assert _many(me, "PATCH", f"/organization/member/{org}", *bodies) == {200: 1, 403: THREADS - 1}


class TestTransfer:
    def test_the_owner_is_always_one(self, world: World) -> None:
        me, one, two = world.person(), world.person(), world.person()
        org = me.new_organization()
        for member in (one, two):
            me.patch(f"/organization/member/{org}", {"email": member.email, "role": "admin"}).ok()
        found = _many(me, "POST", f"/organization/transfer/{org}", {"member_id": one.id}, {"member_id": two.id})
        assert found[200] == 1
        shown = one.get(f"/organization/{org}").ok()
        assert [member["user_id"] for member in shown["members"] if member["role"] == "owner"] == [shown["owner"]]

    def test_a_new_owner_who_leaves_meanwhile_leaves_no_organization_without_one(self, world: World) -> None:
        me = world.person()
        for _ in range(5):
            other = world.person()
            org = me.new_organization()
            me.patch(f"/organization/member/{org}", {"email": other.email, "role": "admin"}).ok()
            together(
                [
                    partial(me.again().post, f"/organization/transfer/{org}", {"member_id": other.id}),
                    partial(other.again().patch, f"/organization/leave/{org}"),
                    partial(me.again().patch, f"/organization/leave/{org}"),
                ]
            )
            owners = [
                member
                for who in (me, other)
                for answer in [who.get(f"/organization/{org}")]
                if answer.status == 200
                for member in answer.ok()["members"]
                if member["role"] == "owner"
            ]
            assert len({member["user_id"] for member in owners}) == 1
