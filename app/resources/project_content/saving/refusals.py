"""Refusals of merges: the conflicts that a response lists, and the resolutions that answer them."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from app.content.front_matter.item_diff import MISSING
from app.content.merge.files import LineRange, MergeConflict
from app.content.three_way import Choice
from app.core.errors import ErrorMessage
from app.resources.project_content.saving.commit_builder import SaveConflict

MAX_SIDE_BYTES = 16 * 1024
MAX_SIDES_BYTES, MAX_LISTED = 1024 * 1024, 500
"""Limits of all conflicts of one response. Later sides are cut, and further conflicts are not listed."""


class MergeRefused(SaveConflict):
    """Files that cannot be merged (409). `result` contains the conflicts and the paths that could be merged."""

    def __init__(self, head: str, conflicts: Sequence["RefusedPath"], mergeable: Sequence[str]) -> None:
        paths = dict.fromkeys(conflict.path for conflict in conflicts)
        super().__init__(head, dict.fromkeys(paths, self.fault))
        self.result = {
            "head_sha": head,
            "paths": list(paths),
            "mergeable": list(mergeable),
            "conflicts": conflict_list(conflicts),
        }


class SetRefused(MergeRefused):
    """A change set that cannot be merged with the working branch (409)."""

    message: str = ErrorMessage(
        "The site was changed in the same places. Nothing was published. Solve the conflicts, then publish again"
    )
    fault = ErrorMessage("This file was also changed on the site")


class ScheduleRefused(SetRefused):
    """A change set that conflicts with the working branch before its publication is scheduled (409)."""

    message = "The site was changed in the same places. Nothing was scheduled. Solve the conflicts, then schedule again"


class MoveRefused(MergeRefused):
    """A move of changes to a change set that changes the same places (409)."""

    message = ErrorMessage("The other changes touch the same places. Nothing was moved")
    fault = ErrorMessage("The other changes contain another version of this file")


class UnknownConflict(Exception):
    """Resolutions of conflicts that a file does not have, each with its path."""

    def __init__(self, resolutions: Sequence[tuple[str, "Resolution"]]) -> None:
        super().__init__()
        self.resolutions = resolutions


class Resolution(NamedTuple):
    """The resolution of a conflict of a file, or of all of it.

    `location` is that of the conflict: a pointer, the number of a block, or lines. None is the whole file.
    """

    location: str | int | LineRange | None
    choice: Choice

    @property
    def field(self) -> str:
        """The field of the request that names the location."""
        kinds = {str: "pointer", int: "block", LineRange: "lines"}
        return kinds.get(type(self.location), "path")


class RefusedPath(NamedTuple):
    """A conflict of one path. `shows_base` is False if no branch contains the base."""

    path: str
    conflict: MergeConflict
    shows_base: bool


def conflict_list(conflicts: Sequence[RefusedPath]) -> list[dict[str, object]]:
    """Return conflicts as JSON values, within the limits of a response."""
    remaining, result = MAX_SIDES_BYTES, list[dict[str, object]]()
    for path, conflict, shows_base in conflicts[:MAX_LISTED]:
        sides = {"base": conflict.base if shows_base else None, "mine": conflict.mine, "theirs": conflict.theirs}
        missing = [name for name in sides if getattr(conflict, name) is MISSING]
        location = {"pointer": conflict.pointer, "block": conflict.block}
        entry: dict[str, object] = {"path": path, "kind": str(conflict.kind)}
        entry |= {name: value for name, value in location.items() if value is not None}
        if conflict.lines is not None:
            entry["lines"] = conflict.lines._asdict()
        truncated = not shows_base
        for name, side in sides.items():
            value, size, is_cut = _shortened(None if side is MISSING else side, min(MAX_SIDE_BYTES, remaining))
            entry[name], remaining, truncated = value, remaining - size, truncated or is_cut
        result.append(entry | {"missing": missing, "truncated": truncated})
    return result


def _shortened(value: object, limit: int) -> tuple[object, int, bool]:
    """Return a value of JSON's types, its size and whether it is cut to the start of its text or of its JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        # Numbers with their notation (`WrittenFloat`) become numbers.
        return value if isinstance(value, str) else json.loads(text), len(data), False
    return data[:limit].decode("utf-8", "ignore"), limit, True


def location_of(conflict: MergeConflict) -> str | int | LineRange | None:
    """Return the pointer, the block or the lines of a conflict, or None for the whole file."""
    locations = (conflict.pointer, conflict.block, conflict.lines)
    return next((location for location in locations if location is not None), None)
