"""Tests of passwords, sessions and the account of signed-in users through the API."""

import re
import threading
from collections.abc import Callable

import pytest

from app.core.limits import CodeLimits
from app.extensions import db
from app.models.media import MediaAsset
from app.models.user import User
from tests.support.new_account import Newcomer
from tests.support.world import World

Make = Callable[..., Newcomer]
NEW = "Another-Harbour-1"


def request_reset_token(person: Newcomer, **more: object) -> str:
    """Return the token of a new reset link."""
    person.post("/auth/forget-password", {"email": person.email} | more).ok()
    person.world.work_off()
    return person.mailbox.tokens()[-1]


class TestForgetPassword:
    def test_mail_links_to_the_web_app_with_the_token_in_the_fragment(self, newcomer: Make) -> None:
        person = newcomer().join()
        token = request_reset_token(person)
        assert person.mailbox.links()[-1] == f"http://127.0.0.1:8000/reset-password#token={token}"
        assert len(token) == 43

    def test_unknown_email_returns_the_same_response_without_a_mail(self, newcomer: Make) -> None:
        known, unknown = newcomer().join(), newcomer()
        answers = [one.post("/auth/request-password-reset", {"email": one.email}) for one in (known, unknown)]
        assert answers[0].json == answers[1].json
        assert answers[0].ok() == {"status": True}
        unknown.world.work_off()
        assert unknown.mailbox.mails() == []

    @pytest.mark.parametrize("page", ["http://127.0.0.1:8000/new", "/new"])
    def test_redirect_to_own_page_is_used_in_the_link(self, newcomer: Make, page: str) -> None:
        person = newcomer().join()
        person.post("/auth/forget-password", {"email": person.email, "redirectTo": page}).ok()
        person.world.work_off()
        link = re.findall(r"http\S+", person.mailbox.texts()[-1])[-1]
        assert link.startswith("http://127.0.0.1:8000/new?token=")
        token = link.partition("token=")[2]
        person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).ok()

    @pytest.mark.one_database
    def test_redirect_with_query_receives_the_token_as_parameter(self, newcomer: Make) -> None:
        person = newcomer().join()
        person.post("/auth/forget-password", {"email": person.email, "redirectTo": "/new?step=2#form"}).ok()
        person.world.work_off()
        assert re.search(r"http://127\.0\.0\.1:8000/new\?step=2&token=[\w-]{43}#form\b", person.mailbox.texts()[-1])

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        "page",
        [
            "https://evil.example.org/",
            "//evil.example.org",
            "/\\evil.example.org",
            "/\t/evil.example.org",
            "http://127.0.0.1:8000@evil.example.org/",
            "http://127.0.0.1:8000.evil.example.org/",
            "javascript:alert(1)",
            "evil",
        ],
    )
    def test_redirect_to_another_host_returns_403(self, newcomer: Make, page: str) -> None:
        newcomer().post("/auth/forget-password", {"email": "a@mail.example.org", "redirectTo": page}).fails(403)

    def test_forged_host_header_is_not_used_in_the_link(self, newcomer: Make) -> None:
        person = newcomer().join()
        headers = {"Host": "evil.example.org", "X-Forwarded-Host": "evil.example.org"}
        person.post("/auth/forget-password", {"email": person.email}, headers=headers).ok()
        person.world.work_off()
        assert "evil" not in "".join(person.mailbox.texts())


class TestResetPassword:
    def test_reset_sets_the_password_ends_sessions_and_sends_a_notice(self, newcomer: Make) -> None:
        person = newcomer().join()
        token = request_reset_token(person)
        assert newcomer().post("/auth/reset-password", {"newPassword": NEW, "token": token}).ok() == {"status": True}
        person.get("/auth/get-session").fails(401)
        person.sign_in().fails(401)
        person.sign_in(NEW).ok()
        person.world.work_off()
        assert "was changed" in person.mailbox.texts()[-1]

    def test_used_token_returns_400(self, newcomer: Make) -> None:
        person = newcomer().join()
        token = request_reset_token(person)
        person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).ok()
        person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).fails(400, "INVALID_TOKEN")

    def test_replaced_token_returns_400(self, newcomer: Make) -> None:
        person = newcomer().join()
        old, new = request_reset_token(person), request_reset_token(person)
        person.post("/auth/reset-password", {"newPassword": NEW, "token": old}).fails(400, "INVALID_TOKEN")
        person.post("/auth/reset-password", {"newPassword": NEW, "token": new}).ok()

    def test_expired_token_returns_400(self, newcomer: Make, later) -> None:
        person = newcomer().join()
        token = request_reset_token(person)
        with later(seconds=CodeLimits.reset_ttl_s + 1):
            person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).fails(400, "INVALID_TOKEN")

    @pytest.mark.one_database
    def test_invalid_password_returns_400_and_leaves_the_token_valid(self, newcomer: Make) -> None:
        person = newcomer(f"a-rather-long-local-part{id(self)}@mail.example.org").join()
        token = request_reset_token(person)
        for password in ("short", person.email.partition("@")[0]):
            body = {"newPassword": password, "token": token}
            person.post("/auth/reset-password", body).fails(400, None, "newPassword")
        person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).ok()

    def test_verification_code_as_token_returns_400(self, newcomer: Make) -> None:
        person = newcomer()
        person.sign_up()
        body = {"newPassword": NEW, "token": person.mailbox.codes()[-1]}
        person.post("/auth/reset-password", body).fails(400, "INVALID_TOKEN")

    def test_parallel_resets_succeed_exactly_once(self, newcomer: Make) -> None:
        person = newcomer().join()
        browsers = [person, person.elsewhere(), person.elsewhere()]
        token = request_reset_token(person)
        statuses: list[int] = []

        def reset(number: int) -> None:
            body = {"newPassword": f"{NEW}-{number}", "token": token}
            statuses.append(newcomer().post("/auth/reset-password", body).status)

        threads = [threading.Thread(target=reset, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [200] + [400] * 19
        assert [browser.get("/auth/get-session").status for browser in browsers] == [401] * 3


class TestChangePassword:
    def test_change_renews_the_session_token_and_revokes_other_sessions(self, newcomer: Make) -> None:
        person = newcomer().join()
        other, old = person.elsewhere(), person.token
        body = {"currentPassword": person.password, "newPassword": NEW, "revokeOtherSessions": True}
        response = person.post("/auth/change-password", body).ok()
        assert response["token"] is None
        assert person.token != old
        person.get("/auth/get-session").ok()
        other.get("/auth/get-session").fails(401)
        person.client.set_cookie("session_token", old or "")
        person.get("/auth/get-session").fails(401)
        person.sign_in(NEW).ok()

    def test_change_without_revocation_leaves_other_sessions_valid(self, newcomer: Make) -> None:
        person = newcomer().join()
        other = person.elsewhere()
        person.post("/auth/change-password", {"currentPassword": person.password, "newPassword": NEW}).ok()
        other.get("/auth/get-session").ok()

    def test_wrong_or_missing_password_returns_400(self, newcomer: Make) -> None:
        person = newcomer().join()
        body = {"currentPassword": "Wrong-password-1", "newPassword": NEW}
        person.post("/auth/change-password", body).fails(400, "INVALID_PASSWORD")
        person.post("/auth/change-password", {}).fails(400, None, "currentPassword", "newPassword")

    def test_change_invalidates_reset_links(self, newcomer: Make) -> None:
        person = newcomer().join()
        token = request_reset_token(person)
        person.post("/auth/change-password", {"currentPassword": person.password, "newPassword": NEW}).ok()
        person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).fails(400, "INVALID_TOKEN")


class TestSessions:
    def test_list_contains_handles_and_no_tokens(self, newcomer: Make) -> None:
        person = newcomer().join()
        other = person.elsewhere()
        response = person.get("/auth/list-sessions")
        assert isinstance(response.json, list)
        assert [one["token"] for one in response.ok()] == [one["id"] for one in response.ok()]
        assert {one["id"] for one in response.ok()} == {person.session_id, other.session_id}
        text = response.response.get_data(as_text=True)
        assert str(person.token) not in text
        assert str(other.token) not in text

    @pytest.mark.parametrize("key", ["token", "id"])
    def test_revoke_ends_the_session_with_the_handle(self, newcomer: Make, key: str) -> None:
        person = newcomer().join()
        other = person.elsewhere()
        person.post("/auth/revoke-session", {key: other.session_id}).ok()
        other.get("/auth/get-session").fails(401)
        person.get("/auth/get-session").ok()

    def test_revoke_of_a_session_of_another_user_has_no_effect(self, newcomer: Make) -> None:
        person, stranger = newcomer().join(), newcomer().join()
        stranger.post("/auth/revoke-session", {"token": person.session_id})
        person.get("/auth/get-session").ok()

    def test_revoke_other_sessions_ends_all_but_the_current(self, newcomer: Make) -> None:
        person = newcomer().join()
        others = [person.elsewhere(), person.elsewhere()]
        person.post("/auth/revoke-other-sessions", {}).ok()
        assert [one.get("/auth/get-session").status for one in others] == [401, 401]
        person.get("/auth/get-session").ok()

    def test_revoke_sessions_ends_all(self, newcomer: Make) -> None:
        person = newcomer().join()
        person.post("/auth/revoke-sessions", {}).ok()
        assert not person.token
        person.get("/auth/get-session").fails(401)


class TestAccounts:
    def test_list_of_a_password_account_contains_credential(self, newcomer: Make) -> None:
        assert [one["providerId"] for one in newcomer().join().get("/auth/list-accounts").ok()] == ["credential"]


class TestUpdateUser:
    def test_update_changes_the_name_and_ignores_other_fields(self, newcomer: Make) -> None:
        person = newcomer().join()
        person.post("/auth/update-user", {"name": "New Name", "role": "admin", "email": "x@mail.example.org"}).ok()
        user = person.get("/auth/get-session").ok()["user"]
        assert (user["name"], user["role"], user["email"]) == ("New Name", "user", person.email)

    @pytest.mark.one_database
    @pytest.mark.parametrize("name", ["  ", "\u200b", "A\nB", "A <b>", None])
    def test_invalid_name_returns_400_with_path(self, newcomer: Make, name: str | None) -> None:
        newcomer().join().post("/auth/update-user", {"name": name}).fails(400, None, "name")

    @pytest.mark.one_database
    def test_image_of_another_user_or_host_returns_400(self, newcomer: Make, world: World) -> None:
        person, stranger = newcomer().join(), newcomer().join()
        key = f"users/{person.session_id}.webp"
        with world.app.app_context():
            user = db.session.query(User).filter_by(email=person.email).one()
            facts = {"mimetype": "image/webp", "size": 1, "width": 1, "height": 1, "hash": "0" * 64}
            db.session.add(MediaAsset(key=key, uploader_id=user.id, stored_at=user.created_at, **facts))
            db.session.commit()
        stranger.post("/auth/update-user", {"image": key}).fails(400, None, "image")
        stranger.post("/auth/update-user", {"image": "https://evil.example.org/a.png"}).fails(400, None, "image")
        person.post("/auth/update-user", {"image": key}).ok()
        assert person.get("/auth/get-session").ok()["user"]["image"] == key
        person.post("/auth/update-user", {"image": None}).ok()
        assert person.get("/auth/get-session").ok()["user"]["image"] is None


@pytest.mark.one_database
class TestUnverifiedUser:
    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("POST", "/auth/change-password"),
            ("GET", "/auth/list-sessions"),
            ("POST", "/auth/revoke-session"),
            ("POST", "/auth/revoke-other-sessions"),
            ("GET", "/auth/list-accounts"),
            ("POST", "/auth/update-user"),
        ],
    )
    def test_unverified_user_returns_403(self, world: World, method: str, path: str) -> None:
        body = {} if method == "POST" else None
        world.person(verified=False).call(method, path, body).fails(403, "EMAIL_NOT_VERIFIED")
        world.anonymous().call(method, path, body).fails(401)


class TestParallelGuesses:
    def test_parallel_wrong_codes_count_as_five_attempts(self, newcomer: Make, wrong) -> None:
        person = newcomer()
        person.sign_up()
        right = person.mailbox.codes()[-1]
        statuses: list[int] = []

        def guess(number: int) -> None:
            body = {"email": person.email, "otp": wrong(right, number + 1)}
            statuses.append(newcomer().post("/auth/verify-email", body).status)

        threads = [threading.Thread(target=guess, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses.count(400) == 5
        assert set(statuses) <= {400, 429, 503}
        person.verify(right).fails(429, "TOO_MANY_ATTEMPTS")
