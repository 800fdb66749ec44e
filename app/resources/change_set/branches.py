"""Writes to the branches of change sets: new branches, updates from the working branch, and reverts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.core.errors import PayloadTooLarge
from app.core.ids import new_id
from app.core.limits import CommitLimits
from app.database import transactions
from app.drivers.git.hosts import GitHosts
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
    people_of,
    read_content,
)
from app.resources.change_set.errors import NothingToPublish
from app.resources.change_set.service import MAX_TITLE, Actor, NewBranch, check_limit
from app.resources.project_content.saving.commit_builder import Attribution, SaveConflict
from app.resources.project_content.saving.commits import attribution_of
from app.resources.project_content.saving.merging import MergePlan, MergePlanner, MergeRequest, Resolution
from app.resources.project_content.saving.restore import edits_between
from app.resources.project_content.source import Source, source_of


def create_branch(project: Project, title: str, *, hosts: GitHosts, by: Actor) -> NewBranch:
    """Create the branch of a new set at the head of the working branch. Raises LimitReached, BranchExists."""
    check_limit(project)
    with transactions.outside_transaction():
        source = source_of(project, hosts, user=by.user)
        return _new_branch(project, title, source, source.git.head(source.repo, source.branch))


def _new_branch(project: Project, title: str, source: Source, sha: str) -> NewBranch:
    set_id = new_id("chg")
    name = branch_name(project.change_set_prefix, title, set_id)
    source.git.create_branch(source.repo, name, sha)
    return NewBranch(set_id, replace(source, branch=name), sha)


def check_size(source: Source, content: Content, paths: set[str]) -> None:
    """Refuse a commit with which a set would have too many files. Raises PayloadTooLarge."""
    if content.files + len(paths) <= CommitLimits.files:
        return
    changed = {change.path for change in source.git.changes(source.repo, content.base_sha, content.head_sha)}
    if len(changed | paths) > CommitLimits.files:
        raise PayloadTooLarge(TOO_MANY_FILES)


def update(
    change_set: ChangeSet,
    project: Project,
    resolutions: Mapping[str, Sequence[Resolution]],
    *,
    hosts: GitHosts,
    by: Actor,
    site_sha: str | None = None,
) -> Content:
    """Bring the present working branch into a set, with resolutions of conflicts. Return its new content.

    The commit names all authors of the set, because the branch can lose its earlier commits (`commit_merge`).
    `site_sha` is the head of the working branch to which the resolutions belong, if it is known.

    Raises:
        MergeRefused: files conflict and have no resolution. Nothing is written.
        SaveConflict: the working branch is not at `site_sha`.
        BranchMoved: another commit was made to the set.
    """
    attribution = attribution_of(by.user, by.grant) if resolutions else Attribution()
    with transactions.outside_transaction():
        source = source_of(project, hosts, user=by.user)
        own = replace(source, branch=change_set.branch)
        present = read_content(own, change_set, source.branch)
        head = source.git.head(source.repo, source.branch)
        if site_sha not in (None, head):
            raise SaveConflict(head, {})
        if head == present.base_sha:
            return present
        edits = edits_of(own, present.base_sha, present.head_sha)
        people = co_author_trailers(people_of(own, present.base_sha, present.head_sha))
        attribution = replace(attribution, trailers=tuple(dict.fromkeys([*people, *attribution.trailers])))
        request = MergeRequest(present.base_sha, edits, UPDATE_MESSAGE)
        planned = MergePlanner(source, request, resolutions=resolutions).planned_save(head, attribution)
        changes = [edit.change for edit in planned.save.edits]
        commit = own.git.commit_merge(
            own.repo,
            own.branch,
            changes,
            planned.save.commit_message,
            merged=head,
            expected_head=present.head_sha,
            author=attribution.author,
        )
    return _content_of(head, commit)


def plan_update(change_set: ChangeSet, project: Project, *, hosts: GitHosts, by: Actor) -> MergePlan:
    """Return the merge of a set with the present working branch. Nothing is written. Call it outside of a transaction.

    Raises:
        MissingBranch: the branch of the set does not exist.
    """
    source = source_of(project, hosts, user=by.user)
    own = replace(source, branch=change_set.branch)
    present = read_content(own, change_set, source.branch)
    head = source.git.head(source.repo, source.branch)
    edits = edits_of(own, present.base_sha, present.head_sha)
    return MergePlanner(source, MergeRequest(present.base_sha, edits, UPDATE_MESSAGE)).plan(head)


def create_revert(change_set: ChangeSet, project: Project, *, hosts: GitHosts, by: Actor) -> tuple[NewBranch, Content]:
    """Create the branch of a set that takes back the changes of a published one, and no other change.

    Raises:
        MergeRefused: later changes conflict. Nothing is written.
        NothingToPublish: the working branch no longer contains the changes.
    """
    check_limit(project)
    attribution = attribution_of(by.user, by.grant)
    with transactions.outside_transaction():
        source = source_of(project, hosts, user=by.user)
        published, before = change_set.published_sha or "", change_set.published_parent_sha or ""
        versions = {change.path: change.entry for change in source.git.changes(source.repo, published, before)}
        present = source.git.entries(source.repo, published, sorted(versions))
        edits, title = list(edits_between(source, versions, present)), revert_title(change_set)
        head = source.git.head(source.repo, source.branch)
        planned = MergePlanner(source, MergeRequest(published, edits, title)).planned_save(head, attribution)
        changes = [edit.change for edit in planned.save.edits]
        if not changes:
            raise NothingToPublish
        branch = _new_branch(project, title, source, head)
        message, author = planned.save.commit_message, attribution.author
        try:
            commit = source.git.commit(
                source.repo, branch.source.branch, changes, message, expected_head=head, author=author
            )
        except BaseException:
            branch.discard()
            raise
    return branch, _content_of(head, commit)


def _content_of(base_sha: str, commit: Commit) -> Content:
    """Return the content of a set whose only difference from a commit of the working branch is a new commit."""
    paths = frozenset(change.path for change in commit.changes)
    return Content(base_sha, commit.sha, len(paths), paths=paths)


def revert_title(change_set: ChangeSet) -> str:
    """Return the title of the set that reverts another one."""
    return f"Revert “{change_set.title}”"[:MAX_TITLE]
