"""Tests that links and logins redirect only to pages of the configured origin."""

from collections.abc import Callable

import pytest

from tests.resources.auth.routes.test_social import HOME, providers, social_logins  # noqa: F401 (fixtures)
from tests.support.new_account import Newcomer

pytestmark = pytest.mark.one_database

Make = Callable[..., Newcomer]
EVIL = "evil.example.org"

PAYLOADS = (
    # plain URLs of another site
    f"https://{EVIL}/",
    f"http://{EVIL}",
    f"HTTPS://{EVIL}/home",
    f"ftp://{EVIL}/",
    # network-path references in the notations that browsers accept
    f"//{EVIL}",
    f"///{EVIL}",
    f"////{EVIL}/%2f..",
    f"/\\{EVIL}",
    f"\\\\{EVIL}",
    f"\\/{EVIL}",
    f"/\t/{EVIL}",
    f"/\n/{EVIL}",
    f"/\r\n/{EVIL}",
    f"\t//{EVIL}",
    f" //{EVIL}",
    f"\u0000//{EVIL}",
    f"https:{EVIL}",
    f"https:/{EVIL}",
    f"https:///{EVIL}",
    f"http:\\\\{EVIL}",
    # URLs that begin with the own host
    f"http://127.0.0.1:8000@{EVIL}/",
    f"http://127.0.0.1:8000:80@{EVIL}/",
    f"http://127.0.0.1:8000.{EVIL}/",
    f"http://127.0.0.1:8000\\@{EVIL}/",
    f"http://127.0.0.1:8000%40{EVIL}/",
    f"http://127.0.0.1:8000%2f@{EVIL}/",
    f"http://user:word@{EVIL}/",
    "http://someone@127.0.0.1:8000/",
    # another origin of the same host
    "https://127.0.0.1:8000/",
    "http://127.0.0.1/",
    "http://127.0.0.1:8001/",
    "http://127.0.0.1:08000/",
    "http://2130706433:8000/",
    "http://0x7f.1:8000/",
    "http://[::ffff:127.0.0.1]:8000/",
    # schemes other than HTTP
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "blob:http://127.0.0.1:8000/x",
    # neither an absolute path nor a URL
    EVIL,
    "home",
    "../home",
    "?next=home",
    "#home",
    "@evil.example.org",
    ".",
    # header injection
    "/home\r\nLocation: https://evil.example.org",
    "/home\r\nSet-Cookie: session_token=x",
)


class TestForeignPages:
    def test_payloads_are_at_least_forty(self) -> None:
        assert len(set(PAYLOADS)) >= 40

    @pytest.mark.parametrize("page", PAYLOADS)
    def test_foreign_page_starts_no_login_and_sends_no_mail(self, newcomer: Make, page: str) -> None:
        person = newcomer()
        for provider in ("social_a", "social_b"):
            for field in ("callbackURL", "errorCallbackURL"):
                response = person.post("/auth/sign-in/social", {"provider": provider, field: page})
                assert response.status in (400, 403), response.json
                assert "Location" not in response.headers
                assert "url" not in response.json
        assert person.client.get_cookie("login_browser") is None
        body = {"email": "a@mail.example.org", "redirectTo": page}
        assert person.post("/auth/forget-password", body).status in (400, 403)

    @pytest.mark.parametrize("page", PAYLOADS)
    def test_parameters_of_the_callback_do_not_change_the_redirect(self, newcomer: Make, page: str) -> None:
        """The callback ignores all parameters except code and state."""
        query = {"state": "x", "code": "y", "callbackURL": page, "redirectTo": page, "error": page}
        response = newcomer().get("/auth/callback/social_a", query_string=query)
        assert (response.status, response.headers["Location"]) in (
            (302, "http://127.0.0.1:8000/?error=state_mismatch"),
            (400, None),
        )


class TestOwnPages:
    @pytest.mark.parametrize(
        "page",
        [
            HOME,
            "/home",
            "/home?tab=1",
            "http://127.0.0.1:8000",
            "HTTP://127.0.0.1:8000/x",
            # The host of a URL ends at the first `/`, `?` or `#`, so these URLs name the own host.
            f"http://127.0.0.1:8000?@{EVIL}/",
            f"http://127.0.0.1:8000#@{EVIL}/",
        ],
    )
    def test_own_page_starts_a_login(self, newcomer: Make, page: str) -> None:
        newcomer().post("/auth/sign-in/social", {"provider": "social_a", "callbackURL": page}).ok()
