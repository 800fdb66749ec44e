"""The program of the hook alone: its processes."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

from app.git_http import pre_receive
from tests.support.samples.gitrepo import GitRepo

ROOT = Path(__file__).parents[2]


def run_hook(folder: Path, repo: GitRepo, lines: list[str]) -> tuple[int, int]:
    """Run the hook with a service that permits everything. Return its exit code and the number of git processes."""
    (folder / "bin").mkdir(parents=True)
    count, shim, address = folder / "count", folder / "bin" / "git", str(folder / "socket")
    shim.write_text(f'#!/bin/sh\necho >> {count}\nexec {shutil.which("git")} "$@"\n')
    shim.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()

        def answer() -> None:
            with listener.accept()[0] as hook, hook.makefile("rwb") as stream:
                stream.readline()
                stream.write(b"[]\n")

        thread = threading.Thread(target=answer)
        thread.start()
        environment = {
            "PATH": f"{shim.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "GIT_DIR": str(repo.folder),
            pre_receive.SOCKET: address,
            pre_receive.WORKING: '["main"]',
        }
        command = [sys.executable, "-P", "-S", "-s", "-m", "app.git_http.pre_receive"]
        code = subprocess.run(command, input="".join(lines).encode(), env=environment, check=False).returncode
        thread.join()
    return code, len(count.read_text().splitlines())


def test_number_of_processes_does_not_depend_on_the_number_of_updates(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo", {"a.md": b"a\n"})
    before = repo.head()
    after = repo.commit({"b.md": b"b\n"})
    lines = [f"{before} {after} refs/heads/n{number}\n" for number in range(pre_receive.PushLimits.updates - 1)]
    main = f"{before} {after} refs/heads/main\n"
    assert run_hook(tmp_path / "one", repo, [main]) == run_hook(tmp_path / "all", repo, [main, *lines]) == (0, 5)
