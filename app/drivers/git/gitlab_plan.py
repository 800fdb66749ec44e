"""From a commit's plan to GitLab's actions, which it applies one after another; makes no call.

Source: GitLab “Commits API”, create a commit with multiple files and actions.
"""

import base64
from collections.abc import Mapping, Sequence

from app.drivers.git.plan import EXECUTABLE, PLAIN, Plan, Write
from app.drivers.git.port import Action, FileChange
from app.drivers.git.views import TreeView

Act = dict[str, object]


def actions_of(changes: Sequence[FileChange], plan: Plan, tree: TreeView, last_commits: Mapping[str, str]) -> list[Act]:
    """What makes the plan's outcome, in an order in which each action fits what those before it leave.

    Deletes come first, then moves, then what is written; a moved file whose old or new place another change takes too
    is written with its bytes instead.
    """
    moves = {path: source for path, source in _moves(changes).items() if _is_plain_move(path, source, plan)}
    written = {write.path for write in plan.written}
    gone = [path for path in plan.removed if path not in written and path not in moves.values()]
    acts: list[Act] = [{"action": "delete", "file_path": path} for path in gone]
    acts += [_move(write, moves[write.path]) for write in plan.written if write.path in moves]
    for write in plan.written:
        if write.path not in moves:
            acts += _write(write, tree)
    return [_guarded(act, last_commits) for act in acts]


def sources_of(changes: Sequence[FileChange], plan: Plan) -> dict[str, str]:
    """The written paths whose bytes must be fetched, with their blobs: moves that cannot be made as moves."""
    plain = {path for path, source in _moves(changes).items() if _is_plain_move(path, source, plan)}
    return {w.path: w.sha for w in plan.written if w.content is None and w.sha is not None and w.path not in plain}


def _moves(changes: Sequence[FileChange]) -> dict[str, str]:
    return {change.path: change.previous_path or "" for change in changes if change.action is Action.MOVE}


def _is_plain_move(path: str, source: str, plan: Plan) -> bool:
    """Whether the new place is free and the old one stays empty."""
    written = {write.path for write in plan.written}
    nested = path.startswith(f"{source}/") or any(each.startswith(f"{source}/") for each in written)
    return path not in plan.removed and source not in written and not nested


def _move(write: Write, source: str) -> Act:
    act: Act = {"action": "move", "file_path": write.path, "previous_path": source}
    return act if write.content is None else act | _content(write.content)


def _write(write: Write, tree: TreeView) -> list[Act]:
    before = tree.find(write.path)
    there = before is not None and before.type == "blob"
    act: Act = {"action": "update" if there else "create", "file_path": write.path, **_content(write.content or b"")}
    mode = before.mode if before is not None and there else PLAIN
    if write.mode == mode or EXECUTABLE not in (write.mode, mode):
        return [act]
    return [act, {"action": "chmod", "file_path": write.path, "execute_filemode": write.mode == EXECUTABLE}]


def _content(content: bytes) -> Act:
    return {"content": base64.b64encode(content).decode(), "encoding": "base64"}


def _guarded(act: Act, last_commits: Mapping[str, str]) -> Act:
    """An action on a file that is there names that file's last commit (contract 4.13)."""
    last = last_commits.get(str(act.get("previous_path") or act["file_path"]))
    guards = last is not None and act["action"] in ("update", "delete", "move")
    return act | {"last_commit_id": last} if guards else act
