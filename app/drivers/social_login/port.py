"""What a login at somebody else's promises, whichever protocol it speaks (contract 4.2: social login)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Attempt:
    """One sign-in under way: what is sent along and must come back, or be shown again."""

    state: str
    code_verifier: str
    nonce: str
    redirect_uri: str


@dataclass(frozen=True)
class Identity:
    """Who the provider says somebody is; `subject` never changes there, the e-mail may."""

    subject: str
    email: str | None
    email_verified: bool
    name: str | None


class SocialLogin(Protocol):
    """One provider; safe to share between greenlets."""

    def authorization_url(self, attempt: Attempt) -> str:
        """Where the browser is sent.

        Raises:
            Absent, Late, Broken: the provider had to be asked, and did not tell.
        """

    def identify(self, code: str, attempt: Attempt) -> Identity:
        """Exchange the code that came back for who it is.

        Raises:
            Rejected: the provider does not know the code, or what it says of the person does not hold.
            Absent, Late, Broken: the provider cannot be asked.
        """


SocialLogins = Mapping[str, SocialLogin]
"""The configured providers by the specification's names, `social_a` and `social_b`."""
