"""Conversion of the plan of a commit to GitLab's actions, which GitLab applies in order.

Source: GitLab “Commits API”, create a commit with multiple files and actions.
"""

import base64
from collections.abc import Mapping, Sequence

from app.drivers.git.commit_plan import EXECUTABLE, PLAIN, CommitPlan, FileWrite
from app.drivers.git.port import Action, FileChange
from app.drivers.git.tree_views import TreeView

Act = dict[str, object]


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
    nested = path.startswith(f"{source}/") or any(each.startswith(f"{source}/") for each in written)
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
