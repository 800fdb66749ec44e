"""Pushes whose client does not read the answer."""

import contextlib
import socket
from collections.abc import Iterator, Mapping

from app.core.permissions import Role
from tests.git_http.client import GitClient, Site, basic
from tests.support.samples.gitrepo import GitRepo
from tests.support.world import Person

NOTHING = "0" * 40
SOME, MANY = 40, 900
"""Branches of a push. Their names of 200 characters fill the window of the client, or all buffers between it and Git."""


def long_names(number: int) -> list[str]:
    return [f"z{one:04}{'x' * 195}" for one in range(number)]


def line(text: str) -> bytes:
    """Return a line of Git's protocol."""
    return f"{len(text) + 4:04x}{text}".encode()


def push_body(updates: Mapping[str, tuple[str, str]], pack: bytes) -> bytes:
    """Return the body of a push. Each branch has its commits before and after."""
    options, lines = "\0report-status side-band-64k\n", []
    for branch, (before, after) in updates.items():
        lines.append(line(f"{before} {after} refs/heads/{branch}{options}"))
        options = ""
    return b"".join(lines) + b"0000" + pack


class ReviewedSet:
    """A set in review, and a member who pushes to it with commits in the name of an unknown person."""

    def __init__(self, site: Site, git: GitClient, clone: str = "site") -> None:
        self.site, self.git, self.clone = site, git, clone
        self.pusher: Person = site.member(Role.EDITOR)
        self.token = site.token("read", "write", person=self.pusher)
        made = site.owner.post(f"/project/{site.project}/change-sets", {"title": "Words"}).ok(201)
        self.id, self.branch = made["id"], made["branch"]
        file = {"action": "create", "path": "set.md", "content": "Set\n"}
        body = {"message": "Set", "base_sha": made["head_sha"], "files": [file]}
        self.before = site.owner.post(f"/change-set/{self.id}/commit", body).ok(201)["commit_sha"]
        site.owner.post(f"/change-set/{self.id}/submit", {}).ok()
        git.clone(site.url(self.token), "--branch", self.branch, name=clone)
        self.sha = git.commit(clone, {f"{clone}.md": b"pushed\n"})

    def body(self, *others: str) -> bytes:
        """Return the body of the push of the commit, and of new branches at the earlier head of the set."""
        repo = GitRepo.existing(self.git.folder / self.clone / ".git")
        pack = repo.git("pack-objects", "--quiet", "--revs", "--stdout", data=f"{self.sha}\n^{self.before}\n".encode())
        new = dict.fromkeys(others, (NOTHING, self.before))
        return push_body({self.branch: (self.before, self.sha), **new}, pack)

    @contextlib.contextmanager
    def unread_push(self, *, version: int = 0, branches: int = SOME) -> Iterator[socket.socket]:
        """Push the commit and new branches, and read nothing of the answer."""
        body = self.body(*long_names(branches))
        head = (
            f"POST /git/{self.site.repository}.git/git-receive-pack HTTP/1.1\r\nHost: a\r\n"
            f"Git-Protocol: version={version}\r\nAuthorization: {basic(self.token)}\r\n"
            f"Content-Type: application/x-git-receive-pack-request\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with self.site.small_window() as client:
            client.sendall(head.encode() + body)
            yield client
        self.site.wait_for_no_process()

    @property
    def is_moved(self) -> bool:
        return self.site.repo.loose_head(self.branch) == self.sha
