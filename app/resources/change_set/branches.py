"""Writes to the branches of change sets: new branches, and updates from the working branch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.core.errors import PayloadTooLarge
from app.core.ids import new_id
from app.core.limits import CommitLimits
from app.database import transactions
from app.drivers.git.port import Commit
from app.models.change_set import ChangeSet
from app.models.project import Project
from app.resources.change_set.content import (
    TOO_MANY_FILES,
    UPDATE_MESSAGE,
    Content,
    branch_name,
    co_author_trailers,
    edits_of,
    moved_files,
    people_of,
    read_content,
)
from app.resources.change_set.service import NewBranch, add_author
from app.resources.project_content.actions import ContentBranch
from app.resources.project_content.save_request import Attribution, FileEdit
from app.resources.project_content.saving.commit_builder import SaveConflict
from app.resources.project_content.saving.commits import attribution_of
from app.resources.project_content.saving.merging import MergePlanner, MergeRequest
from app.resources.project_content.saving.refusals import Resolution, SetRefused, UnknownConflict
from app.resources.project_content.source import Source


def new_branch(project: Project, title: str, source: Source, sha: str) -> NewBranch:
    """Create the branch of a new set at a commit. Raises BranchExists."""
    set_id = new_id("chg")
    name = branch_name(project.change_set_prefix, title, set_id)
    source.repository.create_branch(name, sha)
    return NewBranch(set_id, replace(source, branch=name), sha)


def check_size(source: Source, content: Content, edits: Sequence[FileEdit]) -> None:
    """Refuse a commit with which a set would have too many files. A moved file counts once. Raises PayloadTooLarge."""
    paths = {edit.change.path for edit in edits}
    if content.files + len(paths) <= CommitLimits.files:
        return
    versions = {change.path: change.entry for change in source.repository.changes(content.base_sha, content.head_sha)}
    moved = moved_files(versions, source.repository.entries(content.base_sha, sorted(versions))) if versions else 0
    if len(versions.keys() | paths) - moved > CommitLimits.files:
        raise PayloadTooLarge(TOO_MANY_FILES)


def update(
    change_set: ChangeSet, site: ContentBranch, resolutions: Mapping[str, Sequence[Resolution]], site_sha: str | None
) -> Content:
    """Bring the present working branch into a set, with resolutions of conflicts. Return its new content.

    The commit names all authors of the set, because the branch can lose its earlier commits (`commit_merge`).
    `site_sha` is the head of the working branch to which the resolutions belong, if it is known.

    Raises:
        MergeRefused: files conflict and have no resolution. Nothing is written.
        UnknownConflict: there is no conflict for a resolution.
        SaveConflict: the working branch is not at `site_sha`.
        BranchMoved: another commit was made to the set.
    """
    attribution = attribution_of(site.by) if resolutions else Attribution()
    with transactions.outside_transaction():
        source = site.source()
        own = replace(source, branch=change_set.branch)
        present = read_content(own, change_set, source.branch)
        head = source.repository.head(source.branch)
        if site_sha not in (None, head):
            raise SaveConflict(head, {})
        if head == present.base_sha:
            # An earlier attempt whose result is not recorded may have solved them.
            if resolutions and present.head_sha == change_set.head_sha and not site.by.is_retry:
                raise UnknownConflict([(path, chosen) for path, named in resolutions.items() for chosen in named])
            return present
        edits = edits_of(own, present.base_sha, present.head_sha)
        people = co_author_trailers(people_of(own, present.base_sha, present.head_sha))
        attribution = replace(attribution, trailers=tuple(dict.fromkeys([*people, *attribution.trailers])))
        request = MergeRequest(present.base_sha, edits, UPDATE_MESSAGE)
        planner = MergePlanner(source, request, resolutions=resolutions, refusal=SetRefused)
        planned = planner.planned_save(head, attribution)
        changes = [edit.change for edit in planned.save.edits]
        if resolutions:
            with transactions.write_transaction():
                add_author(change_set.id, site.by.id)  # The commit can outlive this process.
        commit = own.repository.commit_merge(
            own.branch,
            changes,
            planned.save.commit_message,
            merged=head,
            expected_head=present.head_sha,
            author=attribution.author,
        )
    return content_of(head, commit)


def content_of(base_sha: str, commit: Commit) -> Content:
    """Return the content of a set whose only difference from a commit of the working branch is a new commit."""
    paths = frozenset(change.path for change in commit.changes)
    return Content(base_sha, commit.sha, len(paths), paths=paths)
