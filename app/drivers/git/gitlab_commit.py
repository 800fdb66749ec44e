"""A commit on GitLab in one call (spec 4.13), made on what its files were at the expected head.

GitLab commits on whatever the branch is at, so each file that is changed carries its last commit: a push in between to
other files is built upon, one to the same files refuses the call.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from app.core.concurrency import run_with_concurrency
from app.core.retry import RetryOptions, retry
from app.drivers.errors import DriverError, Rejected
from app.drivers.git import gitlab_values as values
from app.drivers.git.answers import Refusal, in_doubt
from app.drivers.git.gitlab_calls import GitLabProject
from app.drivers.git.gitlab_history import GitLabHistory
from app.drivers.git.gitlab_plan import actions_of, sources_of
from app.drivers.git.gitlab_trees import GitLabTrees
from app.drivers.git.objects import blob_sha, check_message
from app.drivers.git.plan import Plan, Write, make_plan
from app.drivers.git.port import BranchMoved, Commit, FileChange, PathChange, Person, TreeEntry

FILES_AT_ONCE = 10
MOVED = "The branch has moved since it was read"


class GitLabCommit:
    """Makes commits on one branch of one project, by `bot`; the committer is whoever owns the token."""

    def __init__(self, project: GitLabProject, branch: str, *, bot: Person, patience_s: float) -> None:
        self._project, self._branch, self._bot, self._patience_s = project, branch, bot, patience_s

    def make(self, changes: Sequence[FileChange], message: str, expected_head: str) -> Commit:
        """See `GitProvider.commit`; `parent` is a newer head where another push to other files came in between."""
        check_message(message)
        if self._project.head(self._branch) != expected_head:
            raise BranchMoved(MOVED)
        paths = [path for change in changes for path in (change.path, change.previous_path) if path]
        tree = GitLabTrees(self._project).view(expected_head, paths)
        plan = self._with_bytes(make_plan(changes, tree), changes)
        body = {
            "branch": self._branch,
            "commit_message": message,
            "author_name": self._bot.name,
            "author_email": self._bot.email,
            "actions": actions_of(changes, plan, tree, self._last_commits(changes, expected_head)),
        }
        outcome = _outcome(plan)
        made = self._write(body, outcome, expected_head)
        told = tuple(PathChange(path, entry) for path, entry in sorted(outcome.items()))
        parents = values.parents(made)
        return Commit(values.sha(made), parents[0] if parents else expected_head, told, made.get("web_url"))

    def _with_bytes(self, plan: Plan, changes: Sequence[FileChange]) -> Plan:
        """The plan with the bytes of files that cannot be moved as they are, because another takes their place."""
        wanted = sources_of(changes, plan)
        blobs = run_with_concurrency([partial(self._project.blob, sha) for sha in wanted.values()], FILES_AT_ONCE)
        contents = dict(zip(wanted, blobs, strict=True))
        written = (Write(w.path, w.mode, contents.get(w.path, w.content), w.sha, w.size) for w in plan.written)
        return Plan(plan.removed, tuple(written))

    def _last_commits(self, changes: Sequence[FileChange], head: str) -> dict[str, str]:
        """The last commit of every file that is there and changes."""
        paths = sorted({change.previous_path or change.path for change in changes} | {c.path for c in changes})
        found = run_with_concurrency([partial(self._project.file, head, path) for path in paths], FILES_AT_ONCE)
        return {path: facts.last_commit for path, facts in zip(paths, found, strict=True) if facts is not None}

    def _write(self, body: dict[str, Any], outcome: dict[str, TreeEntry | None], expected_head: str) -> dict[str, Any]:
        """Make the call; one that may have taken effect is looked up before it is repeated."""
        doubts: list[DriverError] = []

        def attempt() -> dict[str, Any]:
            try:
                made: dict[str, Any] = self._project.write("POST", "/repository/commits", body)
            except Refusal as fault:
                landed = self._landed(body, outcome, expected_head) if doubts else None
                return landed or self._refused(fault, expected_head)
            except DriverError as failure:
                doubts.append(failure)
                landed = self._landed(body, outcome, expected_head) if in_doubt(failure) else None
                if landed is None:
                    raise
                return landed
            return made

        return retry(attempt, RetryOptions(passing=in_doubt, deadline_s=self._patience_s))

    def _landed(
        self, body: dict[str, Any], outcome: dict[str, TreeEntry | None], expected_head: str
    ) -> dict[str, Any] | None:
        """The commit on the branch that is this one: of the bot, with this message, leaving these files."""
        head = self._project.head(self._branch)
        if head == expected_head:
            return None
        since = GitLabHistory(self._project).listed(head, expected_head)
        return next((found for found in since if self._is_it(found, body, outcome)), None)

    def _is_it(self, found: dict[str, Any], body: dict[str, Any], outcome: dict[str, TreeEntry | None]) -> bool:
        told = values.commit(found)
        if told.message.strip() != body["commit_message"].strip() or told.author != self._bot:
            return False
        stand = run_with_concurrency([partial(self._project.file, told.sha, path) for path in outcome], FILES_AT_ONCE)
        wanted = [entry.sha if entry else None for entry in outcome.values()]
        return [facts.sha if facts else None for facts in stand] == wanted

    def _refused(self, fault: Refusal, expected_head: str) -> dict[str, Any]:
        """Tell why GitLab refused; it words races in many ways, but then the branch has moved."""
        if self._project.head(self._branch) != expected_head or "Could not update" in fault.said:
            raise BranchMoved(MOVED) from fault
        protected = fault.status == 403 or "not allowed to push" in fault.said
        raise Rejected(
            f"The Git host does not make this commit: {fault.said}", code="BRANCH_PROTECTED" if protected else "REFUSED"
        ) from fault


def _outcome(plan: Plan) -> dict[str, TreeEntry | None]:
    """Every path's new entry."""
    gone: dict[str, TreeEntry | None] = dict.fromkeys(plan.removed)
    return gone | {write.path: _entry(write) for write in plan.written}


def _entry(write: Write) -> TreeEntry:
    sha = blob_sha(write.content) if write.content is not None else write.sha or ""
    size = len(write.content) if write.content is not None else write.size
    return TreeEntry(write.path, "blob", write.mode, sha, size)
