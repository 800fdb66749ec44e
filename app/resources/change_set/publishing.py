"""Publication of change sets: one commit on the working branch, made exactly once.

A set is claimed first (`publishing`). The commit has the trailer `Galley-Change-Set`. An attempt whose outcome is
unknown is repeated by a job, which first looks for the commit above the head at which the claim was made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from itertools import islice

from app.core.api_tokens import TokenGrant
from app.core.errors import AppError
from app.core.ids import HasId
from app.database import transactions
from app.drivers.errors import (
    DriverError,
    UpstreamError,
    UpstreamRejected,
    UpstreamThrottled,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.drivers.git.commit_message import CHANGE_SET
from app.drivers.git.errors import BranchMoved, RepositoryUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import (
    Action,
    CheckState,
    Commit,
    CommitInfo,
    FileChange,
    NotMergeable,
    PathChange,
    PullRequest,
    PullRequestExists,
    PullRequests,
    PullRequestState,
    TreeEntry,
)
from app.drivers.git.revisions import Revisions
from app.extensions import current_settings, db, jobs
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet
from app.models.change_set import ChangeSetState as State
from app.models.project import Project
from app.resources.change_set import notices, reviews, schedule, states
from app.resources.change_set.content import (
    MAX_COMMITS,
    UPDATE_MESSAGE,
    co_author_trailers,
    edits_of,
    people_of,
    read_content,
)
from app.resources.change_set.errors import HostRefused, NothingToPublish, SetBusy, StateConflict
from app.resources.change_set.service import check_approved, update_content
from app.resources.change_set.states import ENDED, SetOutcome, Step
from app.resources.project_content import service as content_service
from app.resources.project_content.save_request import Attribution, FileEdit, SaveRequest
from app.resources.project_content.saving.commit_builder import NoChange, PlannedSave, Saved, Written, write_planned
from app.resources.project_content.saving.commits import find_merge
from app.resources.project_content.saving.merging import MergePlanner, MergeRequest
from app.resources.project_content.saving.refusals import SetRefused
from app.resources.project_content.source import Source, source_of

RECOVERY_DELAY = timedelta(seconds=20)
MAX_READS = 10
"""How often the content of a set is read while others commit to it."""

UNKNOWN_OUTCOME = (UpstreamError, UpstreamUnavailable, UpstreamTimeout, UpstreamThrottled)
"""Errors after which the commit may exist."""

PROTECTED = "BRANCH_PROTECTED"


@dataclass(frozen=True)
class Publication:
    """The outcome of an attempt. `saved` is the commit, or None while the host has not merged the pull request.

    `problem` is the reason for which the host does not merge it yet.
    """

    change_set_id: str
    saved: Saved | None = None
    request_number: int | None = None
    problem: str | None = None


class NotDue(Exception):
    """A scheduled publication whose schedule was removed or replaced."""


def publish(
    change_set: ChangeSet, project: Project, *, hosts: GitHosts, user: HasId, is_scheduled: bool = False
) -> Publication:
    """Claim a set and write its commit in the name of a user. Call `finish` in the following transaction.

    Raises:
        NotApproved, StaleApproval, AlreadyPublished, StateConflict, SetBusy: the set cannot be published now.
        NotDue: `is_scheduled`, and the set has no schedule that is due.
        MergeRefused: the working branch has conflicting changes. The state stays.
        NothingToPublish: the set has no change.
        HostRefused: the Git host refuses the commit.
        DriverError: the outcome is unknown. A job repeats the attempt.
    """
    if change_set.state not in states.OPEN:
        states.require(change_set, Step.PUBLISH, required_approvals=project.required_approvals)
    with transactions.outside_transaction():
        source = source_of(project, hosts, user=user)
        for _ in range(MAX_READS):
            row = _claim_present(change_set, project, source, user=user, is_scheduled=is_scheduled)
            if row is not None:
                break
        else:
            raise SetBusy
    with transactions.outside_transaction():
        return attempt(row, source)


def _claim_present(
    change_set: ChangeSet, project: Project, source: Source, *, user: HasId, is_scheduled: bool
) -> ChangeSet | None:
    """Claim the present content of a set. Return None if a commit was recorded after the content was read."""
    present = read_content(replace(source, branch=change_set.branch), change_set, source.branch)
    head = source.repository.head(source.branch)
    with transactions.write_transaction():
        update_content(states.locked(change_set.id), present)  # Stays, if the claim is refused.
    with states.free_row(change_set.id) as row:
        if is_scheduled:
            check_due(row)
        check_approved(row, project, Step.PUBLISH)
        if row.head_sha != present.head_sha:
            return None
        claim(row, head=head, user=user)
        return row


def check_due(row: ChangeSet) -> None:
    """Check that the schedule of a locked set is due. Raises NotDue."""
    planned = schedule.find(row)
    if planned is None or planned.due_at > utcnow_ms():
        raise NotDue


def claim(row: ChangeSet, *, head: str, user: HasId) -> None:
    """Claim a locked set that can be published. `head` is the head of the working branch.

    A job ends the publication if this process is killed.
    """
    values = {"publish_from": head, "publisher_id": user.id, "problem": None, "request_number": None}
    states.take(row, Step.PUBLISH, previous_state=str(row.state), **values)
    unique = f"change_sets.finish:{row.id}:{row.version}"
    jobs.enqueue("change_sets.finish_publication", delay=RECOVERY_DELAY, unique=unique, change_set_id=row.id)


def attempt(row: ChangeSet, source: Source) -> Publication:
    """Write the commit of a claimed set, or find the one that an earlier attempt wrote. Raises as `publish`."""
    head = row.publish_from  # The object has the values of a later claim when its row is read again.
    try:
        return _write(row, source)
    except UNKNOWN_OUTCOME:
        raise
    except (AppError, DriverError) as error:
        _release(row.id, head)
        if isinstance(error, UpstreamRejected) and not isinstance(error, RepositoryUnavailable):
            raise HostRefused(str(error)) from error
        raise


def _release(change_set_id: str, head: str | None) -> None:
    """Return a set that was claimed at a head to its previous state: nothing was written."""
    with transactions.write_transaction():
        row = states.locked(change_set_id)
        if row.state == State.PUBLISHING and row.publish_from == head:
            states.take(row, SetOutcome.REFUSED, publish_from=None)


def _write(row: ChangeSet, source: Source) -> Publication:
    edits = edits_of(source, row.base_sha, row.head_sha)
    if not edits:
        raise NothingToPublish
    attribution = _attribution(row, source)
    request = MergeRequest(row.base_sha, edits, row.title, row.description)
    planner = MergePlanner(source, request, refusal=SetRefused)

    @cache
    def plan(head: str) -> PlannedSave | Written:
        return _find(row, source, planner, attribution, head) or planner.planned_save(head, attribution)

    try:
        plan(source.repository.head(source.branch))  # Merges before the branch is locked.
        written = write_planned(source, plan)
    except UpstreamRejected as error:
        if error.code != PROTECTED or not isinstance(source.repository, PullRequests):
            raise
        return _request(row, source, attribution)
    if isinstance(written, NoChange):
        raise NothingToPublish
    commit, planned = written
    return Publication(row.id, Saved(row.project_id, source.branch, commit, planned.save, planned.merged))


def _find(row: ChangeSet, source: Source, planner: MergePlanner, attribution: Attribution, head: str) -> Written | None:
    """Return the commit with the trailer of a set above the head of its claim, or None."""
    if head == row.publish_from:
        return None
    trailer = f"\n{CHANGE_SET}: {row.id}\n"

    def has_trailer(info: CommitInfo) -> bool:
        return trailer in f"{info.message}\n"

    return find_merge(source, planner, attribution, (row.publish_from, head), has_trailer)


def _attribution(row: ChangeSet, source: Source) -> Attribution:
    """Return the authors of the commits of a set, and the trailer with its id.

    The bot is the author unless the setting `GIT_COMMIT_AUTHOR` names the person.
    """
    authors = people_of(source, row.base_sha, row.head_sha)
    author = authors.pop(0) if authors and current_settings().git.commit_author == "person" else None
    return Attribution(author, (*co_author_trailers(authors), (CHANGE_SET, row.id)))


def _request(row: ChangeSet, source: Source, attribution: Attribution) -> Publication:
    """Merge the branch of a set through a pull request of the host, or wait for its checks.

    A set whose base has moved is brought up to date before, because the host merges by line.
    """
    row = _bring_up_to_date(row, source, attribution)
    number = _open_request(row, source).number
    try:
        return _merge_request(row, source, number, attribution)
    except NotMergeable as error:
        return Publication(row.id, request_number=number, problem=str(error))


def _merge_request(row: ChangeSet, source: Source, number: int, attribution: Attribution) -> Publication:
    """Merge a pull request as one commit. Raises NotMergeable, BranchMoved and the errors of the host.

    When it is merged, a failure to read the commit is an unknown outcome.
    """
    message = SaveRequest(row.base_sha, (), row.title, row.description, attribution).commit_message
    merged = _host(source).merge_pull_request(number, message=message, is_squash=True, expected_head=row.head_sha)
    try:
        parent = _parent_of(source, merged.sha) or row.base_sha
        return Publication(row.id, saved_of(row, source, parent, merged.sha), number)
    except DriverError as error:
        raise UpstreamError(str(error)) from error


def _parent_of(source: Source, sha: str) -> str | None:
    """Return the first parent of a commit. Unlike `history`, a log of one commit needs one call to the host."""
    if isinstance(source.repository, Revisions):
        return source.repository.log(sha, path=None, skip=0, limit=1)[0].commit.parent
    return next(iter(source.repository.history(sha))).parent


def _host(source: Source) -> PullRequests:
    if not isinstance(source.repository, PullRequests):
        raise HostRefused("This Git host has no pull requests")
    return source.repository


def _bring_up_to_date(row: ChangeSet, source: Source, attribution: Attribution) -> ChangeSet:
    """Merge a moved working branch into the branch of a set. Return the present row.

    The approvals stay valid, as in a publication that merges without a pull request.

    Raises:
        MergeRefused: the working branch has conflicting changes.
        NothingToPublish: the working branch contains the changes already.
        StateConflict: the set was changed at the same time.
    """
    onto = source.repository.head(source.branch)
    if onto == row.base_sha:
        return row
    edits = edits_of(source, row.base_sha, row.head_sha)
    people = Attribution(
        attribution.author, tuple(trailer for trailer in attribution.trailers if trailer[0] != CHANGE_SET)
    )
    planner = MergePlanner(source, MergeRequest(row.base_sha, edits, UPDATE_MESSAGE), refusal=SetRefused)
    planned = planner.planned_save(onto, people)
    changes, head = [edit.change for edit in planned.save.edits], row.head_sha
    if not changes:
        raise NothingToPublish
    commit = source.repository.commit_merge(
        row.branch,
        changes,
        planned.save.commit_message,
        merged=onto,
        expected_head=head,
        author=people.author,
    )
    with transactions.write_transaction():
        present = states.locked(row.id)
        if present.head_sha != head:
            raise StateConflict(present.state, states.permitted(SetOutcome.UPDATED))
        reviews.move_approvals(present, commit.sha)
        return states.take(present, SetOutcome.UPDATED, base_sha=onto, head_sha=commit.sha, files=len(changes))


def _open_request(row: ChangeSet, source: Source) -> PullRequest:
    """Create the pull request of the branch of a set, or return the open one."""
    host = _host(source)
    try:
        return host.create_pull_request(
            title=row.title, head=row.branch, base=source.branch, body=row.description or ""
        )
    except PullRequestExists as error:
        for pull_request in host.pull_requests():
            if (pull_request.state, pull_request.head, pull_request.base) == (
                PullRequestState.OPEN,
                row.branch,
                source.branch,
            ):
                return pull_request
        raise HostRefused(str(error)) from error


class RequestFailed(HostRefused):
    """A pull request that was closed, or whose checks failed."""


def follow_request(row: ChangeSet, source: Source) -> Publication | None:
    """Merge the pull request of a set if the host permits it now. Return None while its checks run.

    Raises:
        RequestFailed: it was closed, a check failed, or its branch has other commits than the published ones.
        AppError, DriverError: as `publish`.
    """
    host, number = _host(source), row.request_number or 0
    request = host.pull_request(number)
    if request.state == PullRequestState.CLOSED:
        raise RequestFailed("The pull request was closed at the Git host")
    if request.state == PullRequestState.OPEN:
        checks = host.checks(number)
        if checks.state == CheckState.FAILED:
            raise RequestFailed(f"A check of the Git host failed: {', '.join(checks.failed)}")
        if checks.state == CheckState.PENDING:
            return None
        return _merge_waiting(row, source, number)
    return _merged(row, source, request)


def _merged(row: ChangeSet, source: Source, request: PullRequest) -> Publication:
    """Return the publication of a pull request that is merged."""
    sha = request.merge_sha or source.repository.head(source.branch)
    parent = commit_before(row, source, sha, request.head_sha or row.head_sha)
    return Publication(row.id, saved_of(row, source, parent, sha), request.number)


def _merge_waiting(row: ChangeSet, source: Source, number: int) -> Publication:
    """Merge a pull request whose checks do not prevent it. If the host refuses, the set is brought up to date."""
    attribution = _attribution(row, source)
    try:
        return _merge_request(row, source, number, attribution)
    except BranchMoved as error:
        raise RequestFailed("The change set was changed at the Git host during its publication") from error
    except NotMergeable as error:
        request = _host(source).pull_request(number)
        if request.state == PullRequestState.MERGED:  # By a person, in the meantime.
            return _merged(row, source, request)
        _bring_up_to_date(row, source, attribution)
        return Publication(row.id, request_number=number, problem=str(error))


def saved_of(row: ChangeSet, source: Source, parent: str, sha: str) -> Saved:
    """Return the commits of a host by which a set was merged, as a save. `parent` is the commit before them."""
    changes = tuple(source.repository.changes(parent, sha))
    before = source.repository.entries(parent, [change.path for change in changes])
    edits = [FileEdit(FileChange(change.path, _action_of(change, before))) for change in changes]
    save = SaveRequest(parent, edits, row.title, row.description)
    return Saved(row.project_id, source.branch, Commit(sha, parent, changes), save, ())


def _action_of(change: PathChange, before: Mapping[str, TreeEntry]) -> Action:
    if change.entry is None:
        return Action.DELETE
    return Action.UPDATE if change.path in before else Action.CREATE


def commit_before(row: ChangeSet, source: Source, sha: str, head_sha: str) -> str:
    """Return the commit of the working branch before a host merged the head of a set.

    `sha` is the merge commit, the only commit of the set, or the last of its commits after a rebase or fast-forward.
    """
    if sha == head_sha:
        return row.base_sha
    commits = islice(source.repository.history(head_sha, since=row.base_sha), MAX_COMMITS)
    messages = iter([commit.message.strip() for commit in commits])
    parent = None
    for commit in islice(source.repository.history(sha, since=row.base_sha), MAX_COMMITS):
        is_copy = commit.message.strip() in messages
        if is_copy or parent is None:
            parent = commit.parent
        if not is_copy:
            break
    return parent or row.base_sha


def finish(publication: Publication, *, by: HasId | None = None, grant: TokenGrant | None = None) -> ChangeSet:
    """Record a publication in one transaction: state, project log, index and event. Safe to call twice.

    A pull request that the host has not merged yet leaves the set `publishing`.
    """
    row, saved = states.locked(publication.change_set_id), publication.saved
    if row.state in ENDED:  # Another process recorded it.
        return row
    if saved is None:
        if row.state == State.PUBLISHING:
            row.request_number, row.problem = publication.request_number, publication.problem
            db.session.flush()
        return row
    record_published(row, saved)
    content_service.record_save(saved, user=by, grant=grant)
    return row


def record_published(row: ChangeSet, saved: Saved) -> None:
    """Change the state of a locked set whose commit is on the working branch, and that of the set it reverts."""
    schedule.remove(row)
    states.take(
        row,
        SetOutcome.PUBLISHED,
        published_sha=saved.commit.sha,
        published_parent_sha=saved.commit.parent,
        published_at=utcnow_ms(),
        busy_until=None,
        problem=None,
    )
    jobs.enqueue("change_sets.delete_branch", change_set_id=row.id, expected_head=row.head_sha)
    original = states.locked(row.reverts_id) if row.reverts_id is not None else None
    if original is not None and original.state == State.PUBLISHED:
        schedule.remove(original)
        states.take(original, SetOutcome.REVERTED)


def fail(change_set_id: str, reason: str, *, is_scheduled: bool = False) -> None:
    """Mark a scheduled or awaited publication as failed, and store notices with the reason.

    A set that a user published keeps its state, and a schedule that is not
    due. With `is_scheduled`, nothing changes if the set has no schedule that is due, or if a request publishes it.
    """
    row = states.locked(change_set_id)
    planned = schedule.find(row)
    if planned is not None and planned.due_at > utcnow_ms():
        planned = None
    if is_scheduled and (planned is None or row.state == State.PUBLISHING):
        return
    if row.state == State.PUBLISHING or (row.state == State.SCHEDULED and planned is not None):
        schedule.remove(row)
        states.take(row, SetOutcome.FAILED, problem=reason, publish_from=None, request_number=None)
    elif row.state in states.OPEN or planned is not None:  # A publication of a user, or the revert of a published set.
        if planned is not None:
            schedule.remove(row)
        states.take(row, SetOutcome.NOT_PUBLISHED, problem=reason)
    else:
        return
    notices.publication_failed(row, reason, user_id=planned.user_id if planned is not None else row.publisher_id)
