"""A commit on GitHub in four steps: blobs, tree, commit, branch (spec 4.13). Only the last step is visible.

The objects of the first three steps are named by their content, so these steps may be repeated. The move of the branch
is looked up before it is repeated. A commit that is repeated on a newer head uses the existing blobs.
"""

import base64
from collections.abc import Sequence
from functools import partial
from typing import Any

from app.concurrency.bounded import run_with_concurrency
from app.core import clock
from app.core.retry import RetryOptions, retry
from app.drivers.errors import DriverError, UpstreamError, UpstreamRejected
from app.drivers.git.commit_plan import CommitPlan, FileWrite, make_plan
from app.drivers.git.errors import BranchMoved, RepositoryUnavailable
from app.drivers.git.github import values
from app.drivers.git.github.calls import path_segments
from app.drivers.git.github.trees import GitHubTrees
from app.drivers.git.object_ids import blob_sha, check_message
from app.drivers.git.port import Commit, FileChange, PathChange, Person, TreeEntry
from app.drivers.git.rest.calls import NO_COMMIT
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown
from app.drivers.git.tree_views import TreeView

MAX_PARALLEL_BLOBS = 10
MOVED = "The branch has moved since it was read"


class GitHubCommit:
    """A writer of commits on one branch of one repository. The committer is the bot."""

    def __init__(self, repository: GitHubTrees, branch: str, *, author: Person, bot: Person, deadline_s: float) -> None:
        self._repository, self._branch, self._author, self._bot = repository, branch, author, bot
        self._deadline_s = deadline_s

    def make(
        self, changes: Sequence[FileChange], message: str, expected_head: str, merged: str | None = None
    ) -> Commit:
        check_message(message)
        base = merged or expected_head
        tree, base_tree = self._read(changes, expected_head, base)
        plan = make_plan(changes, tree)
        shas = self._make_blobs(plan)
        new_tree = self._make_tree(base_tree, _tree_changes(plan, shas, tree))
        commit = self._make_commit(new_tree, message, list(dict.fromkeys((expected_head, base))))
        sha = values.sha(commit)
        self._move(sha, expected_head)
        path_changes = (PathChange(path, entry) for path, entry in sorted(_outcome(plan, shas).items()))
        return Commit(sha, expected_head, tuple(path_changes), commit.get("html_url"))

    def _read(self, changes: Sequence[FileChange], expected_head: str, base: str) -> tuple[TreeView, str]:
        """Check the head and read the tree of the commit to which the changes apply, in one round trip."""
        paths = [path for change in changes for path in (change.path, change.previous_path) if path]
        head, commit, tree = run_with_concurrency(
            [
                partial(self._repository.head, self._branch),
                partial(self._repository.read, f"/git/commits/{base}", missing=NO_COMMIT),
                partial(self._repository.view_at_once, base, paths),
            ]
        )
        if head != expected_head:
            raise BranchMoved(MOVED)
        return tree, values.tree_of(commit)

    def _make_blobs(self, plan: CommitPlan) -> dict[str, str]:
        """Upload the new blobs. Return the sha of every written path."""
        new = [write for write in plan.written if write.sha is None]
        created = run_with_concurrency([partial(self._make_blob, write) for write in new], MAX_PARALLEL_BLOBS)
        sha_by_path = {write.path: write.sha for write in plan.written if write.sha is not None}
        return sha_by_path | dict(zip((write.path for write in new), created, strict=True))

    def _make_blob(self, write: FileWrite) -> str:
        content = write.content or b""
        sha = blob_sha(content)
        if sha not in self._repository.memory.blobs:
            body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
            if values.sha(self._repository.write("POST", "/git/blobs", body, repeatable=True)) != sha:
                raise UpstreamError("The Git host stored other bytes than it received")
            self._repository.memory.blobs.add(sha)
        return sha

    def _make_tree(self, base: str, entries: list[dict[str, str | None]]) -> str:
        """Return the tree with the changed entries, which is `base` without any."""
        if not entries:
            return base
        body = {"base_tree": base, "tree": entries}
        return values.sha(self._repository.write("POST", "/git/trees", body, repeatable=True))

    def _make_commit(self, tree: str, message: str, parents: list[str]) -> dict[str, Any]:
        # The explicit time makes a repeated call return the same commit.
        date = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        author, bot = ({"name": who.name, "email": who.email, "date": date} for who in (self._author, self._bot))
        body = {"message": message, "tree": tree, "parents": parents, "author": author, "committer": bot}
        created: dict[str, object] = self._repository.write("POST", "/git/commits", body, repeatable=True)
        return created

    def _move(self, sha: str, expected_head: str) -> None:
        """Move the branch forward to the new commit, never by force."""

        def attempt() -> None:
            try:
                self._update(sha)
            except RequestRefused as fault:
                # GitHub reports a concurrent push with various messages. Compare the branch instead.
                if self._has_landed(sha, expected_head):
                    return
                if _is_moved(fault):
                    raise BranchMoved(MOVED) from fault
                raise _refused(fault) from fault
            except DriverError as failure:
                if not is_outcome_unknown(failure) or not self._has_landed(sha, expected_head):
                    raise

        retry(attempt, RetryOptions(is_transient=is_outcome_unknown, deadline_s=self._deadline_s))

    def _update(self, sha: str) -> None:
        path = f"/git/refs/heads/{path_segments(self._branch)}"
        self._repository.write("PATCH", path, {"sha": sha, "force": False})

    def _has_landed(self, sha: str, expected_head: str) -> bool:
        """Return whether the branch contains the commit. Raises BranchMoved if it moved without the commit."""
        head = self._repository.head(self._branch)
        if head in (sha, expected_head):
            return head == sha
        if self._repository.is_ancestor(sha, head):
            return True
        raise BranchMoved(MOVED)


def _is_moved(fault: RequestRefused) -> bool:
    return fault.status == 409 or "fast forward" in fault.message_of_host.lower().replace("-", " ")


def _refused(fault: RequestRefused) -> DriverError:
    if "does not exist" in fault.message_of_host or fault.status == 404:
        return RepositoryUnavailable("The branch does not exist in the repository")
    return UpstreamRejected(
        f"The Git host does not let this account write the branch: {fault.message_of_host}", code="BRANCH_PROTECTED"
    )


def _tree_changes(plan: CommitPlan, shas: dict[str, str], tree: TreeView) -> list[dict[str, str | None]]:
    """Return the changed entries of the new tree, removed paths first, so that a file may replace a folder."""
    written = {write.path for write in plan.written}
    removed = [tree.find(path) for path in plan.removed if path not in written]
    entries: list[dict[str, str | None]] = [
        {"path": e.path, "mode": e.mode, "type": e.type, "sha": None} for e in removed if e is not None
    ]
    entries += [{"path": w.path, "mode": w.mode, "type": "blob", "sha": shas[w.path]} for w in plan.written]
    return entries


def _outcome(plan: CommitPlan, shas: dict[str, str]) -> dict[str, TreeEntry | None]:
    """Return the new entry of every path."""
    removed: dict[str, TreeEntry | None] = dict.fromkeys(plan.removed)
    sizes = {w.path: w.size if w.content is None else len(w.content) for w in plan.written}
    return removed | {w.path: TreeEntry(w.path, "blob", w.mode, shas[w.path], sizes[w.path]) for w in plan.written}
