"""Set-ups that are confirmed later, and passkeys of sessions that have proved the password only."""

from collections.abc import Callable
from datetime import timedelta

from app.core import clock
from app.core.limits import SessionLimits
from tests.support.authenticator import Authenticator
from tests.support.new_account import Newcomer
from tests.support.second_factor import AuthenticatorApp, ProtectedPerson
from tests.support.world import World

Make = Callable[..., Newcomer]
OLD = timedelta(seconds=SessionLimits.recent_s + 1)


def begun(person: Newcomer) -> AuthenticatorApp:
    """Begin a set-up and return its app."""
    return AuthenticatorApp(person.post("/auth/two-factor/enable", {"password": person.password}).ok()["totpURI"])


def test_first_code_needs_a_recent_session(newcomer: Make) -> None:
    person = newcomer().join()
    app = begun(person)
    with clock.shifted(OLD):
        person.post("/auth/two-factor/verify-totp", {"code": app.code()}).fails(403, "REAUTH_REQUIRED")
        page = person.client.get("/console/account/second-factor").text
        assert app.secret not in page
    person.post("/auth/two-factor/verify-totp", {"code": app.code()}).ok()


def test_password_alone_neither_deletes_the_passkey_nor_confirms_an_earlier_set_up(
    newcomer: Make, world: World
) -> None:
    owner, person = newcomer().join(), newcomer().join()
    app = begun(person)
    key = Authenticator().create(person.get("/auth/passkey/generate-register-options").ok())
    passkey = person.post("/auth/passkey/verify-registration", {"response": key}).ok()
    org_id = str(owner.post("/organization", {"org_name": "Harbour"}).ok(201)["org_id"])
    owner.call("PATCH", f"/organization/member/{org_id}", {"email": person.email, "role": "editor"}).ok()
    owner.patch(f"/organization/{org_id}", {"require_second_factor": True}).ok()
    thief = person.elsewhere()
    thief.post("/auth/passkey/delete-passkey", {"id": passkey["id"]}).fails(403, "SECOND_FACTOR_REQUIRED")
    thief.post("/auth/two-factor/verify-totp", {"code": app.code()}).fails(400, "TOTP_NOT_ENABLED")
    person.post("/auth/two-factor/verify-totp", {"code": app.code()}).fails(403, "SECOND_FACTOR_REQUIRED")
    thief.post("/auth/two-factor/enable", {"password": person.password}).fails(403, "SECOND_FACTOR_REQUIRED")
    thief.get(f"/organization/{org_id}").fails(403, "SECOND_FACTOR_REQUIRED")


def test_other_sessions_neither_read_nor_confirm_a_set_up(newcomer: Make) -> None:
    """A person who knew the password can have begun it and know its secret."""
    person = newcomer().join()
    planted, owner = begun(person), person.elsewhere()
    assert planted.secret not in owner.client.get("/console/account/second-factor").text
    owner.post("/auth/two-factor/get-totp-uri", {"password": person.password}).fails(400, "TOTP_NOT_ENABLED")
    owner.post("/auth/two-factor/verify-totp", {"code": planted.code()}).fails(400, "TOTP_NOT_ENABLED")
    own = begun(owner)
    person.post("/auth/two-factor/verify-totp", {"code": own.code()}).fails(400, "TOTP_NOT_ENABLED")
    owner.post("/auth/two-factor/verify-totp", {"code": own.code()}).ok()


def test_change_of_the_password_ends_waiting_sign_ins_and_the_trust_in_browsers(newcomer: Make) -> None:
    protected = ProtectedPerson(newcomer().join())
    person, trusted, waiting = protected.person, protected.challenged(), protected.challenged()
    protected.verify(protected.app.code(), browser=trusted, trustDevice=True).ok()
    change = {"currentPassword": person.password, "newPassword": "Quiet-Harbour-New-1", "revokeOtherSessions": True}
    person.post("/auth/change-password", change).ok()
    waiting.post("/auth/two-factor/verify-backup-code", {"code": protected.backup_codes[0]}).fails(401)
    assert trusted.sign_in("Quiet-Harbour-New-1").ok()["twoFactorRedirect"] is True
    assert person.get("/auth/two-factor/trusted-devices").ok() == []


def test_owner_resets_a_member_without_another_way_than_a_lost_passkey(newcomer: Make, world: World) -> None:
    owner, person = newcomer().join(), newcomer().join()
    key = Authenticator().create(person.get("/auth/passkey/generate-register-options").ok())
    person.post("/auth/passkey/verify-registration", {"response": key}).ok()
    user_id = str(person.get("/auth/get-session").ok()["user"]["id"])
    org_id = str(owner.post("/organization", {"org_name": "Harbour"}).ok(201)["org_id"])
    owner.call("PATCH", f"/organization/member/{org_id}", {"email": person.email, "role": "editor"}).ok()
    reset = f"/organization/{org_id}/member/{user_id}/reset-second-factor"
    owner.post(reset).ok()
    world.work_off()
    earlier = person.mailbox.tokens()[-1]
    owner.post(reset).ok()
    person.post("/auth/two-factor/reset", {"token": earlier, "password": person.password}).fails(400, "INVALID_TOKEN")
    world.work_off()
    newest = {"token": person.mailbox.tokens()[-1], "password": person.password}
    person.post("/auth/two-factor/reset", newest).ok()
    person.sign_in().ok()
    assert person.get("/auth/passkey/list-user-passkeys").ok() == []
    owner.post(reset).fails(400, "TWO_FACTOR_NOT_ENABLED")
