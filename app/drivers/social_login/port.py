"""Port of social login providers (contract 4.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class AuthorizationRequest:
    """The secrets of one sign-in."""

    state: str
    code_verifier: str
    nonce: str
    redirect_uri: str


@dataclass(frozen=True)
class Identity:
    """An identity at the provider. `subject` never changes, the e-mail address may."""

    subject: str
    email: str | None
    email_verified: bool
    name: str | None


class SocialLogin(Protocol):
    """A provider. Safe to share between greenlets."""

    def authorization_url(self, attempt: AuthorizationRequest) -> str:
        """Return the URL to which the browser is sent.

        Raises:
            UpstreamUnavailable, UpstreamTimeout, UpstreamError: the configuration of the provider cannot be read.
        """

    def identify(self, code: str, attempt: AuthorizationRequest) -> Identity:
        """Exchange a code for the identity.

        Raises:
            UpstreamRejected: the provider refuses the code, or the identity is not valid.
            UpstreamUnavailable, UpstreamTimeout, UpstreamError: the provider cannot be called.
        """


SocialLogins = Mapping[str, SocialLogin]
"""The configured providers by the specification's names, `social_a` and `social_b`."""
