"""Passwords, sessions and the account of signed-in people through the API."""

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


def ask_for_link(person: Newcomer, **more: object) -> str:
    """The token of a fresh reset link."""
    person.post("/auth/forget-password", {"email": person.email} | more).ok()
    person.world.work_off()
    return person.mailbox.tokens()[-1]


class TestForgetPassword:
    def test_mails_a_link_into_the_web_app_with_the_token_in_its_fragment(self, newcomer: Make) -> None:
        person = newcomer().join()
        token = ask_for_link(person)
        assert person.mailbox.links()[-1] == f"http://127.0.0.1:8000/reset-password#token={token}"
        assert len(token) == 43

    def test_answers_alike_for_an_unknown_email_and_mails_nobody(self, newcomer: Make) -> None:
        known, unknown = newcomer().join(), newcomer()
        answers = [one.post("/auth/request-password-reset", {"email": one.email}) for one in (known, unknown)]
        assert answers[0].json == answers[1].json
        assert answers[0].ok() == {"status": True}
        unknown.world.work_off()
        assert unknown.mailbox.mails() == []

    @pytest.mark.parametrize("page", ["http://127.0.0.1:8000/new", "/new"])
    def test_leads_to_a_page_of_ours(self, newcomer: Make, page: str) -> None:
        person = newcomer().join()
        person.post("/auth/forget-password", {"email": person.email, "redirectTo": page}).ok()
        person.world.work_off()
        link = re.findall(r"http\S+", person.mailbox.texts()[-1])[-1]
        assert link.startswith("http://127.0.0.1:8000/new?token=")
        token = link.partition("token=")[2]
        person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).ok()

    def test_token_is_added_to_the_query_of_the_page(self, newcomer: Make) -> None:
        person = newcomer().join()
        person.post("/auth/forget-password", {"email": person.email, "redirectTo": "/new?step=2#form"}).ok()
        person.world.work_off()
        assert re.search(r"http://127\.0\.0\.1:8000/new\?step=2&token=[\w-]{43}#form\b", person.mailbox.texts()[-1])

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
    def test_refuses_a_page_of_others(self, newcomer: Make, page: str) -> None:
        newcomer().post("/auth/forget-password", {"email": "a@mail.example.org", "redirectTo": page}).fails(403)

    def test_takes_the_host_from_the_configuration(self, newcomer: Make) -> None:
        person = newcomer().join()
        headers = {"Host": "evil.example.org", "X-Forwarded-Host": "evil.example.org"}
        person.post("/auth/forget-password", {"email": person.email}, headers=headers).ok()
        person.world.work_off()
        assert "evil" not in "".join(person.mailbox.texts())


class TestResetPassword:
    def test_sets_the_password_ends_every_session_and_mails_a_notice(self, newcomer: Make) -> None:
        person = newcomer().join()
        token = ask_for_link(person)
        assert newcomer().post("/auth/reset-password", {"newPassword": NEW, "token": token}).ok() == {"status": True}
        person.get("/auth/get-session").fails(401)
        person.sign_in().fails(401)
        person.sign_in(NEW).ok()
        person.world.work_off()
        assert "was changed" in person.mailbox.texts()[-1]

    def test_a_token_is_good_once(self, newcomer: Make) -> None:
        person = newcomer().join()
        token = ask_for_link(person)
        person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).ok()
        person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).fails(400, "INVALID_TOKEN")

    def test_only_the_newest_token_counts(self, newcomer: Make) -> None:
        person = newcomer().join()
        old, new = ask_for_link(person), ask_for_link(person)
        person.post("/auth/reset-password", {"newPassword": NEW, "token": old}).fails(400, "INVALID_TOKEN")
        person.post("/auth/reset-password", {"newPassword": NEW, "token": new}).ok()

    def test_a_token_expires(self, newcomer: Make, later) -> None:
        person = newcomer().join()
        token = ask_for_link(person)
        with later(seconds=CodeLimits.reset_ttl_s + 1):
            person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).fails(400, "INVALID_TOKEN")

    def test_a_refused_password_uses_nothing_up(self, newcomer: Make) -> None:
        person = newcomer(f"a-rather-long-local-part{id(self)}@mail.example.org").join()
        token = ask_for_link(person)
        for password in ("short", person.email.partition("@")[0]):
            body = {"newPassword": password, "token": token}
            person.post("/auth/reset-password", body).fails(400, None, "newPassword")
        person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).ok()

    def test_a_verification_code_is_no_reset_token(self, newcomer: Make) -> None:
        person = newcomer()
        person.sign_up()
        body = {"newPassword": NEW, "token": person.mailbox.codes()[-1]}
        person.post("/auth/reset-password", body).fails(400, "INVALID_TOKEN")

    def test_of_twenty_at_once_exactly_one_succeeds(self, newcomer: Make) -> None:
        person = newcomer().join()
        browsers = [person, person.elsewhere(), person.elsewhere()]
        token = ask_for_link(person)
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
    def test_gives_this_session_a_new_token_and_ends_the_others_when_asked(self, newcomer: Make) -> None:
        person = newcomer().join()
        other, old = person.elsewhere(), person.token
        body = {"currentPassword": person.password, "newPassword": NEW, "revokeOtherSessions": True}
        answer = person.post("/auth/change-password", body).ok()
        assert answer["token"] is None
        assert person.token != old
        person.get("/auth/get-session").ok()
        other.get("/auth/get-session").fails(401)
        person.client.set_cookie("session_token", old or "")
        person.get("/auth/get-session").fails(401)
        person.sign_in(NEW).ok()

    def test_leaves_the_others_alone_otherwise(self, newcomer: Make) -> None:
        person = newcomer().join()
        other = person.elsewhere()
        person.post("/auth/change-password", {"currentPassword": person.password, "newPassword": NEW}).ok()
        other.get("/auth/get-session").ok()

    def test_needs_the_present_password(self, newcomer: Make) -> None:
        person = newcomer().join()
        body = {"currentPassword": "Wrong-password-1", "newPassword": NEW}
        person.post("/auth/change-password", body).fails(400, "INVALID_PASSWORD")
        person.post("/auth/change-password", {}).fails(400, None, "currentPassword", "newPassword")

    def test_voids_reset_links(self, newcomer: Make) -> None:
        person = newcomer().join()
        token = ask_for_link(person)
        person.post("/auth/change-password", {"currentPassword": person.password, "newPassword": NEW}).ok()
        person.post("/auth/reset-password", {"newPassword": NEW, "token": token}).fails(400, "INVALID_TOKEN")


class TestSessions:
    def test_are_listed_by_their_handles_never_by_their_tokens(self, newcomer: Make) -> None:
        person = newcomer().join()
        other = person.elsewhere()
        answer = person.get("/auth/list-sessions")
        assert isinstance(answer.json, list)
        assert [one["token"] for one in answer.ok()] == [one["id"] for one in answer.ok()]
        assert {one["id"] for one in answer.ok()} == {person.session_id, other.session_id}
        text = answer.response.get_data(as_text=True)
        assert str(person.token) not in text
        assert str(other.token) not in text

    @pytest.mark.parametrize("key", ["token", "id"])
    def test_one_is_ended_by_its_handle(self, newcomer: Make, key: str) -> None:
        person = newcomer().join()
        other = person.elsewhere()
        person.post("/auth/revoke-session", {key: other.session_id}).ok()
        other.get("/auth/get-session").fails(401)
        person.get("/auth/get-session").ok()

    def test_those_of_others_cannot_be_ended(self, newcomer: Make) -> None:
        person, stranger = newcomer().join(), newcomer().join()
        stranger.post("/auth/revoke-session", {"token": person.session_id})
        person.get("/auth/get-session").ok()

    def test_all_others_end_at_once(self, newcomer: Make) -> None:
        person = newcomer().join()
        others = [person.elsewhere(), person.elsewhere()]
        person.post("/auth/revoke-other-sessions", {}).ok()
        assert [one.get("/auth/get-session").status for one in others] == [401, 401]
        person.get("/auth/get-session").ok()

    def test_all_end_at_once(self, newcomer: Make) -> None:
        person = newcomer().join()
        person.post("/auth/revoke-sessions", {}).ok()
        assert not person.token
        person.get("/auth/get-session").fails(401)


class TestAccounts:
    def test_the_password_is_one(self, newcomer: Make) -> None:
        assert [one["providerId"] for one in newcomer().join().get("/auth/list-accounts").ok()] == ["credential"]


class TestUpdateUser:
    def test_changes_the_name_and_nothing_that_is_not_offered(self, newcomer: Make) -> None:
        person = newcomer().join()
        person.post("/auth/update-user", {"name": "New Name", "role": "admin", "email": "x@mail.example.org"}).ok()
        user = person.get("/auth/get-session").ok()["user"]
        assert (user["name"], user["role"], user["email"]) == ("New Name", "user", person.email)

    @pytest.mark.parametrize("name", ["  ", "\u200b", "A\nB", "A <b>", None])
    def test_refuses_what_is_no_name(self, newcomer: Make, name: str | None) -> None:
        newcomer().join().post("/auth/update-user", {"name": name}).fails(400, None, "name")

    def test_takes_an_image_of_ones_own_only(self, newcomer: Make, world: World) -> None:
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


class TestUnverified:
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
    def test_people_may_not_yet(self, world: World, method: str, path: str) -> None:
        body = {} if method == "POST" else None
        world.person(verified=False).call(method, path, body).fails(403, "EMAIL_NOT_VERIFIED")
        world.anonymous().call(method, path, body).fails(401)


class TestGuessingTogether:
    def test_fifty_wrong_codes_at_once_are_five_attempts(self, newcomer: Make, wrong) -> None:
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
