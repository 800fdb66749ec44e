"""Tests of the file cache: its size limit, concurrent processes and failures of the disk."""

import os
import threading
from pathlib import Path

from app.drivers.storage.file_cache import DRAFT, FileCache


def age(folder: Path, by_s: float) -> None:
    for file in folder.iterdir():
        past = file.stat().st_mtime - by_s
        os.utime(file, (past, past))


class TestFileCache:
    def test_get_returns_stored_entries_only(self, tmp_path: Path) -> None:
        cache = FileCache(tmp_path / "deep" / "cache", max_bytes=100)
        assert cache.get("trees/a") is None
        cache.put("trees/a", b"first")
        cache.put("trees/a", b"second")
        assert (cache.get("trees/a"), cache.get("trees/b")) == (b"second", None)
        cache.remove("trees/a")
        cache.remove("trees/a")
        assert cache.get("trees/a") is None

    def test_least_recently_used_entry_is_evicted(self, tmp_path: Path) -> None:
        cache = FileCache(tmp_path, max_bytes=100)
        for name in ("a", "b"):
            cache.put(name, b"x" * 40)
            age(tmp_path, 1_000)
        assert cache.get("a") is not None  # this read updates the access time
        cache.put("c", b"x" * 40)
        assert [name for name in "abc" if cache.get(name) is not None] == ["a", "c"]
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 100

    def test_entry_larger_than_the_cache_is_not_stored(self, tmp_path: Path) -> None:
        cache = FileCache(tmp_path, max_bytes=100)
        cache.put("small", b"x")
        cache.put("large", b"x" * 101)
        assert (cache.get("small"), cache.get("large")) == (b"x", None)

    def test_partial_file_is_deleted_after_one_hour(self, tmp_path: Path) -> None:
        cache = FileCache(tmp_path, max_bytes=100)
        (tmp_path / f"{DRAFT}old").write_bytes(b"x")
        age(tmp_path, 7_200)
        (tmp_path / f"{DRAFT}young").write_bytes(b"x")
        cache.put("a", b"x")
        assert [file.name for file in tmp_path.glob(f"{DRAFT}*")] == [f"{DRAFT}young"]

    def test_unusable_folder_is_an_empty_cache(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"in the way")
        cache = FileCache(tmp_path / "file" / "cache", max_bytes=100)
        cache.put("a", b"x")
        cache.remove("a")
        assert cache.get("a") is None

    def test_concurrent_readers_get_complete_entries(self, tmp_path: Path) -> None:
        caches = [FileCache(tmp_path, max_bytes=300_000) for _ in range(4)]
        torn: list[bytes] = []

        def use(cache: FileCache, mark: int) -> None:
            for n in range(60):
                cache.put(f"k{n % 6}", bytes([mark]) * 60_000)
                data = cache.get(f"k{(n + 1) % 6}")
                if data is not None and (len(data) != 60_000 or len(set(data)) != 1):
                    torn.append(data)

        threads = [threading.Thread(target=use, args=(cache, mark)) for mark, cache in enumerate(caches)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert torn == []
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 300_000
