"""Tests of the content coding of responses."""

import gzip

import pytest
from flask import Flask

from app.rate_limiting.counter import RateCounter
from tests.support.world import World

pytestmark = pytest.mark.one_database


class TestAcceptEncoding:
    @pytest.mark.parametrize(
        ("accepted", "coding"),
        [
            ("gzip", "gzip"),
            ("br;q=1, gzip;q=0.5", "br"),
            ("*", "gzip"),
            ("gzip;q=0", None),
            ("gzip;q=0.0, br", "br"),
            ("*, gzip;q=0", "br"),
            ("*;q=0", None),
            ("identity", None),
        ],
    )
    def test_accept_encoding_decides_the_coding_and_the_etag(
        self, world: World, accepted: str, coding: str | None
    ) -> None:
        client = world.person().client
        answer = client.get("/api/v1/auth/get-session", headers={"Accept-Encoding": accepted})
        assert answer.status_code == 200
        assert answer.headers.get("Content-Encoding") == coding
        assert answer.headers["ETag"].endswith(f'-{coding}"' if coding else '"')


class TestEmptyBody:
    @pytest.mark.parametrize("path", ["/api/v1/project/create", "/readyz", "/api/v1/openapi.json"])
    def test_options_response_is_not_compressed(self, app: Flask, path: str) -> None:
        response = app.test_client().options(path, headers={"Accept-Encoding": "gzip, br"})
        assert (response.status_code, response.data) == (200, b"")
        assert "Content-Encoding" not in response.headers
        assert response.headers["Content-Length"] == "0"


class TestAllow:
    @pytest.mark.parametrize("method", ["OPTIONS", "TRACE"])
    @pytest.mark.parametrize(
        ("path", "allowed"),
        [
            ("/api/v1/project/create", "OPTIONS, POST"),
            ("/api/v1/project/prj_x", "DELETE, GET, HEAD, OPTIONS, PATCH"),
            ("/readyz", "GET, HEAD, OPTIONS"),
        ],
    )
    def test_allow_lists_the_methods_of_the_path(self, app: Flask, method: str, path: str, allowed: str) -> None:
        assert app.test_client().open(path, method=method).headers["Allow"] == allowed


class TestDocument:
    @pytest.mark.parametrize("accepted", ["gzip", "identity", "br"])
    def test_document_is_served_in_both_forms_with_one_tag(self, app: Flask, accepted: str) -> None:
        client = app.test_client()
        plain = client.get("/api/v1/openapi.json", headers={"Accept-Encoding": "identity"})
        response = client.get("/api/v1/openapi.json", headers={"Accept-Encoding": accepted})
        coding = response.headers.get("Content-Encoding")
        body = gzip.decompress(response.data) if coding == "gzip" else response.data
        if coding in (None, "gzip"):
            assert body == plain.data
        again = client.get("/api/v1/openapi.json", headers={"If-None-Match": response.headers["ETag"]})
        assert again.status_code == 304

    def test_document_counts_the_address(self, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(app.extensions, "rates", RateCounter())
        statuses = [app.test_client().get("/api/v1/openapi.json").status_code for _ in range(61)]
        assert statuses == [200] * 60 + [429]
