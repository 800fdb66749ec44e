"""A commit on GitLab in one call (spec 4.13).

GitLab commits on the present head of the branch. Each changed file carries its last commit: a push in between to other
files becomes the parent, and a push to the same files refuses the call. GitLab applies the actions of a commit in
order.

Source: GitLab “Commits API”, create a commit with multiple files and actions.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import structlog

from app.concurrency.bounded import run_with_concurrency
from app.core.retry import RetryOptions, retry
from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.git.commit_plan import EXECUTABLE, PLAIN, CommitPlan, FileWrite, is_executable, make_plan
from app.drivers.git.errors import BranchMoved, PathConflict
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.trees import GitLabHistory
from app.drivers.git.object_ids import blob_sha, check_message
from app.drivers.git.port import Action, Commit, FileChange, PathChange, Person, TreeEntry
from app.drivers.git.rest.responses import RequestRefused, is_outcome_unknown
from app.drivers.git.tree_views import TreeView
from app.drivers.http.client import LIMITS

log = structlog.get_logger(__name__)

MAX_PARALLEL_FILES = 10
MOVED = "The branch has moved since it was read"
Act = dict[str, object]
_PROTECTED = re.compile("not allowed to (force )?push")


class GitLabCommit:
    """A writer of commits on one branch of one project. The committer is the owner of the token."""

    def __init__(self, project: GitLabHistory, branch: str, *, author: Person, deadline_s: float) -> None:
        self._project, self._branch, self._author, self._deadline_s = project, branch, author, deadline_s

    def make(
        self, changes: Sequence[FileChange], message: str, expected_head: str, merged: str | None = None
    ) -> Commit:
        """Make a commit.

        See `Repository.commit`. `parent` is a newer head if a push to other files came in between.

        With `merged`, see `Repository.commit_merge`. The actions apply to exactly that commit, so they need no last
        commits of their files.
        """
        check_message(message)
        base = merged or expected_head
        if merged is not None:
            self._project.require_commit(merged)
        self._check_head(expected_head)
        paths = [path for change in changes for path in (change.path, change.previous_path) if path]
        tree = self._project.view(base, paths)
        plan = self._with_bytes(make_plan(changes, tree), changes)
        last_commits = self._last_commits(changes, base) if merged is None else {}
        body: Act = {
            "branch": self._branch,
            "commit_message": message,
            "author_name": self._author.name,
            "author_email": self._author.email,
            "actions": actions_of(changes, plan, tree, last_commits),
        }
        if merged is not None:
            body |= {"start_sha": merged, "force": True, "allow_empty": True}
        outcome = _outcome(plan)
        created = self._write(body, outcome, expected_head)
        self._check_parent(created, outcome, base)
        info = tuple(PathChange(path, entry) for path, entry in sorted(outcome.items()))
        parents = values.parents(created)
        return Commit(values.sha(created), parents[0] if parents else base, info, created.get("web_url"))

    def _check_head(self, expected_head: str) -> None:
        if self._project.head(self._branch) != expected_head:
            raise BranchMoved(MOVED)

    def _with_bytes(self, plan: CommitPlan, changes: Sequence[FileChange]) -> CommitPlan:
        """Add the bytes of files that cannot be moved because another file takes their path."""
        sources = sources_of(changes, plan)
        blobs = run_with_concurrency(
            [partial(self._project.blob, sha, max_bytes=LIMITS.file_bytes) for sha in sources.values()],
            MAX_PARALLEL_FILES,
        )
        contents = dict(zip(sources, blobs, strict=True))
        written = (FileWrite(w.path, w.mode, contents.get(w.path, w.content), w.sha, w.size) for w in plan.written)
        return CommitPlan(plan.removed, tuple(written))

    def _last_commits(self, changes: Sequence[FileChange], head: str) -> dict[str, str]:
        """Read the last commit of every existing file that changes."""
        paths = sorted({change.previous_path or change.path for change in changes} | {c.path for c in changes})
        data = run_with_concurrency([partial(self._project.file, head, path) for path in paths], MAX_PARALLEL_FILES)
        return {path: facts.last_commit for path, facts in zip(paths, data, strict=True) if facts is not None}

    def _write(self, body: dict[str, Any], outcome: dict[str, TreeEntry | None], expected_head: str) -> dict[str, Any]:
        """Make the call. A call that may have taken effect is looked up before it is repeated.

        A call that overwrites the branch is made only directly after a check of the head.
        """
        doubts: list[DriverError] = []

        def attempt() -> dict[str, object]:
            if "start_sha" in body:
                landed = self._landed(body, outcome, expected_head) if doubts else None
                if landed is not None:
                    return landed
                self._check_head(expected_head)
            try:
                created: dict[str, object] = self._project.write("POST", "/repository/commits", body)
            except RequestRefused as fault:
                landed = self._landed(body, outcome, expected_head) if doubts else None
                return landed or self._refused(fault, expected_head)
            except DriverError as failure:
                doubts.append(failure)
                landed = self._landed(body, outcome, expected_head) if is_outcome_unknown(failure) else None
                if landed is None:
                    raise
                return landed
            return created

        return retry(attempt, RetryOptions(is_transient=is_outcome_unknown, deadline_s=self._deadline_s))

    def _check_parent(
        self, created: dict[str, object], outcome: dict[str, TreeEntry | None], expected_head: str
    ) -> None:
        """Undo the commit if it replaced the changes of a push that arrived after the check of the head.

        GitLab compares `last_commit_id` before it reads the branch to commit on. A push in between to other files is
        harmless; a push to the same files would be lost.

        Raises:
            PathConflict: the files were restored to the content of the push.
        """
        parent = next(iter(values.parents(created)), expected_head)
        if parent == expected_head:
            return
        overwritten = sorted(self._project.changed_paths(expected_head, parent) & outcome.keys())
        if overwritten:
            log.warning("git.concurrent_push_restored", paths=len(overwritten))
            self._restore(values.sha(created), parent, outcome)
            raise PathConflict("The files were changed by another commit at the same time", overwritten)

    def _restore(self, sha: str, parent: str, outcome: dict[str, TreeEntry | None]) -> None:
        """Commit the files of `outcome` as they are at `parent`."""
        before = self._project.entries(parent, list(outcome))
        changes = []
        for path, entry in outcome.items():
            if path in before:
                content = self._project.blob(before[path].sha, max_bytes=LIMITS.file_bytes)
                action = Action.UPDATE if entry else Action.CREATE
                changes.append(FileChange(path, action, content, is_executable=is_executable(before[path])))
            elif entry is not None:
                changes.append(FileChange(path, Action.DELETE))
        self.make(changes, "Restore files that another commit changed at the same time", sha)

    def _landed(
        self, body: dict[str, object], outcome: dict[str, TreeEntry | None], expected_head: str
    ) -> dict[str, object] | None:
        """Return the commit of the branch with the same author, message and files."""
        head = self._project.head(self._branch)
        if head == expected_head:
            return None
        since = self._project.listed(head, expected_head)
        return next((data for data in since if self._is_it(data, body, outcome)), None)

    def _is_it(self, data: dict[str, object], body: dict[str, Any], outcome: dict[str, TreeEntry | None]) -> bool:
        info = values.commit(data)
        if info.parent != body.get("start_sha", info.parent):
            return False
        if info.message.strip() != body["commit_message"].strip() or info.author != self._author:
            return False
        stand = run_with_concurrency(
            [partial(self._project.file, info.sha, path) for path in outcome], MAX_PARALLEL_FILES
        )
        sources = [entry.sha if entry else None for entry in outcome.values()]
        return [facts.sha if facts else None for facts in stand] == sources

    def _refused(self, fault: RequestRefused, expected_head: str) -> dict[str, object]:
        """Raise the error for a refusal. GitLab words races in many ways, but the branch has moved in all of them."""
        if self._project.head(self._branch) != expected_head or "Could not update" in fault.message_of_host:
            raise BranchMoved(MOVED) from fault
        protected = fault.status == 403 or _PROTECTED.search(fault.message_of_host) is not None
        raise UpstreamRejected(
            f"The Git host rejected this commit: {fault.message_of_host}",
            code="BRANCH_PROTECTED" if protected else "REFUSED",
        ) from fault


def _outcome(plan: CommitPlan) -> dict[str, TreeEntry | None]:
    """Return the new entry of every path."""
    removed: dict[str, TreeEntry | None] = dict.fromkeys(plan.removed)
    return removed | {write.path: _entry(write) for write in plan.written}


def _entry(write: FileWrite) -> TreeEntry:
    sha = blob_sha(write.content) if write.content is not None else write.sha or ""
    size = len(write.content) if write.content is not None else write.size
    return TreeEntry(write.path, "blob", write.mode, sha, size)


def actions_of(
    changes: Sequence[FileChange], plan: CommitPlan, tree: TreeView, last_commits: Mapping[str, str]
) -> list[Act]:
    """Return the actions of a plan in an order in which each action fits the result of the previous ones.

    Deletions come first, then moves, then written files. A moved file whose old or new path another change uses is
    written with its bytes.
    """
    moves = {path: source for path, source in _moves(changes).items() if _is_plain_move(path, source, plan)}
    written = {write.path for write in plan.written}
    deleted = [path for path in plan.removed if path not in written and path not in moves.values()]
    actions: list[Act] = [{"action": "delete", "file_path": path} for path in deleted]
    actions += [_move(write, moves[write.path]) for write in plan.written if write.path in moves]
    for write in plan.written:
        if write.path not in moves:
            actions += _write(write, tree)
    return [_guarded(action, last_commits) for action in actions]


def sources_of(changes: Sequence[FileChange], plan: CommitPlan) -> dict[str, str]:
    """Return the blobs of moves that GitLab cannot make as moves, by path. Their bytes must be fetched."""
    plain = {path for path, source in _moves(changes).items() if _is_plain_move(path, source, plan)}
    return {w.path: w.sha for w in plan.written if w.content is None and w.sha is not None and w.path not in plain}


def _moves(changes: Sequence[FileChange]) -> dict[str, str]:
    return {change.path: change.previous_path or "" for change in changes if change.action is Action.MOVE}


def _is_plain_move(path: str, source: str, plan: CommitPlan) -> bool:
    """Return whether the new path is free and the old one stays empty."""
    written = {write.path for write in plan.written}
    nested = path.startswith(f"{source}/") or any(written_path.startswith(f"{source}/") for written_path in written)
    return path not in plan.removed and source not in written and not nested


def _move(write: FileWrite, source: str) -> Act:
    action: Act = {"action": "move", "file_path": write.path, "previous_path": source}
    return action if write.content is None else action | _content(write.content)


def _write(write: FileWrite, tree: TreeView) -> list[Act]:
    before = tree.find(write.path)
    there = before is not None and before.type == "blob"
    action: Act = {"action": "update" if there else "create", "file_path": write.path, **_content(write.content or b"")}
    mode = before.mode if before is not None and there else PLAIN
    if write.mode == mode or EXECUTABLE not in (write.mode, mode):
        return [action]
    return [action, {"action": "chmod", "file_path": write.path, "execute_filemode": write.mode == EXECUTABLE}]


def _content(content: bytes) -> Act:
    return {"content": base64.b64encode(content).decode(), "encoding": "base64"}


def _guarded(action: Act, last_commits: Mapping[str, str]) -> Act:
    """Add the last commit of an existing file to its action (contract 4.13)."""
    last = last_commits.get(str(action.get("previous_path") or action["file_path"]))
    guards = last is not None and action["action"] in ("update", "delete", "move")
    return action | {"last_commit_id": last} if guards else action
