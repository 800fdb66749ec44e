"""Tests of the pool of `git cat-file` processes: order of results, end of processes, and forks."""

import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import gevent
import psutil
import pytest

from app.drivers.errors import UpstreamError
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.local.new_commit import write_objects
from app.drivers.git.local.processes import MAX_IDLE, CatFiles, ProcessPool
from app.drivers.git.object_ids import new_object
from tests.support.samples.gitrepo import GitRepo

LIMIT = 1_000_000


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "r.git", {f"f{n:03}.md": b"%d\n" % n * n for n in range(200)})


@pytest.fixture
def processes() -> Iterator[ProcessPool]:
    pool = ProcessPool(timeout_s=10)
    yield pool
    pool.close()


@pytest.fixture
def objects(processes: ProcessPool) -> CatFiles:
    return CatFiles(processes)


def shas_of(repo: GitRepo) -> list[str]:
    return [known[2] for known in repo.entries().values()]


_OTHERS: set[int] = set()


def _reading() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "cat-file" in child.cmdline()]


@pytest.fixture(autouse=True)
def others() -> None:
    """Exclude the processes of applications of other tests."""
    _OTHERS.clear()
    _OTHERS.update(child.pid for child in _reading())


def readers() -> list[psutil.Process]:
    return [child for child in _reading() if child.pid not in _OTHERS]


class TestReading:
    def test_read_returns_objects_in_the_requested_order(self, repo: GitRepo, objects: CatFiles) -> None:
        shas = shas_of(repo)
        assert [found.sha for found, _ in objects.read(repo.folder, shas, max_bytes=LIMIT)] == shas
        assert [len(content) for _, content in objects.read(repo.folder, shas, max_bytes=LIMIT)] == [
            len(b"%d\n" % n) * n for n in range(200)
        ]

    def test_missing_object_is_none_in_check_and_omitted_by_read(self, repo: GitRepo, objects: CatFiles) -> None:
        known = shas_of(repo)[1]
        told = [found and found.size for found in objects.check(repo.folder, [known, "dead" * 10, known])]
        assert told == [2, None, 2]
        assert [
            header.sha for header, _ in objects.read(repo.folder, [known, "dead" * 10, known], max_bytes=LIMIT)
        ] == [known] * 2
        with pytest.raises(GitObjectMissing):
            objects.one(repo.folder, "dead" * 10, max_bytes=LIMIT)

    def test_objects_at_which_git_ends_are_omitted(self, repo: GitRepo, objects: CatFiles) -> None:
        repo.git("unpack-objects", "-q", data=repo.git("pack-objects", "--all", "--stdout", "-q"))
        long = [new_object("blob", b"%d" % n + random.Random(n).randbytes(200_000)) for n in range(4)]
        write_objects(repo.folder, long)
        for item in long[:3]:
            path = repo.folder / "objects" / item.sha[:2] / item.sha[2:]
            path.chmod(0o644)
            os.truncate(path, 100_000)
        shas = shas_of(repo)
        names = [*shas[:100], long[0].sha, long[1].sha, *shas[100:], long[3].sha, long[2].sha]
        readable = [*shas, long[3].sha]
        assert [header.sha for header, _ in objects.read(repo.folder, names, max_bytes=LIMIT)] == readable
        assert [header and header.sha for header in objects.check(repo.folder, names)] == names

    def test_read_without_shas_returns_nothing(self, repo: GitRepo, objects: CatFiles) -> None:
        assert list(objects.read(repo.folder, [], max_bytes=LIMIT)) == []

    def test_consecutive_reads_use_one_process(self, repo: GitRepo, objects: CatFiles) -> None:
        for sha in shas_of(repo)[:20]:
            objects.one(repo.folder, sha, max_bytes=LIMIT)
        assert len(readers()) == 1

    def test_interrupted_read_does_not_affect_the_next_read(self, repo: GitRepo, objects: CatFiles) -> None:
        shas = shas_of(repo)
        left = objects.read(repo.folder, shas, max_bytes=LIMIT)
        next(left)
        left.close()  # type: ignore[attr-defined]
        assert objects.one(repo.folder, shas[150], max_bytes=LIMIT)[0].sha == shas[150]

    def test_terminated_process_is_replaced(self, repo: GitRepo, objects: CatFiles) -> None:
        sha = shas_of(repo)[3]
        objects.one(repo.folder, sha, max_bytes=LIMIT)
        [reader] = readers()
        reader.kill()
        reader.wait(5)
        assert objects.one(repo.folder, sha, max_bytes=LIMIT)[1] == b"3\n" * 3

    def test_process_that_terminates_during_a_read_raises_upstream_error(
        self, repo: GitRepo, objects: CatFiles
    ) -> None:
        answers = objects.read(repo.folder, shas_of(repo) * 50, max_bytes=LIMIT)
        next(answers)
        [reader] = readers()
        reader.kill()
        with pytest.raises(UpstreamError):
            list(answers)

    def test_parallel_reads_return_their_own_objects(self, repo: GitRepo, objects: CatFiles) -> None:
        shas, wrong = shas_of(repo), []

        def read(start: int) -> None:
            for place in range(start, 200, 8):
                if objects.one(repo.folder, shas[place], max_bytes=LIMIT)[0].sha != shas[place]:
                    wrong.append(place)

        threads = [threading.Thread(target=read, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert wrong == []
        assert len(readers()) <= 8


class TestPool:
    def test_pool_has_a_limited_number_of_processes(self, repo: GitRepo, objects: CatFiles) -> None:
        sha = shas_of(repo)[1]
        held = [objects.read(repo.folder, [sha], max_bytes=LIMIT) for _ in range(MAX_IDLE + 4)]
        for each in held:
            next(each)
        assert len(readers()) == MAX_IDLE + 4
        for each in held:
            list(each)
        assert len(readers()) == MAX_IDLE

    def test_close_ends_all_processes_and_a_later_read_starts_one(
        self, repo: GitRepo, processes: ProcessPool, objects: CatFiles
    ) -> None:
        sha = shas_of(repo)[1]
        objects.one(repo.folder, sha, max_bytes=LIMIT)
        processes.close()
        assert readers() == []
        assert objects.one(repo.folder, sha, max_bytes=LIMIT)[1] == b"1\n"

    def test_deleted_pool_ends_its_processes(self, repo: GitRepo) -> None:
        objects = CatFiles(ProcessPool(timeout_s=10))
        objects.one(repo.folder, shas_of(repo)[1], max_bytes=LIMIT)
        [reader] = readers()
        del objects
        assert psutil.wait_procs([reader], timeout=5) == ([reader], [])

    def test_deletion_of_a_pool_runs_no_other_greenlet(self, repo: GitRepo) -> None:
        """The garbage collector deletes a pool within any greenlet, whose time-out must not end a wait of the pool."""
        objects = CatFiles(ProcessPool(timeout_s=10))
        objects.one(repo.folder, shas_of(repo)[1], max_bytes=LIMIT)
        [reader] = readers()
        other = gevent.spawn(lambda: None)
        del objects
        assert not other.ready()
        other.join()
        reader.wait(5)

    def test_forked_child_uses_its_own_process(self, repo: GitRepo, objects: CatFiles) -> None:
        shas = shas_of(repo)
        objects.one(repo.folder, shas[1], max_bytes=LIMIT)
        child = os.fork()
        if child == 0:
            right = objects.one(repo.folder, shas[5], max_bytes=LIMIT)[1] == b"5\n" * 5 and len(readers()) == 1
            for reader in readers():
                reader.kill()
            os._exit(0 if right else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert objects.one(repo.folder, shas[7], max_bytes=LIMIT)[1] == b"7\n" * 7
