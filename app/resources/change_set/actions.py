"""Use cases of change sets: each step of a set, from its creation to its publication and the set that reverts it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

import sqlalchemy as sa

from app.access.tokens import SessionRequired
from app.core.errors import ErrorMessage, FieldError, InvalidRequest, LimitReached, NotFound
from app.core.ids import is_id
from app.core.outbound import LateRecord, UnrecordedAct
from app.core.permissions import Role
from app.database import transactions
from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet, ChangeSetComment, ScheduledAction, Verdict
from app.models.change_set import ChangeSetState as State
from app.models.user import User
from app.resources.change_set import (
    branches,
    commits,
    content,
    notices,
    publishing,
    queries,
    reversals,
    reviews,
    schedule,
    service,
    states,
)
from app.resources.change_set.content import Content
from app.resources.change_set.errors import MissingBranch, StateConflict
from app.resources.change_set.member_set import MemberSet
from app.resources.change_set.queries import Shown
from app.resources.change_set.reversals import Reversal
from app.resources.change_set.reviews import Guest, Review, Reviewed, ReviewRequest, columns_of
from app.resources.change_set.schedule import WallTime
from app.resources.change_set.states import Step
from app.resources.project.branches import is_working_branch, requires_change_sets
from app.resources.project.events import branch_moved
from app.resources.project_content.actions import ContentBranch, compare_commits, save_files
from app.resources.project_content.saving.merging import MergeRequest
from app.resources.project_content.saving.refusals import MergeRefused, Resolution, ScheduleRefused, UnknownConflict
from app.resources.project_content.service import UnrecordedSave
from app.resources.project_content.versions.comparison import CommitComparison
from app.resources.source_marks.queries import values_without_marks

MAX_COMMENTS = 1_000
REPEATED_WITHIN = timedelta(minutes=1)
"""The time in which an equal reply of a user is the same one, sent twice."""
ASK_AGAIN = ReviewRequest()
NO_CONFLICT = "The file has no such conflict"


def create(site: ContentBranch, *, title: str, description: str | None = None) -> UnrecordedAct[Shown]:
    """Create a set: a branch at the head of the working branch. Raises LimitReached."""
    service.check_limit(site.project)
    with transactions.outside_transaction():
        source = site.source()
        branch = branches.new_branch(site.project, title, source, source.repository.head(source.branch))

    def record() -> Shown:
        texts = values_without_marks(site.project.id, [title, description])
        row = service.create(site.project, branch, title=texts[0] or "", description=texts[1], by=site.by)
        return queries.shown(row, site.project)

    return UnrecordedAct(record, resource=branch)


def edit(target: MemberSet, values: dict[str, str | None]) -> Shown:
    """Change title or description of an open set. Raises StateConflict."""
    row = target.lock()
    states.require(row, Step.EDIT)
    values = values_without_marks(row.project_id, values)
    is_changed = any(getattr(row, name) != value for name, value in values.items())
    return target.shown(states.take(row, Step.EDIT, **values) if is_changed else row)


def commit(
    target: MemberSet,
    request: MergeRequest,
    *,
    merges: bool = False,
    is_validated: bool = False,
    shares: bool = False,
) -> UnrecordedSave:
    """Save files as a commit of a set, or nothing if they do not differ. Approvals of earlier commits become invalid.

    The values that entries have in all languages are shared as in `save_files`.

    Raises:
        StateConflict, SetBusy, MissingBranch, PayloadTooLarge, and the errors of `save_files`.
    """
    branch = target.branch

    def save() -> UnrecordedSave:
        return save_files(branch, request, merges=merges, is_validated=is_validated, shares=shares, creates_index=False)

    with states.held(target.change_set.id, Step.COMMIT) as row:
        with transactions.outside_transaction():
            present = content.read_content(branch.source(), row, target.project.branch)
        written = commits.write(target, present, request.edits, save)
    late = written.saved.late
    return UnrecordedAct(written.record, replace(late, jobs=written.late_jobs) if late is not None else None)


def compare(target: MemberSet, *, file: str | None, cursor: str | None, limit: int) -> CommitComparison:
    """Return the changes of a set: those of its branch, or of the commit that published it. Raises MissingBranch."""
    row, source = target.change_set, target.site.source()
    base, head = row.published_parent_sha, row.published_sha
    if base is None or head is None:
        if row.state == State.CLOSED:
            raise MissingBranch
        source, present = target.branch.source(), target.read()
        base, head = present.base_sha, present.head_sha
    return compare_commits(source, base=base, head=head, file=file, cursor=cursor, limit=limit)


def submit(target: MemberSet, request: ReviewRequest = ASK_AGAIN, *, is_addition: bool = False) -> UnrecordedAct[Shown]:
    """Ask for a review of a draft, or again after requested changes.

    With `is_addition`, a set in review stays there and receives the reviewers and the message.

    Raises StateConflict, MissingBranch, and the errors of `reviews.ask`.
    """
    present = target.read_open(Step.SUBMIT)

    def record() -> Shown:
        row = target.lock()
        service.update_content(row, present)
        stays = is_addition and row.state == State.IN_REVIEW
        if not stays:
            states.require(row, Step.SUBMIT)
        reviews.ask(row, target.project, request, by=db.session.get_one(User, target.site.by.id))
        if not stays:
            states.take(row, Step.SUBMIT)
        notices.ask_review(row, values_without_marks(row.project_id, request.message), by=target.site.by.id)
        return target.shown(row)

    return UnrecordedAct(record)


def review(target: MemberSet, submitted: Review, *, guest: Guest | None = None) -> UnrecordedAct[Shown]:
    """Approve a set, ask for changes, or comment on it. The result is the review, with the set after it.

    A guest reviews what the member of the target can read.

    Raises:
        SessionRequired: a token does not approve and asks for no changes.
        StateConflict, MissingBranch, and the errors of `reviews.review`.
    """
    row = target.change_set
    reviewed = Reviewed(Content(row.base_sha, row.head_sha, row.files, row.head_sha))
    if submitted.verdict != Verdict.COMMENT:
        if target.site.by.grant is not None and guest is None:
            raise SessionRequired
        present = target.read_open(Step.REVIEW)
        people = content.people_of(target.branch.source(), present.base_sha, present.head_sha)
        reviewed = Reviewed(present, frozenset(person.email.casefold() for person in people))

    def record() -> Shown:
        author = guest or db.session.get_one(User, target.site.by.id)
        answer = replace(submitted, body=values_without_marks(row.project_id, submitted.body))
        stored = reviews.review(row, target.project, reviewed, answer, by=author)
        present = target.lock()
        notices.answer(present, answer.body, by=stored.user_id, guest=stored.guest_name, verdict=submitted.verdict)
        return queries.shown_review(stored, author.name, present.head_sha) | {"change_set": target.shown(present)}

    return UnrecordedAct(record)


def comment(
    target: MemberSet, *, body: str, path: str | None = None, pointer: str | None = None, block: str | None = None
) -> Shown:
    """Comment on a set, on a file of it, or on a part of one: a value, or the block whose hash is named.

    Raises:
        LimitReached: the set has the maximum number of comments.
    """
    user = db.session.get_one(User, target.site.by.id)
    return store_comment(target.lock(), body, by=user, path=path, pointer=pointer, block=block)


def store_comment(row: ChangeSet, body: str, *, by: User | Guest, **part: object) -> Shown:
    """Store a comment on a locked set, or on a part of it. Guests leave half of the comments to members.

    `part` are the columns that name the part. Raises LimitReached.
    """
    count = sa.select(sa.func.count()).select_from(ChangeSetComment)
    most = MAX_COMMENTS if isinstance(by, User) else MAX_COMMENTS // 2
    if (db.session.scalar(count.where(ChangeSetComment.change_set_id == row.id)) or 0) >= most:
        raise LimitReached(ErrorMessage("A set of changes can have at most %(count)s comments", count=most))
    body = values_without_marks(row.project_id, body)
    stored = ChangeSetComment(change_set_id=row.id, body=body, **columns_of(by), **part)
    db.session.add(stored)
    db.session.flush()
    notices.answer(row, body, by=stored.user_id, guest=stored.guest_name)
    return queries.comment(stored.id)


def reply(target: MemberSet, comment_id: str, *, body: str) -> Shown:
    """Comment on the part that another comment concerns, once for a repeated form. A guest sees answers to a guest.

    Raises NotFound, LimitReached.
    """
    target.lock()
    row = _locked_comment(target, comment_id)
    part = {name: getattr(row, name) for name in ("path", "pointer", "block", "page", "link_id")}
    same = sa.select(ChangeSetComment.id).where(ChangeSetComment.created_at > utcnow_ms() - REPEATED_WITHIN)
    same = same.filter_by(change_set_id=row.change_set_id, user_id=target.site.by.id, body=body, **part)
    stored = db.session.scalar(same.limit(1))
    if stored is not None:
        return queries.comment(stored)
    user = db.session.get_one(User, target.site.by.id)
    return store_comment(target.lock(), body, by=user, quote=row.quote, **part)


def _locked_comment(target: MemberSet, comment_id: str) -> ChangeSetComment:
    row = db.session.get(ChangeSetComment, comment_id, with_for_update=True) if is_id(comment_id, "cmt") else None
    if row is None or row.change_set_id != target.change_set.id:
        raise NotFound("Comment not found")
    return row


def resolve_comment(target: MemberSet, comment_id: str, *, resolved: bool) -> Shown:
    """Mark a comment as resolved, or as open again. Raises NotFound."""
    row = _locked_comment(target, comment_id)
    if resolved != (row.resolved_at is not None):
        row.resolved_at = utcnow_ms() if resolved else None
        row.resolved_by = target.site.by.id if resolved else None
    db.session.flush()
    return queries.comment(row.id)


def publish(target: MemberSet) -> UnrecordedAct[Shown]:
    """Publish a set as one commit on the working branch.

    The result has the state `publishing` while the Git host waits for the checks of a pull request. The job of the
    claim records a publication that the transaction does not record.

    Raises as `publishing.publish`, and NotPublisher.
    """
    service.check_publisher(target.project, target.role)
    shown = target.shown(target.change_set) | {"state": str(State.PUBLISHING)}
    arguments = {"change_set_id": target.change_set.id}
    publication = publishing.publish(target.change_set, target.project, hosts=target.site.hosts, user=target.site.by)

    def record() -> Shown:
        return target.shown(publishing.finish(publication, by=target.site.by, grant=target.site.by.grant))

    return UnrecordedAct(record, LateRecord(shown, [("change_sets.finish_publication", arguments)]))


def set_schedule(target: MemberSet, wall: WallTime, action: ScheduledAction) -> UnrecordedAct[Shown]:
    """Publish a set at a wall time of a zone, or revert a published one.

    Raises:
        InvalidRequest, NotPublisher, StateConflict, NotApproved, StaleApproval, MissingBranch.
        ScheduleRefused: the set conflicts with the working branch already.
    """
    service.check_publisher(target.project, target.role)
    schedule.due_time(wall)
    present = target.read_open(Step.SCHEDULE) if action == ScheduledAction.PUBLISH else None
    if present is not None:
        with transactions.outside_transaction():
            plan = target.plan_update()
        if plan.conflicts:
            raise ScheduleRefused(plan.head, plan.conflicts, [merged.path for merged in plan.merged])

    def record() -> Shown:
        due_at, row, changes = schedule.due_time(wall), target.lock(), dict[str, None]()
        if present is None:
            step = Step.SCHEDULE_UNPUBLISH
            states.require(row, step)
        else:
            step, changes = Step.SCHEDULE, {"problem": None}
            service.update_content(row, present)
            service.check_approved(row, target.project, step)
        schedule.store(row, wall, action, due_at, user=target.site.by)
        return target.shown(states.take(row, step, **changes))

    return UnrecordedAct(record)


def remove_schedule(target: MemberSet) -> Shown:
    """Remove the schedule of a set: a scheduled one is approved again. Raises StateConflict, NotPublisher."""
    service.check_publisher(target.project, target.role)
    row = target.lock()
    states.require(row, Step.UNSCHEDULE)
    if schedule.find(row) is None:
        raise StateConflict(row.state, [State.SCHEDULED])
    schedule.remove(row)
    return target.shown(states.take(row, Step.UNSCHEDULE))


def update(
    target: MemberSet, resolutions: Sequence[tuple[str, Resolution]] | None = None, *, site_sha: str | None = None
) -> UnrecordedAct[Shown]:
    """Bring the present working branch into a set. With resolutions of conflicts, the member is an author of it.

    Raises:
        StateConflict, SetBusy, and the errors of `branches.update`.
        InvalidRequest: there is no conflict for a resolution. It names its number.
    """
    shown, released, by = target.shown(target.change_set), target.release_jobs, target.site.by
    by_path = defaultdict[str, list[Resolution]](list)
    for path, resolution in resolutions or ():
        by_path[path].append(resolution)
    with states.held(target.change_set.id, Step.COMMIT) as held:
        head = held.head_sha
        try:
            updated = branches.update(held, target.site, by_path, site_sha)
        except UnknownConflict as error:
            refused = [(number, named) for number, named in enumerate(resolutions or ()) if named in error.resolutions]
            fields = [FieldError(f"resolutions.{number}.{named.field}", NO_CONFLICT) for number, (_, named) in refused]
            raise InvalidRequest(fields=fields) from error

    def record() -> Shown:
        row = service.record_commit(target.change_set, updated, by=None if resolutions is None else by)
        if row.head_sha != head:
            branch_moved.publish(target.project, row.branch, row.head_sha)
        return target.shown(row)

    shown |= {"head_sha": updated.head_sha, "files": updated.files}
    return UnrecordedAct(record, LateRecord(shown, released))


def revert(target: MemberSet) -> UnrecordedAct[Shown]:
    """Create a set that takes back the changes of a published one. When it is published, the first one is reverted.

    Raises:
        RevertExists, StateConflict, and the errors of `reversals.create_branch`.
    """
    service.check_revert(target.change_set)
    reversal = reversals.of_set(target.change_set)
    branch, content = reversals.create_branch(reversal, target.site)

    def record() -> Shown:
        reversal.check()
        return target.shown(reversals.create_set(reversal, target.site, branch, content))

    return UnrecordedAct(record, resource=branch)


@dataclass(frozen=True)
class TakenBack:
    """The result of `take_back`: the commit of the working branch, and the set of the reversal with its state.

    Without a set and a commit the branch no longer contains the changes. With `has_conflicts` the set is a proposal
    that conflicts with later changes.
    """

    commit_sha: str | None = None
    change_set_id: str | None = None
    state: str | None = None
    has_conflicts: bool = False


def takes_back_at_once(site: ContentBranch, role: Role | None, reversal: Reversal) -> bool:
    """Return whether a member changes the working branch by a reversal. Other reversals are proposals.

    A published set is taken back without a new approval, also on a branch that receives only change sets.
    """
    if not service.is_publisher(site.project, role):
        return False
    return reversal.reverted is not None or not requires_change_sets(site.project.id, site.project.branch or "")


def take_back(site: ContentBranch, role: Role | None, reversal: Reversal) -> UnrecordedAct[TakenBack]:
    """Take changes back, and keep later ones: at once if the member may, else as a proposal.

    Changes that cannot be merged with later ones become a proposal with its conflicts.

    Raises:
        RevertExists, StateConflict: the set is not published, or another set takes it back.
        PayloadTooLarge, LimitReached, and the errors of `save_files` and `publishing.publish` without conflicts.
    """
    if reversal.reverted is not None:
        service.check_revert(reversal.reverted)
    if takes_back_at_once(site, role, reversal):
        with suppress(MergeRefused):
            return _publish_reversal(site, reversal) if reversal.reverted is not None else _commit(site, reversal)
    return _propose(site, reversal)


def _commit(site: ContentBranch, reversal: Reversal) -> UnrecordedAct[TakenBack]:
    with transactions.outside_transaction():
        request = reversal.request(site.source())
    saved = save_files(site, request, merges=True)

    def taken(result: Mapping[str, object]) -> TakenBack:
        return TakenBack(str(result["commit_sha"]) if result["files"] else None)

    late = LateRecord(taken(saved.late.result), saved.late.jobs) if saved.late is not None else None
    return UnrecordedAct(lambda: taken(saved.record()), late)


def _publish_reversal(site: ContentBranch, reversal: Reversal) -> UnrecordedAct[TakenBack]:
    set_id, publication = reversals.publish(reversal, site, reversal.check)
    unfinished = TakenBack(change_set_id=set_id, state=State.PUBLISHING)

    def record() -> TakenBack:
        if publication is None:
            return unfinished
        row = publishing.finish(publication, by=site.by, grant=site.by.grant)
        return TakenBack(row.published_sha, set_id, row.state)

    return UnrecordedAct(
        record, LateRecord(unfinished, [("change_sets.finish_publication", {"change_set_id": set_id})])
    )


def _propose(site: ContentBranch, reversal: Reversal) -> UnrecordedAct[TakenBack]:
    try:
        (branch, content), has_conflicts = reversals.create_branch(reversal, site), False
    except MergeRefused:
        (branch, content), has_conflicts = reversals.create_branch(reversal, site, merges=False), True

    def record() -> TakenBack:
        reversal.check()
        row = reversals.create_set(reversal, site, branch, content)
        return TakenBack(change_set_id=row.id, state=row.state, has_conflicts=has_conflicts)

    return UnrecordedAct(record, resource=branch)


def close(target: MemberSet) -> UnrecordedAct[Shown]:
    """Close a set and delete its branch. A closed set does not open again.

    Raises:
        StateConflict, SetBusy, UpstreamRejected.
    """
    late = LateRecord(target.shown(target.change_set) | {"state": str(State.CLOSED)}, target.release_jobs)
    is_deleted = _delete_branch(target)
    return UnrecordedAct(lambda: target.shown(service.close(target.change_set)), late if is_deleted else None)


def discard(target: MemberSet) -> UnrecordedAct[None]:
    """Delete a set and its branch, as if it had not been created. Raises as `close`."""
    late = LateRecord(None, target.release_jobs) if _delete_branch(target) else None

    def record() -> None:
        row = target.lock()
        states.require(row, Step.CLOSE)
        db.session.delete(row)

    return UnrecordedAct(record, late)


def _delete_branch(target: MemberSet) -> bool:
    """Delete the branch of a set, unless it is a working branch: return False then. It can be deleted already."""
    with states.held(target.change_set.id, Step.CLOSE) as row:
        if is_working_branch(target.project, row.branch):
            return False
        source = target.branch.source()
        try:
            with transactions.outside_transaction():
                source.repository.delete_branch(source.branch)
        except RepositoryDamaged:
            raise
        except GitObjectMissing:
            pass
    return True
