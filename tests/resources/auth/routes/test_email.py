"""Tests of sign-up, sign-in and sign-out through the API."""

import secrets
from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from app.core.jobs import registry
from app.core.limits import CodeLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import OneTimeCode
from tests.support.assertions.equality import outline
from tests.support.new_account import Newcomer
from tests.support.world import World

Make = Callable[..., Newcomer]


class TestSignUp:
    def test_empty_country_is_stored_as_null(self, newcomer: Make) -> None:
        assert newcomer().sign_up(country="").ok()["user"]["country"] is None

    def test_sign_up_returns_the_user_without_a_session_and_mails_a_code(self, newcomer: Make) -> None:
        person = newcomer()
        result = person.sign_up(country="Germany", subscribed=True).ok()
        assert result["token"] is None
        user = result["user"]
        assert (user["email"], user["emailVerified"], user["country"], user["subscribed"]) == (
            person.email,
            False,
            "DE",
            True,
        )
        assert (user["role"], user["provider"], user["full_name"]) == ("user", "credential", person.name)
        assert person.token is None
        assert len(person.mailbox.codes()) == 1

    def test_keys_of_the_result_are_repeated_at_the_top_level(self, newcomer: Make) -> None:
        answer = newcomer().sign_up()
        assert answer.json["user"] == answer.json["result"]["user"]

    def test_known_email_returns_the_same_response_and_notifies_the_owner(self, newcomer: Make) -> None:
        owner = newcomer().join()
        stranger = newcomer(owner.email)
        user = stranger.sign_up().ok()["user"]
        fresh = newcomer().sign_up().ok()["user"]
        assert user["name"] == stranger.name
        assert set(user) == set(fresh)
        assert user["id"] != owner.get("/auth/get-session").ok()["user"]["id"]
        assert "already have an account" in owner.mailbox.texts()[-1]
        stranger.sign_in().fails(401)
        owner.sign_in().ok()

    def test_emails_are_compared_case_insensitively(self, newcomer: Make) -> None:
        owner = newcomer().join()
        newcomer(owner.email.upper()).sign_up().ok()
        assert newcomer(owner.email.upper()).sign_in(owner.password).status == 200

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("change", "paths"),
        [
            ({"email": "nobody"}, ["email"]),
            ({"password": "short"}, ["password"]),
            ({"password": "password123"}, ["password"]),
            ({"country": "Atlantis"}, ["country"]),
            ({"subscribed": "maybe"}, ["subscribed"]),
            ({"name": "Ada\r\nBcc: x@example.org"}, ["name"]),
            ({"name": "Ada <ada@example.org>"}, ["name"]),
            ({"name": "Claim your prize: https://evil.example.org/x"}, ["name"]),
            ({"name": "www.evil.example.org"}, ["name"]),
            ({"email": "nobody", "password": "short"}, ["email", "password"]),
        ],
    )
    def test_invalid_fields_return_400_with_every_path(
        self, newcomer: Make, change: dict[str, object], paths: list[str]
    ) -> None:
        newcomer().sign_up(**change).fails(400, "VALIDATION_FAILED", *paths)

    def test_empty_name_is_derived_from_the_local_part_as_plain_text(self, newcomer: Make) -> None:
        local_part = f"www.evil{secrets.token_hex(4)}"
        user = newcomer(f"{local_part}@mail.example.org").sign_up(name="").ok()["user"]
        assert user["name"] == local_part.replace(".", " ")

    def test_mail_to_an_unverified_address_contains_no_text_of_the_caller(self, newcomer: Make) -> None:
        person = newcomer()
        person.sign_up(name="Prize draw winner").ok()
        (text,) = person.mailbox.texts()
        assert text.startswith("Your verification code\n")
        assert "Prize" not in text

    @pytest.mark.one_database
    def test_local_part_as_password_returns_400(self, newcomer: Make) -> None:
        person = newcomer(f"a-rather-long-local-part{secrets.token_hex(4)}@mail.example.org")
        person.sign_up(password=person.email.partition("@")[0]).fails(400, None, "password")

    def test_unknown_fields_are_not_stored(self, newcomer: Make) -> None:
        user = (
            newcomer()
            .sign_up(is_admin=True, role="admin", email_verified=True, emailVerified=True, id="usr_x")
            .ok()["user"]
        )
        assert (user["role"], user["emailVerified"]) == ("user", False)
        assert user["id"] != "usr_x"


class TestRepeatedSignUp:
    def test_different_passwords_before_verification_are_both_discarded(self, newcomer: Make) -> None:
        attacker = newcomer()
        attacker.sign_up().ok()
        victim = newcomer(attacker.email)
        victim.sign_up().ok()
        victim.verify().ok()
        attacker.sign_in().fails(401)
        victim.sign_in().fails(401)
        victim.world.work_off()
        assert "none of them was stored" in victim.mailbox.texts()[-1]

    def test_equal_password_before_verification_remains_valid(self, newcomer: Make) -> None:
        person = newcomer()
        person.sign_up().ok()
        person.sign_up().ok()
        person.verify().ok()
        person.sign_in().ok()


class TestVerifyEmail:
    def test_correct_code_verifies_signs_in_and_creates_the_default_organization(self, newcomer: Make) -> None:
        person = newcomer()
        person.sign_up()
        result = person.verify().ok()
        assert result["status"] is True
        assert result["user"]["emailVerified"] is True
        assert person.get("/auth/get-session").ok()["user"]["id"] == result["user"]["id"]
        assert [one["default"] for one in person.get("/organization/user").ok()] == [True]

    def test_code_is_accepted_under_its_alias_field_and_path(self, newcomer: Make) -> None:
        person = newcomer()
        person.sign_up()
        body = {"email": person.email, "code": person.mailbox.codes()[-1]}
        person.post("/auth/email-otp/verify-email", body).ok()

    def test_used_code_returns_400(self, newcomer: Make) -> None:
        person = newcomer().join()
        person.verify().fails(400, "INVALID_OTP")

    def test_sixth_attempt_returns_429_for_known_and_unknown_email(self, newcomer: Make, wrong) -> None:
        known, unknown = newcomer(), newcomer()
        known.sign_up()
        right = known.mailbox.codes()[-1]
        for person in (known, unknown):
            answers = [person.verify(wrong(right, n)) for n in range(1, 7)]
            assert [answer.status for answer in answers] == [400] * 5 + [429]
            assert answers[-1].json["code"] == "TOO_MANY_ATTEMPTS"
            assert int(answers[-1].headers["Retry-After"]) >= 1
        known.verify(right).fails(429, "TOO_MANY_ATTEMPTS")

    def test_new_code_resets_the_attempts_for_known_and_unknown_email(self, newcomer: Make, wrong, later) -> None:
        known, unknown = newcomer(), newcomer()
        known.sign_up()
        for person in (known, unknown):
            for n in range(6):
                person.verify(wrong(known.mailbox.codes()[0], n + 1))
        with later(seconds=CodeLimits.otp_resend_s + 1):
            for person in (known, unknown):
                person.post("/auth/send-verification-otp", {"email": person.email}).ok()
                person.world.work_off()
                person.verify(wrong(known.mailbox.codes()[-1])).fails(400, "INVALID_OTP")
            known.verify().ok()
        assert unknown.mailbox.texts() == []

    def test_replaced_code_returns_400(self, newcomer: Make, later) -> None:
        person = newcomer()
        person.sign_up()
        old = person.mailbox.codes()[0]
        with later(seconds=CodeLimits.otp_resend_s + 1):
            person.post("/auth/send-verification-otp", {"email": person.email}).ok()
            person.world.work_off()
            if person.mailbox.codes()[-1] != old:
                person.verify(old).fails(400, "INVALID_OTP")
            person.verify().ok()

    def test_expired_code_returns_400(self, newcomer: Make, later) -> None:
        person = newcomer()
        person.sign_up()
        with later(seconds=CodeLimits.otp_ttl_s + 1):
            person.verify().fails(400, "INVALID_OTP")

    def test_wrong_used_replaced_and_expired_codes_return_the_same_response(self, newcomer: Make, wrong, later) -> None:
        mistaken, done, hasty, late = (newcomer() for _ in range(4))
        for person in (mistaken, hasty, late):
            person.sign_up()
        done.join()
        old = hasty.mailbox.codes()[-1]
        with later(seconds=CodeLimits.otp_resend_s + 1):
            hasty.post("/auth/send-verification-otp", {"email": hasty.email}).ok()
            hasty.world.work_off()
        answers = [mistaken.verify(wrong(mistaken.mailbox.codes()[-1])), done.verify(), hasty.verify(old)]
        with later(seconds=CodeLimits.otp_ttl_s + 1):
            answers.append(late.verify())
        answers.append(newcomer().verify(old))
        assert [answer.fails(400, "INVALID_OTP")["code"] for answer in answers] == ["INVALID_OTP"] * 5
        assert len({outline(answer) for answer in answers}) == 1

    @pytest.mark.one_database
    def test_code_of_another_user_returns_400(self, newcomer: Make) -> None:
        one, two = newcomer(), newcomer()
        one.sign_up()
        two.sign_up()
        if one.mailbox.codes() != two.mailbox.codes():
            two.verify(one.mailbox.codes()[-1]).fails(400, "INVALID_OTP")

    @pytest.mark.one_database
    @pytest.mark.parametrize("otp", ["12345", "1234567", "12345a", "١٢٣٤٥٦", ["1"], 123456, None])
    def test_code_other_than_six_digits_returns_400(self, newcomer: Make, otp: object) -> None:
        newcomer().post("/auth/verify-email", {"email": "a@mail.example.org", "otp": otp}).fails(400, None, "otp")


class TestSendVerificationOtp:
    def test_second_request_within_a_minute_sends_no_code(self, newcomer: Make) -> None:
        person = newcomer()
        person.sign_up()
        person.post("/auth/email-otp/send-verification-otp", {"email": person.email, "type": "email-verification"}).ok()
        person.world.work_off()
        assert len(person.mailbox.codes()) == 1
        person.verify().ok()

    def test_codes_are_limited_to_five_per_hour(self, newcomer: Make, later) -> None:
        person = newcomer()
        person.sign_up()
        for n in range(1, 8):
            with later(seconds=(CodeLimits.otp_resend_s + 1) * n):
                person.post("/auth/send-verification-otp", {"email": person.email}).ok()
                person.world.work_off()
        assert len(person.mailbox.codes()) == 5

    def test_response_is_the_same_for_pending_known_and_unknown_email(self, newcomer: Make) -> None:
        pending, done, unknown = newcomer(), newcomer().join(), newcomer()
        pending.sign_up()
        answers = [
            one.post("/auth/send-verification-otp", {"email": one.email}).json for one in (pending, done, unknown)
        ]
        assert answers[0] == answers[1] == answers[2]
        unknown.world.work_off()
        assert len(done.mailbox.mails()) == 1
        assert unknown.mailbox.mails() == []


class TestSignIn:
    def test_email_with_white_space_and_capitals_signs_in(self, newcomer: Make) -> None:
        person = newcomer().join()
        person.sign_in(email=f"  {person.email.upper()}\n").ok()

    def test_sign_in_opens_a_session_with_a_new_token(self, newcomer: Make) -> None:
        person = newcomer().join()
        other = person.elsewhere()
        assert other.token
        assert other.token != person.token
        response = other.get("/auth/get-session")
        assert set(response.ok()["session"]) == {
            "id",
            "userId",
            "createdAt",
            "updatedAt",
            "expiresAt",
            "ipAddress",
            "userAgent",
        }
        assert other.token not in response.response.get_data(as_text=True)

    def test_cookie_is_http_only_and_persistent(self, newcomer: Make) -> None:
        cookie = newcomer().join().sign_in().headers["Set-Cookie"]
        assert cookie.startswith("session_token=")
        assert all(part in cookie for part in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"))

    def test_sign_in_without_remember_me_sets_a_session_cookie(self, newcomer: Make, later) -> None:
        person = newcomer().join()
        cookie = person.sign_in(rememberMe=False).headers["Set-Cookie"]
        assert "Max-Age" not in cookie
        assert "Expires" not in cookie
        with later(hours=25):
            person.get("/auth/get-session").fails(401)

    def test_wrong_password_and_unknown_email_return_the_same_response(self, newcomer: Make) -> None:
        known, unknown, pending = newcomer().join(), newcomer(), newcomer()
        pending.sign_up()
        answers = [
            one.sign_in("Wrong-password-1").fails(401, "INVALID_EMAIL_OR_PASSWORD") for one in (known, unknown, pending)
        ]
        assert answers[0] == answers[1] == answers[2]
        newcomer("no address").sign_in().fails(401, "INVALID_EMAIL_OR_PASSWORD")

    def test_unverified_email_with_correct_password_returns_403_and_mails_a_code(self, newcomer: Make, later) -> None:
        person = newcomer()
        person.sign_up()
        person.sign_in().fails(403, "EMAIL_NOT_VERIFIED")
        person.world.work_off()
        assert len(person.mailbox.codes()) == 1
        with later(seconds=CodeLimits.otp_resend_s + 1):
            person.sign_in().fails(403, "EMAIL_NOT_VERIFIED")
            person.world.work_off()
        assert len(person.mailbox.codes()) == 2
        assert person.token is None

    def test_sign_in_beyond_twenty_sessions_ends_the_oldest(self, newcomer: Make) -> None:
        person = newcomer().join()
        for _ in range(20):
            person.elsewhere()
        person.get("/auth/get-session").fails(401)

    def test_password_is_compared_without_normalization(self, newcomer: Make) -> None:
        person = newcomer()
        person.password = "  Ünï-pass with spaces  "
        person.join()
        person.sign_in(person.password.strip()).fails(401)
        person.sign_in().ok()


class TestSession:
    def test_session_expires_after_a_week_without_use(self, newcomer: Make, later) -> None:
        person = newcomer().join()
        with later(days=6):
            person.get("/auth/get-session").ok()
        with later(days=12):
            person.get("/auth/get-session").ok()
        with later(days=20):
            person.get("/auth/get-session").fails(401)

    def test_session_expires_after_thirty_days_of_use(self, newcomer: Make, later) -> None:
        person = newcomer().join()
        for day in (6, 12, 18, 24, 29):
            with later(days=day):
                person.get("/auth/get-session").ok()
        with later(days=31):
            person.get("/auth/get-session").fails(401)

    def test_unknown_token_returns_401(self, newcomer: Make) -> None:
        person = newcomer()
        person.client.set_cookie("session_token", "A" * 43)
        person.get("/auth/get-session").fails(401)


class TestSignOut:
    def test_sign_out_ends_only_the_current_session_and_clears_the_cookie(self, newcomer: Make) -> None:
        person = newcomer().join()
        other, token = person.elsewhere(), person.token
        assert person.post("/auth/sign-out", {}).ok() == {"success": True}
        assert not person.token
        person.client.set_cookie("session_token", token or "")
        person.get("/auth/get-session").fails(401)
        other.get("/auth/get-session").ok()

    def test_sign_out_without_a_session_succeeds(self, world: World) -> None:
        assert world.anonymous().post("/auth/sign-out", {}).ok() == {"success": True}


class TestRepeatedSignUpAfterPurge:
    def test_discarded_passwords_stay_invalid_after_the_purge_of_codes(self, newcomer: Make) -> None:
        attacker = newcomer()
        attacker.sign_up().ok()
        victim = newcomer(attacker.email)
        victim.sign_up().ok()
        with victim.app.app_context():
            ours = sa.update(OneTimeCode).where(OneTimeCode.email_key == victim.email)
            db.session.execute(ours.values(updated_at=utcnow_ms() - timedelta(days=3), sent_times=""))
            db.session.commit()
            registry["system.purge"].run()
        victim.post("/auth/send-verification-otp", {"email": victim.email}).ok()
        victim.world.work_off()
        victim.verify().ok()
        attacker.sign_in().fails(401)
