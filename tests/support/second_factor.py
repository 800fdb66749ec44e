"""Second factors of users of the tests."""

from urllib.parse import parse_qs, urlsplit

import pyotp

from app.core import clock
from tests.support.new_account import Newcomer
from tests.support.world import Answer

STEP_S = 30


class AuthenticatorApp:
    """An authenticator app with the secret of a URI."""

    def __init__(self, uri: str) -> None:
        self.uri, self.secret = uri, parse_qs(urlsplit(uri).query)["secret"][0]

    def code(self, steps: int = 0) -> str:
        """Return the code of the present time step, or of a later or earlier one."""
        return pyotp.TOTP(self.secret).at(clock.now(), counter_offset=steps)

    def wrong_code(self) -> str:
        """Return a code of no step within two steps of the present one."""
        valid = {self.code(steps) for steps in range(-2, 3)}
        return next(f"{number:06}" for number in range(10) if f"{number:06}" not in valid)


class ProtectedPerson:
    """A person with an authenticator app and backup codes. The code of the previous time step confirmed the app."""

    def __init__(self, person: Newcomer) -> None:
        self.person = person
        enabled = person.post("/auth/two-factor/enable", {"password": person.password}).ok()
        self.app, self.backup_codes = AuthenticatorApp(enabled["totpURI"]), enabled["backupCodes"]
        self.verify(self.app.code(-1)).ok()

    def verify(self, code: str, *, browser: Newcomer | None = None, **more: object) -> Answer:
        """Send a code of the app, in the browser of the person or another one."""
        return (browser or self.person).post("/auth/two-factor/verify-totp", {"code": code} | more)

    def challenged(self) -> Newcomer:
        """Return another browser whose sign-in waits for the second factor."""
        other = Newcomer(self.person.app, self.person.world, self.person.email)
        other.password, other.name = self.person.password, self.person.name
        assert other.sign_in().ok()["twoFactorRedirect"] is True
        return other
