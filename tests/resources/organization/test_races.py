"""Tests of organizations under parallel requests."""

from functools import partial

import pytest

from tests.support.parallel import THREADS, patiently, statuses, together
from tests.support.world import Person, World

pytestmark = pytest.mark.slow


def _send_in_parallel(me: Person, method: str, path: str, *bodies: dict[str, object]) -> dict[int, int]:
    """Send the bodies alternately from 50 threads and return the number of responses by status."""
    requests = (partial(me.again().call, method, path, bodies[index % len(bodies)]) for index in range(THREADS))
    return statuses(together([patiently(request) for request in requests]))


class TestCreate:
    def test_parallel_creations_below_the_limit_create_one(self, world: World) -> None:
        me = world.person()
        for _ in range(9):
            me.new_organization()
        bodies = [{"org_name": f"Racer {number}"} for number in range(THREADS)]
        assert _send_in_parallel(me, "POST", "/organization", *bodies) == {201: 1, 403: THREADS - 1}
        assert me.post("/user/check-limits", {}).ok()["organizations"]["used"] == 10

    def test_parallel_creations_with_one_name_create_one(self, world: World) -> None:
        assert _send_in_parallel(world.person(), "POST", "/organization", {"org_name": "Twin"}) == {
            201: 1,
            409: THREADS - 1,
        }


class TestEnsureDefault:
    def test_parallel_calls_return_one_organization(self, world: World) -> None:
        me = world.person()
        answers = together([partial(me.again().post, "/organization/ensure-default", {}) for _ in range(THREADS)])
        assert len({response.ok()["org_id"] for response in answers}) == 1
        assert [one["default"] for one in me.get("/organization/user").ok()] == [True]


class TestInvite:
    def test_parallel_invitations_of_one_email_create_one_membership(self, world: World) -> None:
        me, guest = world.person(), world.person()
        org = me.new_organization()
        body = {"email": guest.email, "role": "editor"}
        assert _send_in_parallel(me, "PATCH", f"/organization/member/{org}", body) == {200: 1, 409: THREADS - 1}
        assert len(me.get(f"/organization/{org}").ok()["members"]) == 2

    def test_parallel_invitations_below_the_limit_create_one(self, world: World) -> None:
        me = world.person()
        org = me.new_organization()
        for number in range(48):
            me.patch(f"/organization/member/{org}", {"email": f"g{number}@mail.example.org", "role": "editor"}).ok()
        bodies = [{"email": f"r{number}@mail.example.org", "role": "editor"} for number in range(THREADS)]
        assert _send_in_parallel(me, "PATCH", f"/organization/member/{org}", *bodies) == {200: 1, 403: THREADS - 1}


class TestTransfer:
    def test_parallel_transfers_leave_one_owner(self, world: World) -> None:
        me, one, two = world.person(), world.person(), world.person()
        org = me.new_organization()
        for member in (one, two):
            me.patch(f"/organization/member/{org}", {"email": member.email, "role": "admin"}).ok()
        received = _send_in_parallel(
            me, "POST", f"/organization/transfer/{org}", {"member_id": one.id}, {"member_id": two.id}
        )
        assert received[200] == 1
        shown = one.get(f"/organization/{org}").ok()
        assert [member["user_id"] for member in shown["members"] if member["role"] == "owner"] == [shown["owner"]]

    def test_transfer_during_the_departure_of_the_new_owner_leaves_one_owner(self, world: World) -> None:
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
                for response in [who.get(f"/organization/{org}")]
                if response.status == 200
                for member in response.ok()["members"]
                if member["role"] == "owner"
            ]
            assert len({member["user_id"] for member in owners}) == 1
