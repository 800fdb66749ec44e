"""Tests of the account through the API."""

import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from app.core.limits import SessionLimits
from app.extensions import db
from app.models.base import Base
from app.models.login import Session
from app.models.user import User
from tests.support.new_account import Newcomer
from tests.support.world import World

Make = Callable[..., Newcomer]
NEW = "Another-Harbour-1"


class TestProfile:
    def test_profile_contains_the_user_and_the_linked_accounts(self, newcomer: Make) -> None:
        person = newcomer().join()
        user = person.get("/auth/get-session").ok()["user"]
        profile = person.get(f"/user/{user['id']}").ok()
        assert {name: profile[name] for name in user} == user
        assert profile["has_password"] is True
        assert [one["providerId"] for one in profile["accounts"]] == ["credential"]

    def test_profile_of_another_user_returns_403_except_for_platform_admins(self, world: World) -> None:
        person, stranger, admin = world.person(), world.person(), world.person(admin=True)
        stranger.get(f"/user/{person.id}").fails(403)
        assert admin.get(f"/user/{person.id}").ok()["has_password"] is False
        world.anonymous().get(f"/user/{person.id}").fails(401)


class TestSetPassword:
    def test_set_password_ends_other_sessions_and_renews_the_current(self, newcomer: Make) -> None:
        person = newcomer().join()
        other, old = person.elsewhere(), person.token
        body = {"newPassword": NEW, "currentPassword": person.password}
        assert person.patch("/user/set-password", body).ok() == {"status": True}
        other.get("/auth/get-session").fails(401)
        person.get("/auth/get-session").ok()
        assert person.token != old
        person.sign_in(NEW).ok()

    def test_missing_or_wrong_current_password_returns_400(self, newcomer: Make) -> None:
        person = newcomer().join()
        person.patch("/user/set-password", {"newPassword": NEW}).fails(400, "INVALID_PASSWORD")
        body = {"newPassword": NEW, "currentPassword": "Wrong-password-1"}
        person.patch("/user/set-password", body).fails(400, "INVALID_PASSWORD")

    def test_account_without_a_password_requires_none(self, world: World) -> None:
        person = world.person()
        person.patch("/user/set-password", {"newPassword": NEW}).ok()
        body = {"email": person.email, "password": NEW}
        world.anonymous().post("/auth/sign-in/email", body).ok()


class TestCountryAndNewsletter:
    @pytest.mark.parametrize(("given", "stored"), [("DE", "DE"), ("germany", "DE"), ("United States", "US")])
    def test_country_is_stored_as_its_code(self, world: World, given: str, stored: str) -> None:
        person = world.person()
        assert person.patch(f"/user/update-country/{person.id}", {"country": given}).ok()["country"] == stored

    @pytest.mark.one_database
    @pytest.mark.parametrize("country", ["ZZ", "Atlantis", "Korea", 49, "", None])
    def test_unknown_country_returns_400_with_path(self, world: World, country: object) -> None:
        person = world.person()
        person.patch(f"/user/update-country/{person.id}", {"country": country}).fails(400, None, "country")

    def test_newsletter_accepts_only_booleans(self, world: World) -> None:
        person = world.person()
        path = f"/user/update-newsletter/{person.id}"
        assert person.patch(path, {"subscribed": True}).ok()["subscribed"] is True
        assert person.patch(path, {"subscribed": False}).ok()["subscribed"] is False
        person.patch(path, {"subscribed": "yes"}).fails(400, None, "subscribed")

    @pytest.mark.one_database
    def test_change_of_another_user_returns_403(self, world: World) -> None:
        person, admin = world.person(), world.person(admin=True)
        admin.patch(f"/user/update-country/{person.id}", {"country": "DE"}).fails(403)
        admin.patch(f"/user/update-newsletter/{person.id}", {"subscribed": True}).fails(403)


class TestCheckLimits:
    def test_limits_count_the_objects_of_the_caller(self, newcomer: Make) -> None:
        person = newcomer().join()
        organization = person.post("/organization", {"org_name": "Second"}).ok(201)["org_id"]
        person.patch(f"/organization/member/{organization}", {"email": "i@mail.example.org", "role": "editor"}).ok()
        result = person.post("/user/check-limits", {}).ok()
        assert result["organizations"] == {"limit": 10, "used": 2, "remaining": 8, "allowed": True}
        assert result["projects"]["limit"] == 100
        assert result["projects"]["per_organization"][organization]["used"] == 0
        assert result["members"]["per_organization"][organization]["used"] == 2

    def test_user_id_in_the_body_is_ignored(self, world: World) -> None:
        person, other = world.person(), world.person()
        other.new_organization()
        assert person.post("/user/check-limits", {"userId": other.id}).ok()["organizations"]["used"] == 0


class TestDelete:
    def test_delete_removes_all_rows_of_the_user_and_sends_a_mail(self, newcomer: Make, world: World) -> None:
        person = newcomer().join()
        user_id = person.get("/auth/get-session").ok()["user"]["id"]
        other = person.elsewhere()
        assert person.delete(f"/user/delete/{user_id}", {"reason": "done"}).ok() == {"deleted": True}
        assert not person.token
        other.get("/auth/get-session").fails(401)
        person.sign_in().fails(401, "INVALID_EMAIL_OR_PASSWORD")
        world.work_off()
        assert "was deleted" in person.mailbox.texts()[-1]
        with world.app.app_context():
            assert _rows_naming(user_id) == []

    def test_email_of_a_deleted_account_can_sign_up(self, newcomer: Make) -> None:
        person = newcomer().join()
        user_id = person.get("/auth/get-session").ok()["user"]["id"]
        person.delete(f"/user/delete/{user_id}").ok()
        person.join()
        assert person.get("/auth/get-session").ok()["user"]["id"] != user_id

    def test_old_session_requires_the_password(self, newcomer: Make, later) -> None:
        person = newcomer().join()
        path = f"/user/delete/{person.get('/auth/get-session').ok()['user']['id']}"
        person.delete(path, {"password": "Wrong-password-1"}).fails(400, "INVALID_PASSWORD")
        with later(seconds=SessionLimits.fresh_s + 1):
            person.delete(path).fails(403, "REAUTH_REQUIRED")
            person.delete(path, {"password": person.password}).ok()

    def test_owner_of_shared_organizations_returns_409_with_their_names(self, world: World) -> None:
        owner, member = world.person(), world.person()
        organization = owner.new_organization("Shared House")
        owner.patch(f"/organization/member/{organization}", {"email": member.email, "role": "editor"}).ok()
        assert "Shared House" in owner.delete(f"/user/delete/{owner.id}").fails(409)["message"]
        owner.get("/auth/get-session").ok()
        member.delete(f"/user/delete/{member.id}").ok()
        owner.delete(f"/user/delete/{owner.id}").ok()

    def test_parallel_deletions_succeed_once(self, world: World) -> None:
        person = world.person()
        statuses: list[int] = []
        browsers = [person.again() for _ in range(5)]

        def delete(browser) -> None:
            statuses.append(browser.delete(f"/user/delete/{person.id}").status)

        threads = [threading.Thread(target=delete, args=(browser,)) for browser in browsers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses.count(200) == 1
        assert set(statuses) <= {200, 401, 404, 409}

    @pytest.mark.one_database
    def test_delete_of_another_user_returns_403(self, world: World) -> None:
        person, admin = world.person(), world.person(admin=True)
        admin.delete(f"/user/delete/{person.id}").fails(403)


def _rows_naming(user_id: str) -> list[str]:
    """Return the tables with a row that refers to the user."""
    items = []
    for table in Base.metadata.sorted_tables:
        columns = [key.parent for key in table.foreign_keys if key.column.table.name == "users"]
        if columns and db.session.execute(sa.select(table).where(sa.or_(*(c == user_id for c in columns)))).first():
            items.append(table.name)
    return items


class TestMassAssignment:
    """Tests that send every column of the account tables with every write."""

    FORGED = {
        column.name: value
        for model in (User, Session)
        for column in model.__table__.columns
        if column.name not in ("name", "country", "subscribed", "image", "email")
        for value in ["usr_01h455vb4pex5vsknk084sn02q" if column.name.endswith("id") else True]
    } | {"role": "admin", "emailVerified": True, "provider": "social_a", "createdAt": 1}

    def test_sign_up_ignores_unknown_fields(self, newcomer: Make, world: World) -> None:
        person = newcomer()
        person.sign_up(**self.FORGED).ok()
        with world.app.app_context():
            user = db.session.scalars(sa.select(User).where(User.email == person.email)).one()
            assert (user.is_admin, user.email_verified, user.provider) == (False, False, "credential")

    @pytest.mark.parametrize(
        ("method", "path", "body", "changed"),
        [
            ("PATCH", "/user/update-country/{id}", {"country": "FR"}, {"country"}),
            ("PATCH", "/user/update-newsletter/{id}", {"subscribed": True}, {"subscribed"}),
            ("PATCH", "/user/set-password", {"newPassword": NEW}, {"password_hash"}),
            ("POST", "/auth/update-user", {"name": "Somebody"}, {"name"}),
            ("POST", "/user/check-limits", {}, set()),
            ("POST", "/auth/revoke-other-sessions", {}, set()),
            ("PATCH", "/user-preference/{id}", {"theme": "dark"}, set()),
        ],
    )
    def test_write_ignores_unknown_fields(
        self, world: World, method: str, path: str, body: dict[str, object], changed: set[str]
    ) -> None:
        person = world.person()
        before = self._row(world, person.id)
        person.call(method, path.format(id=person.id), self.FORGED | body).ok()
        after = self._row(world, person.id)
        assert {name for name in before if before[name] != after[name]} - {"updated_at"} == changed

    @staticmethod
    def _row(world: World, user_id: str) -> dict[str, object]:
        with world.app.app_context():
            return dict(db.session.execute(sa.select(User.__table__).where(User.id == user_id)).one()._mapping)
