"""Signed cookies of guests with a review link: their name, and whether they have sent the password of the link."""

from dataclasses import dataclass

from itsdangerous import BadData, URLSafeTimedSerializer

COOKIE = "review_guest"
"""The name of the cookie. Its path is the page of the link."""

AGE_S = 30 * 86400


@dataclass(frozen=True)
class GuestCookie:
    """The content of a cookie. `password` is the digest of the stored hash of the password that the guest has sent."""

    name: str | None = None
    password: str | None = None


class GuestCookieSigner:
    """Signer of the cookies of links. A cookie is valid for one link only."""

    def __init__(self, secret_key: str) -> None:
        self._serializer = URLSafeTimedSerializer(secret_key, salt="review-guest")

    def sign(self, link_id: str, cookie: GuestCookie) -> str:
        signed = self._serializer.dumps([link_id, cookie.name, cookie.password])
        return signed if isinstance(signed, str) else signed.decode()

    def read(self, value: str, link_id: str) -> GuestCookie:
        """Return the content of a cookie, which is empty for an invalid one."""
        try:
            payload = self._serializer.loads(value, max_age=AGE_S)
        except BadData:
            return GuestCookie()
        is_own = isinstance(payload, list) and len(payload) == 3 and payload[0] == link_id
        return GuestCookie(*payload[1:]) if is_own else GuestCookie()
