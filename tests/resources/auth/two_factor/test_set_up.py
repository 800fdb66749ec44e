"""Set-ups that are confirmed later, and passkeys of sessions that have proved the password only."""

from collections.abc import Callable
from datetime import timedelta

from app.core import clock
from app.core.limits import SessionLimits
from tests.support.authenticator import Authenticator
from tests.support.new_account import Newcomer
from tests.support.second_factor import AuthenticatorApp
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
    thief.post("/auth/two-factor/verify-totp", {"code": app.code()}).fails(403, "SECOND_FACTOR_REQUIRED")
    thief.get(f"/organization/{org_id}").fails(403, "SECOND_FACTOR_REQUIRED")
