"""A commit on GitHub in four steps: blobs, tree, commit, branch (spec 4.13); nothing shows before the last.

What the first three make is named by its content, so doing them twice is doing them once; only moving the branch is
looked up before it is repeated. A commit that is made anew on a newer head finds its blobs where they are.
"""

import base64
from collections.abc import Sequence
from functools import partial
from typing import Any

from app.core import clock
from app.core.concurrency import run_with_concurrency
from app.core.retry import RetryOptions, retry
from app.drivers.errors import Broken, DriverError, Rejected
from app.drivers.git import github_values as values
from app.drivers.git.answers import Refusal, in_doubt
from app.drivers.git.github_calls import GitHubRepository
from app.drivers.git.github_trees import GitHubTrees
from app.drivers.git.hosted_calls import NO_COMMIT
from app.drivers.git.objects import blob_sha, check_message
from app.drivers.git.plan import Plan, Write, make_plan
from app.drivers.git.port import BranchMoved, Commit, FileChange, PathChange, Person, RepositoryUnavailable, TreeEntry
from app.drivers.git.rest import segment
from app.drivers.git.views import TreeView

BLOBS_AT_ONCE = 10
MOVED = "The branch has moved since it was read"


class GitHubCommit:
    """Makes commits on one branch of one repository, by `bot`."""

    def __init__(self, repository: GitHubRepository, branch: str, *, bot: Person, patience_s: float) -> None:
        self._repository, self._branch, self._bot, self._patience_s = repository, branch, bot, patience_s

    def make(self, changes: Sequence[FileChange], message: str, expected_head: str) -> Commit:
        """See `GitProvider.commit`."""
        check_message(message)
        tree, base = self._read(changes, expected_head)
        plan = make_plan(changes, tree)
        shas = self._make_blobs(plan)
        made = self._repository.write(
            "POST", "/git/trees", {"base_tree": base, "tree": _tree_changes(plan, shas, tree)}, repeatable=True
        )
        commit = self._make_commit(values.sha(made), message, expected_head)
        sha = values.sha(commit)
        self._move(sha, expected_head)
        told = (PathChange(path, entry) for path, entry in sorted(_outcome(plan, shas).items()))
        return Commit(sha, expected_head, tuple(told), commit.get("html_url"))

    def _read(self, changes: Sequence[FileChange], expected_head: str) -> tuple[TreeView, str]:
        """The tree the changes are made on and its name, in one round trip with the check of the head."""
        paths = [path for change in changes for path in (change.path, change.previous_path) if path]
        head, commit, tree = run_with_concurrency(
            [
                partial(self._repository.head, self._branch),
                partial(self._repository.read, f"/git/commits/{expected_head}", missing=NO_COMMIT),
                partial(GitHubTrees(self._repository).view_at_once, expected_head, paths),
            ]
        )
        if head != expected_head:
            raise BranchMoved(MOVED)
        return tree, values.tree_of(commit)

    def _make_blobs(self, plan: Plan) -> dict[str, str]:
        """The blob of every path that is written."""
        new = [write for write in plan.written if write.sha is None]
        made = run_with_concurrency([partial(self._make_blob, write) for write in new], BLOBS_AT_ONCE)
        known = {write.path: write.sha for write in plan.written if write.sha is not None}
        return known | dict(zip((write.path for write in new), made, strict=True))

    def _make_blob(self, write: Write) -> str:
        content = write.content or b""
        sha = blob_sha(content)
        if sha not in self._repository.memory.blobs:
            body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
            if values.sha(self._repository.write("POST", "/git/blobs", body, repeatable=True)) != sha:
                raise Broken("The Git host stored other bytes than it was given")
            self._repository.memory.blobs.add(sha)
        return sha

    def _make_commit(self, tree: str, message: str, parent: str) -> dict[str, Any]:
        # The time is said, to the second, so that a repeated call names the same commit.
        who = {"name": self._bot.name, "email": self._bot.email, "date": clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")}
        body = {"message": message, "tree": tree, "parents": [parent], "author": who, "committer": who}
        made: dict[str, Any] = self._repository.write("POST", "/git/commits", body, repeatable=True)
        return made

    def _move(self, sha: str, expected_head: str) -> None:
        """Move the branch forward to the new commit, never by force."""

        def attempt() -> None:
            try:
                self._update(sha)
            except Refusal as fault:
                # It words lost races in many ways, but then the branch is elsewhere.
                if self._has_landed(sha, expected_head):
                    return
                if _is_moved(fault):
                    raise BranchMoved(MOVED) from fault
                raise _refused(fault) from fault
            except DriverError as failure:
                if not in_doubt(failure) or not self._has_landed(sha, expected_head):
                    raise

        retry(attempt, RetryOptions(passing=in_doubt, deadline_s=self._patience_s))

    def _update(self, sha: str) -> None:
        path = f"/git/refs/heads/{'/'.join(map(segment, self._branch.split('/')))}"
        self._repository.write("PATCH", path, {"sha": sha, "force": False})

    def _has_landed(self, sha: str, expected_head: str) -> bool:
        """Whether the branch has the commit. Raises BranchMoved when it has gone on without it."""
        head = self._repository.head(self._branch)
        if head in (sha, expected_head):
            return head == sha
        if self._repository.is_ancestor(sha, head):
            return True
        raise BranchMoved(MOVED)


def _is_moved(fault: Refusal) -> bool:
    return fault.status == 409 or "fast forward" in fault.said.lower().replace("-", " ")


def _refused(fault: Refusal) -> DriverError:
    if "does not exist" in fault.said or fault.status == 404:
        return RepositoryUnavailable("There is no such branch in the repository")
    return Rejected(f"The Git host does not let this account write the branch: {fault.said}", code="BRANCH_PROTECTED")


def _tree_changes(plan: Plan, shas: dict[str, str], tree: TreeView) -> list[dict[str, str | None]]:
    """The entries of the new tree that differ: what goes first, so that a file may take a folder's place."""
    written = {write.path for write in plan.written}
    gone = [tree.find(path) for path in plan.removed if path not in written]
    entries: list[dict[str, str | None]] = [
        {"path": e.path, "mode": e.mode, "type": e.type, "sha": None} for e in gone if e is not None
    ]
    entries += [{"path": w.path, "mode": w.mode, "type": "blob", "sha": shas[w.path]} for w in plan.written]
    return entries


def _outcome(plan: Plan, shas: dict[str, str]) -> dict[str, TreeEntry | None]:
    """Every path's new entry."""
    gone: dict[str, TreeEntry | None] = dict.fromkeys(plan.removed)
    return gone | {w.path: TreeEntry(w.path, "blob", w.mode, shas[w.path], _size(w)) for w in plan.written}


def _size(write: Write) -> int | None:
    return len(write.content) if write.content is not None else write.size
