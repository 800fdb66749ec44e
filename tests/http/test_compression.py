"""Tests of the content coding of responses."""

import gzip
from collections.abc import Callable

import brotli
import pytest
import zstandard
from flask import Flask

from app.rate_limiting.counter import RateCounter
from tests.support.world import World

pytestmark = pytest.mark.one_database


DECODE: dict[str | None, Callable[[bytes], bytes]] = {
    None: lambda data: data,
    "gzip": gzip.decompress,
    "br": brotli.decompress,
    "zstd": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


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
    @pytest.mark.parametrize(
        ("accepted", "coding"),
        [
            (None, None),
            ("identity", None),
            ("deflate", None),
            ("*;q=0", None),
            ("gzip;q=0.5, identity", None),
            ("gzip, br, zstd", "gzip"),
            ("*", "gzip"),
            ("gzip;q=0, br", "br"),
            ("gzip;q=0.8, br;q=0.9", "br"),
            ("zstd", "zstd"),
        ],
    )
    def test_document_is_stored_in_each_coding_with_its_own_tag(
        self, app: Flask, accepted: str | None, coding: str | None
    ) -> None:
        headers = {"Accept-Encoding": accepted} if accepted is not None else {}
        client, url = app.test_client(), "/api/v1/openapi.json"
        plain = client.get(url, headers={"Accept-Encoding": "identity"})
        response = client.get(url, headers=headers)
        assert response.headers.get("Content-Encoding") == coding
        assert DECODE[coding](response.data) == plain.data
        assert response.headers["ETag"] == plain.headers["ETag"][:-1] + (f'-{coding}"' if coding else '"')
        assert {"Accept-Encoding", "Origin"} <= set(response.vary)
        for tag in (response.headers["ETag"], plain.headers["ETag"]):
            again = client.get(url, headers=headers | {"If-None-Match": tag})
            assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", response.headers["ETag"])
            assert {"Accept-Encoding", "Origin"} <= set(again.vary)

    @pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
    def test_stored_document_does_not_depend_on_the_levels_of_other_responses(
        self, app: Flask, coding: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Compress no stored document again. A response that Flask-Compress compresses has another length."""
        client, headers = app.test_client(), {"Accept-Encoding": coding}
        before = client.get("/api/v1/openapi.json", headers=headers).data
        for level in ("COMPRESS_LEVEL", "COMPRESS_BR_LEVEL", "COMPRESS_ZSTD_LEVEL"):
            monkeypatch.setitem(app.config, level, 1)
        assert client.get("/api/v1/openapi.json", headers=headers).data == before

    def test_document_counts_the_address(self, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(app.extensions, "rates", RateCounter())
        statuses = [app.test_client().get("/api/v1/openapi.json").status_code for _ in range(61)]
        assert statuses == [200] * 60 + [429]
