"""Tests of the bounded cache."""

from app.core.caches import Cache


class TestCache:
    def test_value_is_read_once(self) -> None:
        cache, reads = Cache[str, int](2), iter((1, 2))
        assert [cache.get("a", lambda: next(reads)) for _ in range(3)] == [1, 1, 1]

    def test_oldest_value_goes(self) -> None:
        cache = Cache[str, int](2)
        for number, key in enumerate("abc"):
            cache.store(key, number)
        assert [cache.find(key) for key in "abc"] == [None, 1, 2]

    def test_value_that_is_removed_while_others_are_read_is_returned(self) -> None:
        cache = Cache[str, int](2)

        def read() -> int:
            for number, key in enumerate("bcd"):
                cache.store(key, number)
            return 9

        assert cache.get("a", read) == 9
