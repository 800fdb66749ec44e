"""Tests of the S3 store with a real S3 server on loopback."""

import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
import requests

from app.drivers.errors import UpstreamError, UpstreamUnavailable
from app.drivers.storage.s3 import S3Store
from tests.drivers.storage.contract import ObjectStoreContract, put, read_object
from tests.support.pace import within
from tests.support.servers.s3 import BUCKET, S3Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(scope="module")
def credentials(server: S3Server) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield


def new_store(server: S3Server) -> S3Store:
    """Return a store with a new bucket. The creation of a client takes longer than most tests."""
    name = f"bucket-{secrets.token_hex(4)}"
    server.make_bucket(name)
    return S3Store(name, endpoint_url=server.url)


@pytest.fixture(scope="module")
def shared_store(server: S3Server, credentials: None) -> S3Store:
    return new_store(server)


class TestS3Store(ObjectStoreContract):
    @pytest.fixture
    def store(self, shared_store: S3Store) -> S3Store:
        for left in list(shared_store.list()):
            shared_store.delete(left.key)
        return shared_store

    def test_private_bucket_has_no_public_url(self, store: S3Store, server: S3Server) -> None:
        put(store, "users/a.png", b"x")
        assert store.public_url("users/a.png") is None
        assert not requests.get(f"{server.url}/{store._bucket}/users/a.png", timeout=5).ok

    def test_configured_host_is_the_public_url(self, server: S3Server, credentials: None) -> None:
        store = S3Store(BUCKET, endpoint_url=server.url, public_url="https://cdn.example.org/media")
        assert store.public_url("users/a.png") == "https://cdn.example.org/media/users/a.png"

    def test_object_has_its_content_type(self, store: S3Store, server: S3Server) -> None:
        put(store, "users/a.png", b"x")
        client = boto3.session.Session().client("s3", endpoint_url=server.url, region_name="us-east-1")
        head = client.head_object(Bucket=store._bucket, Key="users/a.png")
        assert head["ContentType"] == "image/png"

    def test_list_reads_all_pages(self, server: S3Server, credentials: None) -> None:
        store = new_store(server)
        folder = server.root / store._bucket / "users"
        folder.mkdir()
        for number in range(1100):
            (folder / f"{number:05}").touch()
        assert [found.key for found in store.list("users/")] == [f"users/{number:05}" for number in range(1100)]

    def test_wrong_key_pair_raises_upstream_error_without_the_secret(
        self, server: S3Server, credentials: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret")
        with pytest.raises(UpstreamError) as raised:
            put(S3Store(BUCKET, endpoint_url=server.url), "users/a", b"x")
        assert "not-the-secret" not in str(raised.value)
        assert server.access_key not in str(raised.value)

    def test_missing_key_pair_raises_upstream_unavailable(
        self, server: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
        with pytest.raises(UpstreamUnavailable):
            put(S3Store(BUCKET, endpoint_url=server.url), "users/a", b"x")


class TestStoppedServer:
    def test_calls_to_a_stopped_server_raise_and_succeed_after_its_return(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with S3Server(tmp_path) as server:
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            store = S3Store(BUCKET, endpoint_url=server.url)
            put(store, "users/a", b"x")
            server.stop()
            started = time.monotonic()
            for call in (
                lambda: put(store, "users/b", b"y"),
                lambda: store.get("users/a"),
                lambda: store.head("users/a"),
                lambda: store.delete("users/a"),
                lambda: list(store.list()),
            ):
                with pytest.raises(UpstreamUnavailable):
                    call()
            assert time.monotonic() - started < within(30)
            server.start()
            assert read_object(store, "users/a") == b"x"
