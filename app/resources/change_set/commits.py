"""Commits to the branches of change sets whose rows are held, and their records."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from app.database import transactions
from app.drivers.errors import DriverError
from app.resources.change_set import branches, content, service
from app.resources.change_set.content import Content
from app.resources.change_set.member_set import MemberSet
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.service import UnrecordedSave


@dataclass(frozen=True)
class SetCommit:
    """A commit of a set that is not recorded yet, or a save without an effect.

    `content` is that of the set after it, or None if it could not be read.
    """

    target: MemberSet
    edits: Sequence[FileEdit]
    saved: UnrecordedSave
    content: Content | None

    @property
    def has_effect(self) -> bool:
        """True if there is a commit."""
        return self.saved.late is not None

    @property
    def late_jobs(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The jobs that record the commit if its transaction fails, and release the set."""
        return [*self.target.release_jobs, *(self.saved.late.jobs if self.saved.late is not None else ())]

    def record(self) -> dict[str, object]:
        """Record the commit and release the set. Raises StateConflict as `service.record_commit`."""
        change_set = self.target.change_set
        service.move_comments(change_set, self.edits)
        if self.content is not None:
            service.record_commit(change_set, self.content, by=self.target.site.by if self.has_effect else None)
        else:
            self.target.release()
        return self.saved.record()


def write(
    target: MemberSet, present: Content, edits: Sequence[FileEdit], save: Callable[[], UnrecordedSave]
) -> SetCommit:
    """Save files to a held set. `present` is its content.

    Raises:
        PayloadTooLarge: the set would have too many files. Raises also the errors of `save`.
    """
    source = target.branch.source()
    with transactions.outside_transaction():
        branches.check_size(source, present, edits)
    saved = save()
    if saved.late is None:
        return SetCommit(target, edits, saved, present)
    read: Content | None = None
    with transactions.outside_transaction(), suppress(DriverError):  # The commit exists.
        read = content.content_at(source, present.base_sha, str(saved.late.result["commit_sha"]))
    return SetCommit(target, edits, saved, read)
