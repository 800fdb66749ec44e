"""Tests of git commands: environment, time limit and the end of all processes."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import structlog
from gevent import monkey

from app.drivers.errors import UpstreamTimeout, UpstreamUnavailable
from app.drivers.git.local.commands import GitFailed, GitStatusUnknown, fields, run, stream
from tests.support.samples.gitrepo import GitRepo

Fake = Callable[[str], None]


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "r.git", {"a.md": b"a", "b.md": b"b"})


@pytest.fixture
def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Return a function that replaces git with a shell script."""

    def put(script: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return put


@pytest.fixture
def _ignored_children(repo: GitRepo) -> Iterator[None]:
    """Let the kernel discard the exit status of each child."""
    previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, previous)


def children_called(name: str) -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if child.name() == name]


class TestRun:
    def test_run_returns_the_output_of_git(self, repo: GitRepo) -> None:
        assert run(repo.folder, "rev-parse", "main", timeout_s=10).stdout.decode().strip() == repo.head()

    def test_run_failure_logs_the_message_of_git_and_raises_without_it(self, repo: GitRepo) -> None:
        with structlog.testing.capture_logs() as lines, pytest.raises(GitFailed) as failed:
            run(repo.folder, "rev-parse", "--verify", "nowhere", timeout_s=10)
        assert failed.value.returncode == 128
        assert "fatal" not in str(failed.value)
        assert [line["event"] for line in lines if "fatal" in line["error"]] == ["git.command_failed"]

    @pytest.mark.skipif(bool(monkey.is_module_patched("subprocess")), reason="the event loop collects the children")
    @pytest.mark.usefixtures("_ignored_children")
    def test_run_unknown_exit_status_is_an_error(self, repo: GitRepo) -> None:
        with pytest.raises(GitStatusUnknown):
            run(repo.folder, "rev-parse", "main", timeout_s=10)
        with pytest.raises(GitStatusUnknown):
            list(stream(repo.folder, "rev-parse", "main", timeout_s=10))

    def test_run_timeout_kills_git_with_its_children(self, repo: GitRepo, fake_git: Fake) -> None:
        fake_git("trap '' TERM\nsleep 300 & sleep 300")
        with pytest.raises(UpstreamTimeout):
            run(repo.folder, "status", timeout_s=0.3)
        assert children_called("sleep") == []

    def test_run_without_git_raises_upstream_unavailable(
        self, repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(UpstreamUnavailable):
            run(repo.folder, "status", timeout_s=1)

    def test_run_transfers_large_input_and_output(self, repo: GitRepo) -> None:
        data = os.urandom(3_000_000)
        sha = run(repo.folder, "hash-object", "-w", "--stdin", timeout_s=20, data=[data]).stdout.decode().strip()
        assert run(repo.folder, "cat-file", "blob", sha, timeout_s=20).stdout == data


class TestStream:
    def test_stream_yields_complete_fields_across_reads(self) -> None:
        assert list(fields([b"a\0b", b"", b"c\0", b"\0d\0"])) == [b"a", b"bc", b"", b"d"]

    def test_stream_of_a_failing_git_raises_after_the_first_fields(self, repo: GitRepo, fake_git: Fake) -> None:
        fake_git("printf 'one\\0'; echo broken >&2; exit 3")
        pieces = stream(repo.folder, "ls-tree", timeout_s=5)
        assert next(pieces) == b"one\0"
        with pytest.raises(GitFailed):
            next(pieces)

    def test_stream_without_output_raises_upstream_timeout(self, repo: GitRepo, fake_git: Fake) -> None:
        fake_git("printf 'one\\0'; exec sleep 300")
        pieces = stream(repo.folder, "ls-tree", timeout_s=0.3)
        assert next(pieces) == b"one\0"
        with pytest.raises(UpstreamTimeout):
            next(pieces)
        assert children_called("sleep") == []

    def test_stream_with_a_slow_reader_does_not_time_out(self, repo: GitRepo) -> None:
        pieces = stream(repo.folder, "ls-tree", "-z", "main", timeout_s=0.3)
        first = next(pieces)
        time.sleep(0.5)
        assert len(list(fields([first, *pieces]))) == 2

    def test_stream_with_much_error_output_does_not_block(self, repo: GitRepo, fake_git: Fake) -> None:
        fake_git("head -c 300000 /dev/zero >&2; printf 'end\\0'")
        assert list(stream(repo.folder, "ls-tree", timeout_s=5)) == [b"end\0"]

    def test_stream_close_ends_git(self, repo: GitRepo, fake_git: Fake) -> None:
        fake_git("printf 'one\\0'; exec sleep 300")
        pieces = stream(repo.folder, "ls-tree", timeout_s=5)
        next(pieces)
        pieces.close()
        assert children_called("sleep") == []
