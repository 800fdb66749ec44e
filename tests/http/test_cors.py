"""Tests of CORS: only allowed origins can read responses with credentials."""

import pytest
from flask import Flask

from app.http.headers import init_cors
from tests.support.world import World

pytestmark = pytest.mark.one_database

OURS = "http://127.0.0.1:8000"


class TestOrigins:
    def test_allowed_origin_can_read_with_credentials(self, world: World) -> None:
        headers = world.anonymous().get("/auth/get-session", headers={"Origin": OURS}).headers
        assert headers["Access-Control-Allow-Origin"] == OURS
        assert headers["Access-Control-Allow-Credentials"] == "true"
        exposed = set(headers["Access-Control-Expose-Headers"].split(", "))
        assert exposed == {"ETag", "Idempotency-Replayed", "Link", "Retry-After", "X-Request-Id", "traceparent"}

    @pytest.mark.parametrize(
        "origin",
        ["http://evil.example.org", "null", OURS + ".evil.example.org", "https://127.0.0.1:8000", "*"],
    )
    def test_other_origin_receives_no_cors_headers(self, world: World, origin: str) -> None:
        for method in ("GET", "OPTIONS"):
            asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            headers = world.anonymous().client.open("/api/v1/auth/get-session", method=method, headers=asked).headers
            assert [name for name, _ in headers if name.startswith("Access-Control-")] == []

    @pytest.mark.parametrize("origin", [OURS, "http://evil.example.org", None])
    @pytest.mark.parametrize("path", ["/api/v1/auth/get-session", "/healthz", "/nowhere", "/api/v1/openapi.json"])
    def test_response_varies_by_origin(self, world: World, origin: str | None, path: str) -> None:
        asked = {"Origin": origin} if origin else {}
        headers = world.anonymous().client.get(path, headers=asked).headers
        assert ", ".join(headers.getlist("Vary")).split(", ").count("Origin") == 1


class TestAddresses:
    @pytest.mark.parametrize(("origin", "told"), [("http://[::1]:8000", "http://[::1]:8000"), ("http://1:8000", None)])
    def test_ipv6_origin_is_compared_literally(self, origin: str, told: str | None) -> None:
        app = Flask(__name__)
        init_cors(app, ("http://[::1]:8000",))
        headers = app.test_client().get("/", headers={"Origin": origin}).headers
        assert headers.get("Access-Control-Allow-Origin") == told


class TestPreflight:
    def test_preflight_of_an_allowed_origin_allows_the_requested_method_and_headers(self, world: World) -> None:
        asked = {
            "Origin": OURS,
            "Access-Control-Request-Method": "PATCH",
            "Access-Control-Request-Headers": "content-type, idempotency-key",
        }
        response = world.anonymous().client.open("/api/v1/user-preference/x", method="OPTIONS", headers=asked)
        assert response.status_code == 200
        assert "PATCH" in response.headers["Access-Control-Allow-Methods"]
        assert response.headers["Access-Control-Allow-Headers"] == "content-type, idempotency-key"
        assert response.headers["Access-Control-Max-Age"] == "600"
