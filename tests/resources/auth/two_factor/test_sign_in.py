"""Tests of the second factor: set-up, sign-in, backup codes, trusted devices and removal."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from app.core import clock
from app.database import transactions
from app.extensions import db, keyring
from app.models.login import Session
from app.models.second_factor import BackupCode, SecondFactor
from app.resources.auth.two_factor.service import SECRETS
from app.resources.git_provider.token_encryption import rekey
from app.security.secrets import Keyring, associated_data
from tests.support.new_account import Newcomer
from tests.support.parallel import patiently, statuses, together
from tests.support.second_factor import STEP_S, AuthenticatorApp, ProtectedPerson
from tests.support.world import World

Make = Callable[..., Newcomer]


@pytest.fixture
def protected(newcomer: Make) -> ProtectedPerson:
    """Return a person with an authenticator app."""
    return ProtectedPerson(newcomer().join())


def enable(person: Newcomer, **more: object) -> dict[str, object]:
    result: dict[str, object] = person.post("/auth/two-factor/enable", {"password": person.password} | more).ok()
    return result


class TestSetUp:
    def test_enable_returns_a_uri_and_ten_backup_codes_and_requires_nothing_yet(self, newcomer: Make) -> None:
        person = newcomer().join()
        enabled = enable(person)
        assert str(enabled["totpURI"]).startswith("otpauth://totp/Galley:")
        assert (enabled["method"], len(set(enabled["backupCodes"]))) == ("totp", 10)  # type: ignore[arg-type]
        assert person.get("/auth/get-session").ok()["user"]["twoFactorEnabled"] is False
        assert "twoFactorRedirect" not in person.elsewhere().sign_in().ok()

    def test_first_code_confirms_the_app_and_ends_other_sessions(self, newcomer: Make) -> None:
        person = newcomer().join()
        other = person.elsewhere()
        app = AuthenticatorApp(str(enable(person)["totpURI"]))
        result = person.post("/auth/two-factor/verify-totp", {"code": app.code()}).ok()
        assert (result["token"], result["user"]["twoFactorEnabled"], result["remainingBackupCodes"]) == (None, True, 10)
        other.get("/auth/get-session").fails(401)
        person.get("/auth/get-session").ok()
        person.world.work_off()
        assert "second factor was turned on" in person.mailbox.texts()[-1]

    def test_backup_codes_alone_are_no_factor(self, newcomer: Make) -> None:
        person = newcomer().join()
        code = enable(person)["backupCodes"][0]  # type: ignore[index]
        person.post("/auth/two-factor/verify-backup-code", {"code": code}).fails(400, "TWO_FACTOR_NOT_ENABLED")
        person.post("/auth/two-factor/generate-backup-codes", {"password": person.password}).fails(
            400, "TWO_FACTOR_NOT_ENABLED"
        )
        assert person.sign_in().ok()["user"]["id"]

    def test_second_app_is_refused_and_its_uri_can_be_read_again(self, protected: ProtectedPerson) -> None:
        person = protected.person
        person.post("/auth/two-factor/enable", {"password": person.password}).fails(400, "TOTP_ALREADY_ENABLED")
        uri = person.post("/auth/two-factor/get-totp-uri", {"password": person.password}).ok()["totpURI"]
        assert uri == protected.app.uri

    @pytest.mark.parametrize("path", ["enable", "disable", "get-totp-uri", "generate-backup-codes"])
    def test_change_needs_the_password_or_a_recent_sign_in(self, newcomer: Make, path: str) -> None:
        person = newcomer().join()
        person.post(f"/auth/two-factor/{path}", {"password": "Wrong-harbour-1"}).fails(400, "INVALID_PASSWORD")
        with person.app.app_context(), db.engine.begin() as connection:
            old = clock.now() - timedelta(days=1)
            connection.execute(sa.update(Session).where(Session.id == person.session_id).values(created_at=old))
        person.post(f"/auth/two-factor/{path}", {}).fails(403, "REAUTH_REQUIRED")

    def test_secret_is_encrypted_and_rotated(self, protected: ProtectedPerson) -> None:
        with protected.person.app.app_context():
            with transactions.write_transaction():
                row = db.session.scalars(sa.select(SecondFactor).order_by(SecondFactor.created_at.desc())).all()[0]
                row_id, stored = row.id, row.totp_secret or ""
                aad = associated_data("second_factors", row_id, "totp")
                row.totp_secret = Keyring([("old", b"t" * 32)]).encrypt(keyring.decrypt(stored, aad=aad), aad=aad)
                db.session.execute(sa.delete(SecondFactor).where(SecondFactor.id != row_id))
            ring = Keyring([("next", b"n" * 32), ("old", b"t" * 32)])
            assert protected.app.secret not in stored
            assert rekey(ring, (SECRETS,)).rows == 1
            rotated = db.session.get_one(SecondFactor, row_id, populate_existing=True).totp_secret or ""
            assert rotated.startswith("next:")
            assert ring.decrypt(rotated, aad=aad) == protected.app.secret


class TestSignIn:
    def test_sign_in_with_a_factor_starts_no_session(self, protected: ProtectedPerson) -> None:
        person = protected.person
        other = protected.challenged()
        answer = other.sign_in()
        assert answer.json["twoFactorRedirect"] is True
        assert answer.json["twoFactorMethods"] == ["totp"]
        assert "user" not in answer.json["result"]
        assert other.token is None
        other.get("/auth/get-session").fails(401)
        cookie = other.client.get_cookie("two_factor")
        assert cookie is not None
        assert (cookie.max_age, cookie.http_only, cookie.same_site) == (600, True, "Lax")
        result = protected.verify(protected.app.code(), browser=other).ok()
        assert result["user"]["email"] == person.email
        assert other.get("/auth/get-session").ok()["user"]["twoFactorEnabled"] is True
        assert other.client.get_cookie("two_factor") is None

    def test_session_ends_with_the_browser_without_remember_me(self, protected: ProtectedPerson) -> None:
        other = protected.challenged()
        other.sign_in(rememberMe=False).ok()
        protected.verify(protected.app.code(), browser=other).ok()
        cookie = other.client.get_cookie("session_token")
        assert cookie is not None
        assert cookie.max_age is None

    @pytest.mark.parametrize("steps", [-1, 0, 1])
    def test_code_of_a_neighbouring_step_is_accepted(self, protected: ProtectedPerson, steps: int) -> None:
        with clock.shifted(timedelta(seconds=3 * STEP_S)):
            protected.verify(protected.app.code(steps), browser=protected.challenged()).ok()

    @pytest.mark.parametrize("steps", [-2, 2])
    def test_code_outside_of_the_window_is_refused(self, protected: ProtectedPerson, steps: int) -> None:
        with clock.shifted(timedelta(seconds=5 * STEP_S)):
            protected.verify(protected.app.code(steps), browser=protected.challenged()).fails(401, "INVALID_CODE")

    def test_code_counts_once_and_earlier_ones_are_refused_afterwards(self, protected: ProtectedPerson) -> None:
        with clock.shifted(timedelta(seconds=5 * STEP_S)):
            code, earlier = protected.app.code(), protected.app.code(-1)
            protected.verify(code, browser=protected.challenged()).ok()
            protected.verify(code, browser=protected.challenged()).fails(401, "INVALID_CODE")
            protected.verify(earlier, browser=protected.challenged()).fails(401, "INVALID_CODE")

    def test_challenge_expires_after_ten_minutes(self, protected: ProtectedPerson) -> None:
        other = protected.challenged()
        with clock.shifted(timedelta(minutes=10, seconds=1)):
            protected.verify(protected.app.code(), browser=other).fails(401, "INVALID_TWO_FACTOR_COOKIE")

    def test_challenge_of_another_person_does_not_accept_the_own_code(self, newcomer: Make) -> None:
        victim, attacker = ProtectedPerson(newcomer().join()), ProtectedPerson(newcomer().join())
        browser = victim.challenged()
        attacker.verify(attacker.app.code(), browser=browser).fails(401, "INVALID_CODE")
        browser.get("/auth/get-session").fails(401)

    def test_code_without_challenge_or_session_is_refused(self, newcomer: Make) -> None:
        browser = newcomer()
        browser.post("/auth/two-factor/verify-totp", {"code": "000000"}).fails(401, "INVALID_TWO_FACTOR_COOKIE")
        browser.post("/auth/two-factor/send-otp").fails(401, "INVALID_TWO_FACTOR_COOKIE")

    def test_five_wrong_codes_lock_the_factor_in_each_browser(self, protected: ProtectedPerson) -> None:
        for _ in range(5):
            browser = protected.challenged()
            protected.verify(protected.app.wrong_code(), browser=browser).fails(401, "INVALID_CODE")
        answer = protected.verify(protected.app.code(), browser=protected.challenged())
        answer.fails(429, "ACCOUNT_TEMPORARILY_LOCKED")
        assert 0 < int(answer.headers["Retry-After"]) <= 900
        browser.post("/auth/two-factor/verify-backup-code", {"code": protected.backup_codes[0]}).fails(429)
        with clock.shifted(timedelta(minutes=15, seconds=1)):
            protected.verify(protected.app.code(), browser=protected.challenged()).ok()

    def test_correct_code_clears_the_count_of_wrong_ones(self, protected: ProtectedPerson) -> None:
        for turn in range(2):
            with clock.shifted(timedelta(seconds=turn * STEP_S)):
                browser = protected.challenged()
                for _ in range(4):
                    protected.verify(protected.app.wrong_code(), browser=browser).fails(401)
                protected.verify(protected.app.code(), browser=browser).ok()

    def test_password_reset_does_not_remove_the_factor(self, protected: ProtectedPerson) -> None:
        person = protected.person
        person.post("/auth/forget-password", {"email": person.email}).ok()
        person.world.work_off()
        person.password = "Other-Harbour-2"
        body = {"token": person.mailbox.tokens()[-1], "newPassword": person.password}
        person.post("/auth/reset-password", body).ok()
        protected.verify(protected.app.code(), browser=protected.challenged()).ok()


class TestBackupCodes:
    def test_backup_code_signs_in_once(self, protected: ProtectedPerson) -> None:
        browser = protected.challenged()
        code = protected.backup_codes[0].upper().replace("-", " ")
        result = browser.post("/auth/two-factor/verify-backup-code", {"code": code}).ok()
        assert (result["remainingBackupCodes"], result["fewBackupCodes"]) == (9, False)
        browser.get("/auth/get-session").ok()
        again = protected.challenged().post("/auth/two-factor/verify-backup-code", {"code": code})
        again.fails(401, "INVALID_BACKUP_CODE")

    def test_last_two_codes_are_announced(self, protected: ProtectedPerson) -> None:
        results = []
        for code in protected.backup_codes[:8]:
            results.append(protected.person.post("/auth/two-factor/verify-backup-code", {"code": code}).ok())
        assert [result["fewBackupCodes"] for result in results] == [False] * 7 + [True]

    def test_new_codes_replace_the_previous_ones(self, protected: ProtectedPerson) -> None:
        person = protected.person
        codes = person.post("/auth/two-factor/generate-backup-codes", {"password": person.password}).ok()["backupCodes"]
        browser = protected.challenged()
        browser.post("/auth/two-factor/verify-backup-code", {"code": protected.backup_codes[0]}).fails(401)
        browser.post("/auth/two-factor/verify-backup-code", {"code": codes[0]}).ok()

    def test_code_with_disabled_session_starts_none(self, protected: ProtectedPerson) -> None:
        browser = protected.challenged()
        body = {"code": protected.backup_codes[0], "disableSession": True, "trustDevice": True}
        assert browser.post("/auth/two-factor/verify-backup-code", body).ok()["user"]["email"] == browser.email
        browser.get("/auth/get-session").fails(401)
        assert browser.client.get_cookie("trust_device") is None

    def test_codes_are_stored_hashed(self, protected: ProtectedPerson) -> None:
        with protected.person.app.app_context():
            stored = set(db.session.scalars(sa.select(BackupCode.code_hash)))
        assert not stored & {code.replace("-", "") for code in protected.backup_codes}
        assert {len(hashed) for hashed in stored} == {64}


class TestMailCodes:
    def test_mailed_code_signs_in_once(self, newcomer: Make, world: World) -> None:
        person = newcomer().join()
        enabled = enable(person, method="otp")
        assert (enabled["method"], enabled["totpURI"], len(enabled["backupCodes"])) == ("otp", None, 10)  # type: ignore[arg-type]
        browser, other = newcomer(person.email), newcomer(person.email)
        assert browser.sign_in(person.password).ok()["twoFactorMethods"] == ["otp"]
        other.sign_in(person.password).ok()
        browser.post("/auth/two-factor/send-otp").ok()
        browser.post("/auth/two-factor/send-otp").fails(429)
        world.work_off()
        body = {"code": person.mailbox.codes()[-1]}
        browser.post("/auth/two-factor/verify-otp", body).ok()
        browser.get("/auth/get-session").ok()
        other.post("/auth/two-factor/verify-otp", body).fails(401, "INVALID_CODE")

    def test_mailed_code_expires(self, newcomer: Make, world: World) -> None:
        person = newcomer().join()
        enable(person, method="otp")
        person.post("/auth/two-factor/send-otp").ok()
        world.work_off()
        with clock.shifted(timedelta(minutes=10, seconds=1)):
            code = {"code": person.mailbox.codes()[-1]}
            person.post("/auth/two-factor/verify-otp", code).fails(401, "INVALID_CODE")

    def test_person_with_an_app_cannot_use_mailed_codes(self, protected: ProtectedPerson) -> None:
        browser = protected.challenged()
        browser.post("/auth/two-factor/send-otp").fails(400, "OTP_NOT_ENABLED")
        browser.post("/auth/two-factor/verify-otp", {"code": "000000"}).fails(400, "OTP_NOT_ENABLED")
        browser.get("/auth/get-session").fails(401)


class TestTrustedDevices:
    def test_trusted_device_signs_in_without_a_code_for_thirty_days(self, protected: ProtectedPerson) -> None:
        browser = protected.challenged()
        protected.verify(protected.app.code(), browser=browser, trustDevice=True).ok()
        browser.post("/auth/sign-out").ok()
        assert browser.sign_in().ok()["user"]["email"] == browser.email
        with clock.shifted(timedelta(days=30, seconds=1)):
            assert browser.sign_in().ok()["twoFactorRedirect"] is True

    def test_trusted_devices_are_listed_and_ended(self, protected: ProtectedPerson) -> None:
        browser = protected.challenged()
        protected.verify(protected.app.code(), browser=browser, trustDevice=True).ok()
        [device] = browser.get("/auth/two-factor/trusted-devices").ok()
        assert set(device) == {"id", "userAgent", "ipAddress", "createdAt", "lastUsedAt", "expiresAt"}
        browser.post("/auth/two-factor/revoke-trusted-device", {"id": device["id"]}).ok()
        assert browser.get("/auth/two-factor/trusted-devices").ok() == []
        assert browser.sign_in().ok()["twoFactorRedirect"] is True

    def test_device_of_another_person_is_not_trusted_or_ended(self, newcomer: Make) -> None:
        victim, attacker = ProtectedPerson(newcomer().join()), ProtectedPerson(newcomer().join())
        browser = attacker.challenged()
        attacker.verify(attacker.app.code(), browser=browser, trustDevice=True).ok()
        [device] = browser.get("/auth/two-factor/trusted-devices").ok()
        victim.person.post("/auth/two-factor/revoke-trusted-device", {"id": device["id"]}).ok()
        assert len(browser.get("/auth/two-factor/trusted-devices").ok()) == 1
        browser.email, browser.password = victim.person.email, victim.person.password
        assert browser.sign_in().ok()["twoFactorRedirect"] is True


class TestDisable:
    def test_disabled_factor_removes_codes_and_devices(self, protected: ProtectedPerson) -> None:
        person, browser = protected.person, protected.challenged()
        code = protected.app.code()
        protected.verify(code, browser=browser, trustDevice=True).ok()
        waiting = protected.challenged()
        person.post("/auth/two-factor/disable", {"password": person.password}).ok()
        protected.verify(protected.app.code(1), browser=waiting).fails(401, "INVALID_TWO_FACTOR_COOKIE")
        assert person.elsewhere().sign_in().ok()["user"]["twoFactorEnabled"] is False
        protected.verify(protected.app.code(1)).fails(400, "TOTP_NOT_ENABLED")
        assert person.get("/auth/two-factor/trusted-devices").ok() == []
        person.world.work_off()
        assert "second factor was removed" in person.mailbox.texts()[-1]


class TestParallelProofs:
    def test_code_signs_in_a_single_browser_of_twenty(self, newcomer: Make) -> None:
        protected = ProtectedPerson(newcomer().join())
        browsers, code = [protected.challenged() for _ in range(20)], protected.app.code()
        calls = [patiently(lambda browser=browser: protected.verify(code, browser=browser)) for browser in browsers]  # type: ignore[misc]
        assert statuses(together(calls))[200] == 1

    def test_backup_code_signs_in_a_single_browser_of_twenty(self, newcomer: Make) -> None:
        protected = ProtectedPerson(newcomer().join())
        browsers, body = [protected.challenged() for _ in range(20)], {"code": protected.backup_codes[0]}
        calls = [
            patiently(lambda browser=browser: browser.post("/auth/two-factor/verify-backup-code", body))  # type: ignore[misc]
            for browser in browsers
        ]
        assert statuses(together(calls))[200] == 1

    def test_challenge_opens_a_single_session_for_different_codes(self, newcomer: Make) -> None:
        protected = ProtectedPerson(newcomer().join())
        browser = protected.challenged()
        cookie = browser.client.get_cookie("two_factor")
        assert cookie is not None

        def send(code: str) -> Callable[[], object]:
            copy = newcomer(protected.person.email)
            copy.client.set_cookie("two_factor", cookie.value)
            return lambda: copy.post("/auth/two-factor/verify-backup-code", {"code": code})

        answers = together([patiently(send(code)) for code in protected.backup_codes * 2])  # type: ignore[arg-type]
        assert statuses(answers)[200] == 1
        assert len(protected.person.get("/auth/list-sessions").ok()) == 2
