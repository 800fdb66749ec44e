"""Tests of the requirement of a second factor, and of the reset by an owner."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from app.core import clock
from app.core.permissions import Role
from app.extensions import db
from app.models.organization import Membership
from app.models.user import User
from tests.support.new_account import Newcomer
from tests.support.second_factor import ProtectedPerson
from tests.support.world import Person, World

Make = Callable[..., Newcomer]


@pytest.fixture
def owner(world: World) -> Person:
    return world.person()


@pytest.fixture
def org_id(owner: Person) -> str:
    return owner.new_organization()


def join(world: World, org_id: str, email: str) -> str:
    """Add the user of an address to an organization and return the id of the user."""
    with world.app.app_context(), db.engine.begin() as connection:
        user_id: str = connection.scalar(sa.select(User.id).where(User.email_key == email))  # type: ignore[assignment]
        connection.execute(
            sa.insert(Membership).values(
                organization_id=org_id, user_id=user_id, role=Role.EDITOR, joined_at=clock.now()
            )
        )
        return user_id


class TestSettings:
    def test_requirement_without_a_day_applies_at_once(self, owner: Person, org_id: str) -> None:
        changed = owner.patch(f"/organization/{org_id}", {"require_second_factor": True})
        assert changed.ok()["second_factor_from"] == clock.now().date().isoformat()
        owner.get(f"/organization/{org_id}").fails(403, "SECOND_FACTOR_REQUIRED")

    def test_requirement_with_a_later_day_can_be_changed_and_ended(self, owner: Person, org_id: str) -> None:
        url, day = f"/organization/{org_id}", (clock.now() + timedelta(days=9)).date().isoformat()
        changed = owner.patch(url, {"require_second_factor": True, "second_factor_from": day}).ok()
        assert (changed["require_second_factor"], changed["second_factor_from"]) == (True, day)
        assert owner.patch(url, {"org_name": "Renamed"}).ok()["second_factor_from"] == day
        assert owner.patch(url, {"require_second_factor": True}).ok()["second_factor_from"] == day
        ended = owner.patch(url, {"require_second_factor": False}).ok()
        assert (ended["require_second_factor"], ended["second_factor_from"]) == (False, None)

    def test_day_without_a_requirement_is_refused(self, owner: Person, org_id: str) -> None:
        body = {"second_factor_from": "2030-01-01"}
        owner.patch(f"/organization/{org_id}", body).fails(400, "VALIDATION_FAILED", "second_factor_from")
        body = {"require_second_factor": True, "second_factor_from": "soon"}
        owner.patch(f"/organization/{org_id}", body).fails(400, "VALIDATION_FAILED", "second_factor_from")

    def test_member_sets_up_the_factor_and_continues(
        self, newcomer: Make, world: World, owner: Person, org_id: str
    ) -> None:
        member = newcomer().join()
        join(world, org_id, member.email)
        owner.patch(f"/organization/{org_id}", {"require_second_factor": True}).ok()
        member.get(f"/organization/{org_id}").fails(403, "SECOND_FACTOR_REQUIRED")
        protected = ProtectedPerson(member)
        member.get(f"/organization/{org_id}").ok()
        member.post("/auth/two-factor/disable", {"password": member.password}).ok()
        member.get(f"/organization/{org_id}").fails(403, "SECOND_FACTOR_REQUIRED")
        protected.verify("000000").fails(400, "TOTP_NOT_ENABLED")

    def test_password_sign_in_of_a_member_does_not_reach_the_organization(
        self, newcomer: Make, world: World, owner: Person, org_id: str
    ) -> None:
        member = newcomer().join()
        join(world, org_id, member.email)
        owner.patch(f"/organization/{org_id}", {"require_second_factor": True}).ok()
        other = member.elsewhere()
        other.get(f"/organization/{org_id}").fails(403, "SECOND_FACTOR_REQUIRED")
        other.post("/tokens", {"name": "CI", "scopes": ["read"]}).fails(403, "SECOND_FACTOR_REQUIRED")


class TestReset:
    def test_owner_mails_a_link_that_needs_the_password(
        self, newcomer: Make, world: World, org_id: str, owner: Person
    ) -> None:
        protected = ProtectedPerson(newcomer().join())
        member = protected.person
        user_id = join(world, org_id, member.email)
        owner.post(f"/organization/{org_id}/member/{user_id}/reset-second-factor").ok()
        world.work_off()
        protected.challenged()
        token = member.mailbox.tokens()[-1]
        body = {"token": token, "password": "Wrong-harbour-1"}
        member.post("/auth/two-factor/reset", body).fails(401, "INVALID_EMAIL_OR_PASSWORD")
        member.post("/auth/two-factor/reset", body | {"token": "unknown"}).fails(400, "INVALID_TOKEN")
        member.post("/auth/two-factor/reset", {"token": token, "password": member.password}).ok()
        member.post("/auth/two-factor/reset", {"token": token, "password": member.password}).fails(400)
        member.get("/auth/get-session").fails(401)
        assert member.sign_in().ok()["user"]["twoFactorEnabled"] is False
        world.work_off()
        assert "second factor was removed" in member.mailbox.texts()[-1]

    def test_token_expires(self, newcomer: Make, world: World, org_id: str, owner: Person) -> None:
        protected = ProtectedPerson(newcomer().join())
        user_id = join(world, org_id, protected.person.email)
        owner.post(f"/organization/{org_id}/member/{user_id}/reset-second-factor").ok()
        world.work_off()
        body = {"token": protected.person.mailbox.tokens()[-1], "password": protected.person.password}
        with clock.shifted(timedelta(minutes=31)):
            protected.person.post("/auth/two-factor/reset", body).fails(400, "INVALID_TOKEN")

    def test_only_the_owner_can_request_it_for_members_with_a_factor(
        self, newcomer: Make, world: World, org_id: str, owner: Person
    ) -> None:
        protected, other = ProtectedPerson(newcomer().join()), newcomer().join()
        url = f"/organization/{org_id}/member"
        owner.post(f"{url}/{owner.id}/reset-second-factor").fails(403)
        user_id = protected.person.get("/auth/get-session").ok()["user"]["id"]
        owner.post(f"{url}/{user_id}/reset-second-factor").fails(404)
        join(world, org_id, protected.person.email)
        other_id = join(world, org_id, other.email)
        protected.person.post(f"{url}/{other_id}/reset-second-factor").fails(403)
        owner.post(f"{url}/{other_id}/reset-second-factor").fails(400, "TWO_FACTOR_NOT_ENABLED")
