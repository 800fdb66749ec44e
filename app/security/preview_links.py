"""Signed tokens that admit one member to one preview: in a link and in a cookie of the preview host."""

from urllib.parse import urlencode

from itsdangerous import BadData, URLSafeTimedSerializer

PARAMETER = "preview_token"
COOKIE, SECURE_COOKIE = "preview_session", "__Host-preview_session"
"""Cookie names. The second is used with https, because other previews cannot set it."""

LINK_AGE_S = 300
"""Lifetime of a link. It admits every holder, so it is short. Each response contains a new one."""

COOKIE_AGE_S = 2 * 3600
"""Lifetime of a cookie.

It exceeds the lifetime of a sandbox; the end of the sandbox or membership ends the admission.
"""


class PreviewLinkSigner:
    """Signer of links and cookies with the secret of the service. Each kind has its own salt."""

    def __init__(self, secret_key: str) -> None:
        self._links = URLSafeTimedSerializer(secret_key, salt="preview-link")
        self._cookies = URLSafeTimedSerializer(secret_key, salt="preview-cookie")

    def query(self, label: str, user_id: str) -> str:
        return urlencode({PARAMETER: self._links.dumps([label, user_id])})

    def cookie(self, label: str, user_id: str) -> str:
        signed = self._cookies.dumps([label, user_id])
        return signed if isinstance(signed, str) else signed.decode()

    def user_of_link(self, token: str, label: str) -> str | None:
        """Return the user that a link admits to a preview, or None for an invalid link."""
        return _user(self._links, token, label, LINK_AGE_S)

    def user_of_cookie(self, token: str, label: str) -> str | None:
        """Return the user that a cookie admits to a preview, or None for an invalid cookie."""
        return _user(self._cookies, token, label, COOKIE_AGE_S)


def _user(signer: URLSafeTimedSerializer, token: str, label: str, max_age_s: int) -> str | None:
    try:
        payload = signer.loads(token, max_age=max_age_s)
    except BadData:
        return None
    return payload[1] if isinstance(payload, list) and len(payload) == 2 and payload[0] == label else None
