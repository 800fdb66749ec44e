"""The cache of files: bounded, shared, and never in the way."""

import os
import threading
from pathlib import Path

from app.core.file_cache import DRAFT, FileCache


def age(folder: Path, by_s: float) -> None:
    for file in folder.iterdir():
        past = file.stat().st_mtime - by_s
        os.utime(file, (past, past))


class TestFileCache:
    def test_what_was_put_is_there_and_anything_else_is_not(self, tmp_path: Path) -> None:
        cache = FileCache(tmp_path / "deep" / "cache", max_bytes=100)
        assert cache.get("trees/a") is None
        cache.put("trees/a", b"first")
        cache.put("trees/a", b"second")
        assert (cache.get("trees/a"), cache.get("trees/b")) == (b"second", None)
        cache.forget("trees/a")
        cache.forget("trees/a")
        assert cache.get("trees/a") is None

    def test_the_longest_unused_goes_when_there_is_no_room(self, tmp_path: Path) -> None:
        cache = FileCache(tmp_path, max_bytes=100)
        for name in ("a", "b"):
            cache.put(name, b"x" * 40)
            age(tmp_path, 1_000)
        assert cache.get("a") is not None  # used now
        cache.put("c", b"x" * 40)
        assert [name for name in "abc" if cache.get(name) is not None] == ["a", "c"]
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 100

    def test_what_is_larger_than_the_whole_is_not_kept(self, tmp_path: Path) -> None:
        cache = FileCache(tmp_path, max_bytes=100)
        cache.put("small", b"x")
        cache.put("large", b"x" * 101)
        assert (cache.get("small"), cache.get("large")) == (b"x", None)

    def test_what_a_dead_process_left_half_written_goes_after_an_hour(self, tmp_path: Path) -> None:
        cache = FileCache(tmp_path, max_bytes=100)
        (tmp_path / f"{DRAFT}old").write_bytes(b"x")
        age(tmp_path, 7_200)
        (tmp_path / f"{DRAFT}young").write_bytes(b"x")
        cache.put("a", b"x")
        assert [file.name for file in tmp_path.glob(f"{DRAFT}*")] == [f"{DRAFT}young"]

    def test_a_folder_that_cannot_be_used_is_as_if_nothing_were_kept(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"in the way")
        cache = FileCache(tmp_path / "file" / "cache", max_bytes=100)
        cache.put("a", b"x")
        cache.forget("a")
        assert cache.get("a") is None

    def test_many_at_once_read_whole_entries_only(self, tmp_path: Path) -> None:
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
