"""What every object store keeps. A store's test class inherits this and says how to build one that is empty."""

import io
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from app.core.limits import MIB
from app.drivers.errors import Rejected
from app.drivers.storage.port import ObjectMissing, ObjectStore

PNG = "image/png"
BAD_KEYS = ["", "/", "/etc/passwd", "..", "../a.png", "users/../../a.png", "users/./a.png", "users//a.png", "users/", ".a",
            "users/.parts", "a\0b", "a\nb", "a b", "a\\b", "é.png", "-rf", "users/-a", "a?b", "a%2e", "x" * 256]  # fmt: skip


class Endless(io.RawIOBase):
    """A source that breaks after some pieces."""

    def __init__(self, pieces: int) -> None:
        self.left = pieces

    def read(self, size: int = -1) -> bytes:
        if not self.left:
            raise ConnectionAbortedError("the sender left")
        self.left -= 1
        return bytes(max(size, 1))


class ObjectStoreContract:
    """Subclasses define the fixture `store`."""

    @pytest.fixture
    def store(self) -> ObjectStore:
        raise AssertionError("say how to build the store")

    def test_what_is_put_is_got(self, store: ObjectStore) -> None:
        put(store, "users/a.png", b"one")
        assert got(store, "users/a.png") == b"one"

    def test_an_empty_object_is_an_object(self, store: ObjectStore) -> None:
        put(store, "users/empty", b"")
        assert got(store, "users/empty") == b""
        assert (found := store.head("users/empty")) is not None
        assert found.size == 0

    def test_a_source_is_read_from_where_it_stands_and_left_open(self, store: ObjectStore) -> None:
        source = io.BytesIO(b"head:body")
        source.seek(5)
        store.put("users/a", source, mimetype=PNG)
        assert got(store, "users/a") == b"body"
        assert not source.closed

    @pytest.mark.parametrize("size", [8 * MIB - 1, 8 * MIB, 17 * MIB + 3])
    def test_large_objects_come_back_whole(self, store: ObjectStore, size: int) -> None:
        content = bytes(range(251)) * (size // 251 + 1)
        put(store, "sites/large", content[:size])
        assert got(store, "sites/large") == content[:size]

    def test_large_objects_pass_through_little_memory(self, store: ObjectStore) -> None:
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

    def test_a_second_put_replaces(self, store: ObjectStore) -> None:
        put(store, "users/a", b"a longer first")
        put(store, "users/a", b"second")
        assert got(store, "users/a") == b"second"

    @pytest.mark.parametrize(("start", "length"), [(0, 1), (2, 3), (4, None), (9, 1), (0, 10), (7, 100)])
    def test_a_range_is_a_part(self, store: ObjectStore, start: int, length: int | None) -> None:
        put(store, "users/a", b"0123456789")
        end = None if length is None else start + length
        assert b"".join(store.get("users/a", start=start, length=length)) == b"0123456789"[start:end]

    def test_what_is_not_there_is_missing(self, store: ObjectStore) -> None:
        put(store, "users/a/b", b"x")
        for key in ("users/none", "none", "users", "users/a", "users/a/b/c"):
            with pytest.raises(ObjectMissing):
                store.get(key)
            assert store.head(key) is None

    def test_head_tells_size_and_time(self, store: ObjectStore) -> None:
        put(store, "users/a", b"12345")
        found = store.head("users/a")
        assert found is not None
        assert (found.key, found.size) == ("users/a", 5)
        assert abs(datetime.now(UTC) - found.stored_at) < timedelta(minutes=1)

    def test_delete_makes_it_missing_and_may_be_repeated(self, store: ObjectStore) -> None:
        put(store, "users/a", b"x")
        put(store, "users/b", b"y")
        for _ in range(2):
            store.delete("users/a")
        assert store.head("users/a") is None
        assert got(store, "users/b") == b"y"

    def test_list_is_ordered_and_complete(self, store: ObjectStore) -> None:
        keys = ["orgs/b", "sites/1", "users/Z", "users/a", "users/a-1", "users/a.d/deep", "users/b"]
        for key in reversed(keys):
            put(store, key, b"x")
        assert [found.key for found in store.list()] == sorted(keys)
        assert {found.size for found in store.list()} == {1}

    def test_list_goes_by_prefix_and_from_a_key_on(self, store: ObjectStore) -> None:
        for key in ("orgs/a", "users/a", "users/b", "users/c", "usual/d"):
            put(store, key, b"x")
        assert [found.key for found in store.list("users/")] == ["users/a", "users/b", "users/c"]
        assert [found.key for found in store.list("users/", after="users/a")] == ["users/b", "users/c"]
        assert [found.key for found in store.list(after="users/aa")] == ["users/b", "users/c", "usual/d"]
        assert list(store.list("none/")) == []

    def test_a_put_that_breaks_off_leaves_what_was_there(self, store: ObjectStore) -> None:
        put(store, "users/a", b"first")
        for key in ("users/a", "users/new"):
            with pytest.raises(Exception):  # noqa: B017 (whatever the source raises)
                store.put(key, Endless(3), mimetype=PNG)  # type: ignore[arg-type]
        assert got(store, "users/a") == b"first"
        assert [found.key for found in store.list()] == ["users/a"]

    def test_puts_of_one_key_at_once_leave_one_of_them_whole(self, store: ObjectStore) -> None:
        contents = [bytes([number]) * 300_000 for number in range(8)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda content: put(store, "users/a", content), contents))
        assert got(store, "users/a") in contents

    @pytest.mark.parametrize("key", BAD_KEYS)
    def test_what_is_no_key_is_refused_everywhere(self, store: ObjectStore, key: str) -> None:
        for call in (
            lambda: put(store, key, b"x"),
            lambda: store.get(key),
            lambda: store.head(key),
            lambda: store.delete(key),
        ):
            with pytest.raises(Rejected):
                call()


def put(store: ObjectStore, key: str, content: bytes) -> None:
    store.put(key, io.BytesIO(content), mimetype=PNG)


def got(store: ObjectStore, key: str) -> bytes:
    return b"".join(store.get(key))
