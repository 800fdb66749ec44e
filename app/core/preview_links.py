"""Signed words that let one member into one preview: first in a link, then in a cookie of the preview's own host."""

from urllib.parse import urlencode

from itsdangerous import BadData, URLSafeTimedSerializer

PARAMETER = "preview_token"
COOKIE, SECURE_COOKIE = "preview_session", "__Host-preview_session"
"""The second where previews are https: no other preview's page can set a cookie of that name for this one."""

LINK_AGE_S = 300
"""A link lets in whoever has it, so it is for opening at once; every answer brings a new one."""

COOKIE_AGE_S = 2 * 3600
"""Longer than any sandbox lives; what ends an admission is the sandbox's or the membership's end."""


class Links:
    """Makes and reads them with the service's secret; a link is no cookie and a cookie no link."""

    def __init__(self, secret_key: str) -> None:
        self._links = URLSafeTimedSerializer(secret_key, salt="preview-link")
        self._cookies = URLSafeTimedSerializer(secret_key, salt="preview-cookie")

    def query(self, label: str, user_id: str) -> str:
        """The query that a link carries."""
        return urlencode({PARAMETER: self._links.dumps([label, user_id])})

    def cookie(self, label: str, user_id: str) -> str:
        """The value of the cookie."""
        signed = self._cookies.dumps([label, user_id])
        return signed if isinstance(signed, str) else signed.decode()

    def user_of_link(self, token: str, label: str) -> str | None:
        """Whom a link lets into that preview; None for a forged, old or other preview's one."""
        return _user(self._links, token, label, LINK_AGE_S)

    def user_of_cookie(self, token: str, label: str) -> str | None:
        """Whom a cookie lets into that preview."""
        return _user(self._cookies, token, label, COOKIE_AGE_S)


def _user(signer: URLSafeTimedSerializer, token: str, label: str, max_age_s: int) -> str | None:
    try:
        told = signer.loads(token, max_age=max_age_s)
    except BadData:
        return None
    return told[1] if isinstance(told, list) and len(told) == 2 and told[0] == label else None
