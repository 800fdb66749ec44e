"""Contract of object stores. The test class of a store inherits it and provides an empty store."""

import io
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from app.core.limits import MIB
from app.drivers.errors import UpstreamRejected
from app.drivers.storage.port import ObjectMissing, ObjectStore

PNG = "image/png"
BAD_KEYS = ["", "/", "/etc/passwd", "..", "../a.png", "users/../../a.png", "users/./a.png", "users//a.png", "users/", ".a",
            "users/.parts", "a\0b", "a\nb", "a b", "a\\b", "é.png", "-rf", "users/-a", "a?b", "a%2e", "x" * 256]  # fmt: skip


class BrokenSource(io.RawIOBase):
    """A source that fails after some pieces."""

    def __init__(self, pieces: int) -> None:
        self.left = pieces

    def read(self, size: int = -1) -> bytes:
        if not self.left:
            raise ConnectionAbortedError("the sender left")
        self.left -= 1
        return bytes(max(size, 1))


class ObjectStoreContract:
    """The tests of a store. Subclasses define the fixture `store`."""

    @pytest.fixture
    def store(self) -> ObjectStore:
        raise AssertionError("say how to build the store")

    def test_get_returns_the_stored_bytes(self, store: ObjectStore) -> None:
        put(store, "users/a.png", b"one")
        assert read_object(store, "users/a.png") == b"one"

    def test_empty_object_exists(self, store: ObjectStore) -> None:
        put(store, "users/empty", b"")
        assert read_object(store, "users/empty") == b""
        assert (found := store.head("users/empty")) is not None
        assert found.size == 0

    def test_put_reads_from_the_position_and_leaves_the_source_open(self, store: ObjectStore) -> None:
        source = io.BytesIO(b"head:body")
        source.seek(5)
        store.put("users/a", source, mimetype=PNG)
        assert read_object(store, "users/a") == b"body"
        assert not source.closed

    @pytest.mark.parametrize("size", [8 * MIB - 1, 8 * MIB, 17 * MIB + 3])
    def test_large_object_is_stored_completely(self, store: ObjectStore, size: int) -> None:
        content = (bytes(range(251)) * (size // 251 + 1))[:size]
        put(store, "sites/large", content)
        assert read_object(store, "sites/large") == content

    def test_large_object_needs_little_memory(self, store: ObjectStore) -> None:
        source = io.BytesIO(bytes(40 * MIB))
        tracemalloc.start()
        try:
            store.put("sites/large", source, mimetype=PNG)
            received = sum(len(piece) for piece in store.get("sites/large"))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert received == 40 * MIB
        assert peak < 20 * MIB

    def test_second_put_replaces_the_object(self, store: ObjectStore) -> None:
        put(store, "users/a", b"a longer first")
        put(store, "users/a", b"second")
        assert read_object(store, "users/a") == b"second"

    @pytest.mark.parametrize(("start", "length"), [(0, 1), (2, 3), (4, None), (9, 1), (0, 10), (7, 100)])
    def test_get_with_a_range_returns_that_part(self, store: ObjectStore, start: int, length: int | None) -> None:
        put(store, "users/a", b"0123456789")
        end = None if length is None else start + length
        assert b"".join(store.get("users/a", start=start, length=length)) == b"0123456789"[start:end]

    def test_get_of_a_missing_object_raises(self, store: ObjectStore) -> None:
        put(store, "users/a/b", b"x")
        for key in ("users/none", "none", "users", "users/a", "users/a/b/c"):
            with pytest.raises(ObjectMissing):
                store.get(key)
            assert store.head(key) is None

    def test_head_returns_size_and_time(self, store: ObjectStore) -> None:
        put(store, "users/a", b"12345")
        head = store.head("users/a")
        assert head is not None
        assert (head.key, head.size) == ("users/a", 5)
        assert abs(datetime.now(UTC) - head.stored_at) < timedelta(minutes=1)

    def test_delete_is_idempotent(self, store: ObjectStore) -> None:
        put(store, "users/a", b"x")
        put(store, "users/b", b"y")
        for _ in range(2):
            store.delete("users/a")
        assert store.head("users/a") is None
        assert read_object(store, "users/b") == b"y"

    def test_list_is_ordered_and_complete(self, store: ObjectStore) -> None:
        keys = ["orgs/b", "sites/1", "users/Z", "users/a", "users/a-1", "users/a.d/deep", "users/b"]
        for key in reversed(keys):
            put(store, key, b"x")
        assert [found.key for found in store.list()] == sorted(keys)
        assert {found.size for found in store.list()} == {1}

    def test_list_filters_by_prefix_and_start_key(self, store: ObjectStore) -> None:
        for key in ("orgs/a", "users/a", "users/b", "users/c", "usual/d"):
            put(store, key, b"x")
        assert [found.key for found in store.list("users/")] == ["users/a", "users/b", "users/c"]
        assert [found.key for found in store.list("users/", after="users/a")] == ["users/b", "users/c"]
        assert [found.key for found in store.list(after="users/aa")] == ["users/b", "users/c", "usual/d"]
        assert list(store.list("none/")) == []

    def test_failed_put_keeps_the_previous_object(self, store: ObjectStore) -> None:
        put(store, "users/a", b"first")
        for key in ("users/a", "users/new"):
            with pytest.raises(Exception):  # noqa: B017 (any error of the source)
                store.put(key, BrokenSource(3), mimetype=PNG)  # type: ignore[arg-type]
        assert read_object(store, "users/a") == b"first"
        assert [found.key for found in store.list()] == ["users/a"]

    def test_concurrent_puts_of_one_key_store_one_complete_object(self, store: ObjectStore) -> None:
        contents = [bytes([number]) * 300_000 for number in range(8)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda content: put(store, "users/a", content), contents))
        assert read_object(store, "users/a") in contents

    @pytest.mark.parametrize("key", BAD_KEYS)
    def test_invalid_key_is_refused_by_every_method(self, store: ObjectStore, key: str) -> None:
        for call in (
            lambda: put(store, key, b"x"),
            lambda: store.get(key),
            lambda: store.head(key),
            lambda: store.delete(key),
        ):
            with pytest.raises(UpstreamRejected):
                call()


def put(store: ObjectStore, key: str, content: bytes) -> None:
    store.put(key, io.BytesIO(content), mimetype=PNG)


def read_object(store: ObjectStore, key: str) -> bytes:
    return b"".join(store.get(key))
