"""Changes that are taken back: those of a published set or of a commit, merged by field with later ones."""

from collections.abc import Callable
from dataclasses import dataclass

from app.core.errors import AppError, ErrorMessage, NotFound, UnprocessableEntity
from app.core.limits import CommitLimits
from app.core.refs import is_sha
from app.database import transactions
from app.drivers.errors import DriverError
from app.models.change_set import ChangeSet
from app.models.change_set import ChangeSetState as State
from app.resources.change_set import publishing, queries, service, states
from app.resources.change_set.branches import content_of, new_branch
from app.resources.change_set.content import Content, edits_of
from app.resources.change_set.errors import NothingToPublish
from app.resources.change_set.publishing import UNKNOWN_OUTCOME, Publication
from app.resources.change_set.service import MAX_TITLE, NewBranch
from app.resources.project_content.actions import ContentBranch
from app.resources.project_content.saving.commits import attribution_of
from app.resources.project_content.saving.merging import MergePlanner, MergeRequest
from app.resources.project_content.source import NO_COMMIT, Source

TOO_MANY_FILES = ErrorMessage(
    "This change has more than %(count)s files. It cannot be undone here", count=CommitLimits.files
)


class FirstCommit(UnprocessableEntity):
    """The first commit of a repository (422)."""

    message = ErrorMessage("This is the first change of the site. It cannot be undone")


@dataclass(frozen=True)
class Reversal:
    """The changes of the working branch between two commits, which are taken back.

    `subject` is the title of the published set `reverted`, or the first line of the message of the commit. `title` is
    that of the commit that takes them back, or of the set.
    """

    before: str
    after: str
    subject: str
    title: str
    reverted: ChangeSet | None = None

    def request(self, source: Source) -> MergeRequest:
        """Return the edits that take the changes back. Raises PayloadTooLarge before it reads their contents."""
        edits = edits_of(source, self.after, self.before, too_many_files=TOO_MANY_FILES)
        return MergeRequest(self.after, edits, self.title)

    def check(self) -> None:
        """Check that the set can be reverted, and that no set does it. Raises RevertExists, StateConflict."""
        if self.reverted is not None:
            service.check_revert(states.locked(self.reverted.id))


def of_set(change_set: ChangeSet) -> Reversal:
    """Return the reversal of a published set."""
    before, after = change_set.published_parent_sha or "", change_set.published_sha or ""
    return Reversal(before, after, change_set.title, f"Revert “{change_set.title}”"[:MAX_TITLE], change_set)


def find(site: ContentBranch, sha: str) -> Reversal:
    """Return the reversal of a commit of the working branch. Calls the Git host.

    A merge commit is taken back relative to its first parent. A commit that published a set is the reversal of the set.

    Raises:
        NotFound: the branch does not contain the commit.
        FirstCommit: it has no parent.
    """
    published = queries.published_by(site.project.id, sha)
    if published is not None and (published.state == State.PUBLISHED or queries.revert_of(published)):
        return of_set(published)
    with transactions.outside_transaction():
        source = site.source()
        if not is_sha(sha) or not source.repository.is_ancestor(sha, source.repository.head(source.branch)):
            raise NotFound(NO_COMMIT)
        commit = next(iter(source.repository.history(sha)))
    if commit.parent is None:
        raise FirstCommit
    subject = commit.message.partition("\n")[0]
    return Reversal(commit.parent, sha, subject, f"Undo: {subject}"[:MAX_TITLE])


def create_branch(reversal: Reversal, site: ContentBranch, *, merges: bool = True) -> tuple[NewBranch, Content]:
    """Create the branch of a set that takes back changes, and no other change.

    Without `merges` the set starts at the commit `after`, so that it conflicts with later changes.

    Raises:
        MergeRefused: later changes conflict. Nothing is written.
        NothingToPublish: the working branch no longer contains the changes.
        PayloadTooLarge: there are more files or bytes than one commit takes.
    """
    service.check_limit(site.project)
    attribution = attribution_of(site.by)
    with transactions.outside_transaction():
        source = site.source()
        request, base = reversal.request(source), reversal.after
        save = request.on(base, request.edits, attribution)
        if merges:
            base = source.repository.head(source.branch)
            save = MergePlanner(source, request).planned_save(base, attribution).save
        changes = [edit.change for edit in save.edits]
        if not changes:
            raise NothingToPublish
        branch = new_branch(site.project, reversal.title, source, base)
        message, author = save.commit_message, attribution.author
        try:
            commit = source.repository.commit(branch.source.branch, changes, message, expected_head=base, author=author)
        except BaseException:
            branch.discard()
            raise
    return branch, content_of(base, commit)


def create_set(reversal: Reversal, site: ContentBranch, branch: NewBranch, content: Content) -> ChangeSet:
    """Create the set of a reversal on its branch. Raises LimitReached, and as `Reversal.check`."""
    title, original = reversal.title, reversal.reverted
    return service.create(
        site.project, branch, title=title, description=None, by=site.by, content=content, reverts=original
    )


def publish(reversal: Reversal, site: ContentBranch, check: Callable[[], None]) -> tuple[str, Publication | None]:
    """Create the set of a reversal and publish it. It needs no approval, so it is claimed when it is created.

    Return the id of the set, and None if the outcome is unknown: its job repeats it. `check` runs in the transaction
    of the claim.

    Raises:
        MergeRefused, NothingToPublish, HostRefused, and the errors of `check`. The set is closed again.
    """
    branch, content = create_branch(reversal, site)
    try:
        with transactions.write_transaction():
            check()
            draft = create_set(reversal, site, branch, content)
            publishing.claim(draft, head=branch.sha, user=site.by)
    except BaseException:
        branch.discard()
        raise
    try:
        with transactions.outside_transaction():
            return draft.id, publishing.attempt(draft, site.source())
    except UNKNOWN_OUTCOME:
        return draft.id, None
    except (AppError, DriverError):
        _discard(draft, branch)
        raise


def _discard(draft: ChangeSet, branch: NewBranch) -> None:
    """Close a reversal that was refused."""
    with transactions.write_transaction():
        row = states.locked(draft.id)
        if row.state != State.DRAFT:
            return
        service.close(row)
    with transactions.outside_transaction():
        branch.discard()
