"""Tests of stored responses for conditional requests."""

from app.drivers.git.rest.client import MAX_BYTES, MAX_ENTRIES, EtagCache
from app.drivers.http.client import HttpResponse


class TestEtagCache:
    def test_response_with_an_etag_is_stored_under_its_key(self) -> None:
        cache, told = EtagCache(), HttpResponse(200, {"ETag": '"1"'}, b"body")
        cache.store("a", told)
        assert cache.find("a") == ('"1"', told)
        assert cache.find("b") is None

    def test_failures_untagged_and_large_responses_are_not_stored(self) -> None:
        cache = EtagCache()
        cache.store("failed", HttpResponse(404, {"ETag": '"1"'}, b""))
        cache.store("untagged", HttpResponse(200, {}, b""))
        cache.store("large", HttpResponse(200, {"ETag": '"1"'}, b"x" * (MAX_BYTES + 1)))
        assert [cache.find(key) for key in ("failed", "untagged", "large")] == [None] * 3

    def test_oldest_entry_is_evicted_first(self) -> None:
        cache = EtagCache()
        for number in range(MAX_ENTRIES + 1):
            cache.store(str(number), HttpResponse(200, {"ETag": '"1"'}, b""))
        assert cache.find("0") is None
        assert cache.find("1")
