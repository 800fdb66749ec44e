"""Tests of media in an S3 bucket: the same responses as with a folder, and the features of a bucket."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from config import Settings
from tests.resources.bucket.uploads import served, upload
from tests.support.applications import application
from tests.support.samples.pictures import noise, opened, picture
from tests.support.servers.s3 import BUCKET, S3Server
from tests.support.world import World

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def app(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Flask]:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    bucket = {"STORAGE_DRIVER": "s3", "S3_BUCKET": BUCKET, "S3_ENDPOINT_URL": server.url}
    bucket |= getattr(request, "param", {})
    settings = Settings.for_tests(tmp_path, MAIL_DRIVER="file", RATE_LIMIT_SCALE=100_000, **bucket)
    with application(settings) as flask_app:
        yield flask_app


class TestS3Store:
    def test_asset_is_uploaded_served_and_deleted(self, world: World, server: S3Server) -> None:
        me = world.person()
        asset = upload(me, picture("WEBP", 40, 30)).ok(201)
        kept = server.root / BUCKET / asset["key"]
        response = served(me, asset)
        assert response.response.data == kept.read_bytes()
        assert response.headers["Content-Type"] == "image/webp"
        assert served(me, asset, headers={"Range": "bytes=4-9"}).response.data == kept.read_bytes()[4:10]
        me.delete(f"/bucket/delete/{asset['key']}").ok()
        served(me, asset).fails(404)
        world.work_off()
        assert not kept.exists()

    def test_upload_of_ten_mebibytes_is_stored_in_parts(self, world: World, server: S3Server) -> None:
        me = world.person()
        content = noise(1800, 1800)
        asset = upload(me, content).ok(201)
        assert asset["size"] > 9_000_000
        assert opened(served(me, asset).response.data).tobytes() == opened(content).tobytes()

    def test_variants_are_stored_in_the_bucket(self, world: World, server: S3Server) -> None:
        me = world.person()
        response = upload(me, picture("PNG", 300, 150))
        address = response.headers["Link"].split(">")[0].split("/media/")[1]
        assert opened(me.get(f"/media/{address}").response.data).size == (64, 32)
        assert (server.root / BUCKET / "variants" / response.ok(201)["key"] / "64").is_file()

    @pytest.mark.parametrize("app", [{"S3_PUBLIC_URL": "https://cdn.example.org/media"}], indirect=True)
    def test_public_url_is_returned_and_the_target_of_the_redirect(self, world: World) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        assert asset["url"] == f"https://cdn.example.org/media/{asset['key']}"
        response = served(me, asset)
        assert (response.status, response.headers["Location"]) == (302, asset["url"])
        me.delete(f"/bucket/delete/{asset['key']}").ok()
        served(me, asset).fails(404)


class TestUnavailableS3Store:
    def test_upload_returns_503_and_succeeds_after_the_recovery(self, world: World, server: S3Server) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        server.stop()
        try:
            upload(me).fails(503)
            served(me, asset).fails(503)
            me.delete(f"/bucket/delete/{asset['key']}").ok()
        finally:
            server.start()
        world.work_off(within_s=60)
        assert not (server.root / BUCKET / asset["key"]).exists()
        assert served(me, upload(me).ok(201)).status == 200
