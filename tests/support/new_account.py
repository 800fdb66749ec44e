"""Users that sign up with the mailed code and sign in."""

import secrets
from typing import Any

from flask import Flask

from tests.support.assertions.mailbox import Mailbox
from tests.support.world import Answer, Browser, World


class Newcomer(Browser):
    """A user without an account, with a mailbox."""

    def __init__(self, app: Flask, world: World, address: str | None = None) -> None:
        super().__init__(app)
        tag = secrets.token_hex(5)
        self.world, self.email = world, address or f"n{tag}@mail.example.org"
        self.password, self.name = f"Quiet-Harbour-{tag}", f"Newcomer {tag}"
        self.mailbox = Mailbox(app.config["SETTINGS"].mail.directory, self.email)

    def sign_up(self, **more: Any) -> Answer:
        answer = self.post(
            "/auth/sign-up/email", {"email": self.email, "password": self.password, "name": self.name} | more
        )
        self.world.work_off()
        return answer

    def verify(self, code: str | None = None) -> Answer:
        return self.post("/auth/verify-email", {"email": self.email, "otp": code or self.mailbox.codes()[-1]})

    def join(self) -> "Newcomer":
        self.sign_up().ok()
        self.verify().ok()
        return self

    def sign_in(self, password: str | None = None, **more: Any) -> Answer:
        return self.post("/auth/sign-in/email", {"email": self.email, "password": password or self.password} | more)

    def elsewhere(self) -> "Newcomer":
        """Return the same person, signed in from another browser."""
        other = Newcomer(self.app, self.world, self.email)
        other.password, other.name = self.password, self.name
        other.sign_in().ok()
        return other

    @property
    def token(self) -> str | None:
        """Return the value of the session cookie."""
        cookie = self.client.get_cookie("session_token")
        return cookie.value if cookie else None

    @property
    def session_id(self) -> str:
        return str(self.get("/auth/get-session").ok()["session"]["id"])
