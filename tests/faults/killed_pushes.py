"""A client that pushes while processes are killed, and the files that killed processes leave until they are swept."""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from threading import Event

import psutil

from app.drivers.git.local.packing import LOCK_AGE_S
from app.extensions import db, jobs
from tests.faults.kills import Site
from tests.git_http.client import GitClient
from tests.support.tokens import new_token

BRANCH, CLONE, KIB = "pushed", "pusher", 1024
SIZES = (KIB, 100 * KIB, 4096 * KIB)
ACCEPTED_WITHIN_S, RETRY_INTERVAL_S, KILLED_WITHIN_S, SWEPT_WITHIN_S = 300, 1, 120, 60
RECEIVED = "tmp_objdir"
KINDS = frozenset({"galley-push", "galley-metrics", RECEIVED})
"""The beginnings of the names of the folders that killed processes leave."""


class Pusher:
    """A client that commits new files to a separate branch, and repeats each push until it is accepted.

    The variable TMPDIR of the service names a folder that no other process uses.
    """

    def __init__(self, site: Site, seed: int) -> None:
        self.site, self._generator, self._folder = site, random.Random(seed), site.repository.folder
        (home := site.service.home / "clients").mkdir()
        self._git, token = GitClient(home, timeout_s=ACCEPTED_WITHIN_S), new_token(site.owner)["token"]
        self._url = f"http://anyone:{token}@127.0.0.1:{site.service.port}/git/{site.name}.git"
        self._git.ok("init", "--quiet", f"--initial-branch={BRANCH}", CLONE)
        self.commits: list[str] = []
        self.errors: list[str] = []

    def work(self, stop: Event) -> None:
        """Push until `stop` is set."""
        while not stop.is_set() and not self.errors:
            path, size = f"{len(self.commits)}.bin", self._generator.choice(SIZES)
            commit = self._git.commit(CLONE, {path: self._generator.randbytes(size)}, f"Push {path}")
            try:
                self._push()
                self.commits.append(commit)
            except (TimeoutError, subprocess.TimeoutExpired) as error:
                self.errors.append(f"{path} cannot be pushed: {error}")

    def kill(self) -> bool:
        """Kill the processes of Git that receive a push. Return False if there are none."""
        for process in psutil.process_iter() if self._received() else ():
            with suppress(psutil.Error, ProcessLookupError):
                if "receive-pack" in process.cmdline() and Path(process.cwd()) == self._folder:
                    os.killpg(os.getpgid(process.pid), signal.SIGKILL)
                    return True
        return False

    def kill_service(self) -> set[str]:
        """Kill the service during a push, and start it. Return the kinds of folders that no kill has left."""
        service, known, until_s = self.site.service, set(self._received()), time.monotonic() + KILLED_WITHIN_S
        while time.monotonic() < until_s:
            if known.issuperset(self._received()):
                time.sleep(0.005)
                continue
            # Git waits for the hook, and a stopped service cannot remove its folder when Git is killed.
            os.killpg(service.process.pid, signal.SIGSTOP)
            if self.kill() and not _missing(self._leftovers()):
                break
            known.update(self._received())
            os.killpg(service.process.pid, signal.SIGCONT)
        service.kill()
        left = self._age_leftovers()
        service.start()
        return _missing(left)

    def sweep(self) -> list[Path]:
        """Run the periodic job after the last push and end the service. Return the files that stay."""
        self._age_leftovers()  # A process of Git that outlived its service has changed its folder since.
        with self.site.service.app.app_context():
            jobs.enqueue("content.tidy", unique="periodic:content.tidy")
            db.session.commit()
        until_s = time.monotonic() + SWEPT_WITHIN_S
        while self._received() and time.monotonic() < until_s:
            time.sleep(0.2)
        self.site.service.kill(signal.SIGTERM)
        return self._leftovers()

    def differences(self) -> list[str]:
        """Compare the accepted pushes with the branch. Git can also have the last one, if its answer was lost."""
        present = self.site.repository.commits(BRANCH)[::-1][: len(self.commits)]
        return self.errors + ([] if present == self.commits else [f"pushed {self.commits}, in Git {present}"])

    def _push(self) -> None:
        """Push until the service accepts it. Raises TimeoutError."""
        until_s = time.monotonic() + ACCEPTED_WITHIN_S
        while (ran := self._git.run("push", "--quiet", self._url, BRANCH, within=CLONE)).code != 0:
            if time.monotonic() > until_s:
                raise TimeoutError(ran.messages)
            time.sleep(RETRY_INTERVAL_S)

    def _received(self) -> list[Path]:
        return list(self._folder.glob(f"objects/{RECEIVED}-*"))

    def _age_leftovers(self) -> list[Path]:
        """Give the folders that killed processes left the age at which they are removed. Return them."""
        left = self._leftovers()
        for file in (*left, *(folder / "lock" for folder in left)):
            with suppress(FileNotFoundError):
                os.utime(file, (time.time() - 2 * LOCK_AGE_S,) * 2)
        return left

    def _leftovers(self) -> list[Path]:
        return [*Path(self.site.service.environment["TMPDIR"]).iterdir(), *self._received()]


def _missing(folders: list[Path]) -> set[str]:
    """Return the kinds that no folder has."""
    return {kind for kind in KINDS if not any(folder.name.startswith(kind) for folder in folders)}
