"""Pushes and saves of one branch at the same time."""

import threading
from collections.abc import Callable
from functools import partial

import requests

from tests.git_http.client import GitClient, Site

ATTEMPTS = 200


class Race:
    """Writers of the working branch of a site. `commits` are the acknowledged ones, `failures` what went wrong."""

    def __init__(self, site: Site, git: GitClient) -> None:
        self._site, self._git = site, git
        self._url = f"{site.service.url}/api/v1/project-content/{site.project}/commit"
        self.commits: list[str] = []
        self.failures: list[str] = []

    def save(self, client: requests.Session, name: str, edits: int) -> None:
        """Save new files, each as one commit."""
        for number in range(edits):
            file = {"action": "create", "path": f"saves/{name}-{number}.md", "content": name}
            body = {"message": "Save", "base_sha": self._site.head(), "files": [file]}
            response = client.post(self._url, json=body, timeout=120)
            if response.status_code == 201:
                self.commits.append(response.json()["result"]["commit_sha"])
            else:
                self.failures.append(response.text)

    def push(self, clone: str, edits: int) -> None:
        """Push new files, each as one commit. Rebase a commit that arrives too late."""
        for number in range(edits):
            self._git.commit(clone, {f"pushes/{clone}-{number}.md": clone.encode()})
            for _ in range(ATTEMPTS):
                pushed = self._git.run("push", "origin", "main", within=clone)
                if pushed.code == 0:
                    self.commits.append(self._git.ok("rev-parse", "HEAD", within=clone))
                    break
                if "rejected" not in pushed.messages:
                    self.failures.append(pushed.messages)
                self._git.ok("pull", "--quiet", "--rebase", within=clone)
            else:
                self.failures.append(f"{clone} cannot push")


def race(site: Site, git: GitClient, *, savers: int, pushers: int, edits: int) -> list[str]:
    """Run savers and pushers. Return the failures and the acknowledged commits that the branch does not contain."""
    running = Race(site, git)
    calls: list[Callable[[], None]] = []
    for number in range(savers):
        calls.append(partial(running.save, site.service.client(site.owner), f"s{number}", edits))
    for number in range(pushers):
        clone = git.clone(site.url(site.token()), name=f"p{number}")
        calls.append(partial(running.push, clone, edits))
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    present = set(site.repo.commits())
    lost = [f"{commit} is lost" for commit in running.commits if commit not in present]
    missing = (savers + pushers) * edits - len(running.commits)
    return [*running.failures, *lost, *([f"{missing} edits are missing"] if missing else [])]
