"""Routes of change sets: propose, review, schedule, publish and revert changes of a project."""

from contextlib import suppress
from dataclasses import dataclass

from app.access.guards import Guard, member_of_org
from app.access.scope import ProjectScope
from app.access.tokens import PUBLISHES, SessionRequired
from app.core.limits import InputLimits
from app.core.outbound import OutsideResource
from app.database import transactions
from app.drivers.git.errors import GitObjectMissing
from app.extensions import drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import GIT_READ, GIT_WRITE, SAVE, PageResult, ViewResult, endpoint
from app.http.validation import ABSENT, PageQuery
from app.models.change_set import ChangeSetState, ScheduledAction, Verdict
from app.resources.change_set import branches, content, publishing, queries, reviews, schedule, service, states
from app.resources.change_set import schemas as s
from app.resources.change_set.content import Content
from app.resources.change_set.errors import MissingBranch
from app.resources.change_set.guards import ChangeSetScope, member_of_set
from app.resources.change_set.publishing import Publication
from app.resources.change_set.queries import ChangeSetFilter, Shown
from app.resources.change_set.reviews import CommentTarget, Reviewed
from app.resources.change_set.service import Actor, NewBranch
from app.resources.change_set.states import Step
from app.resources.project.branches import is_working_branch
from app.resources.project.events import branch_moved
from app.resources.project_content.responses import save_result
from app.resources.project_content.routes import MERGED_SAVE, branch_source, save_files
from app.resources.project_content.saving.commit_builder import NoChange, Saved
from app.resources.project_content.schemas.content import CommittedSchema, SaveFilesBody
from app.resources.project_content.schemas.revisions import ComparisonSchema
from app.resources.project_content.versions import comparison

READ_SET = ("BRANCH_GONE", *GIT_READ)
PUBLISH = ("STATE", "STALE_APPROVAL", "NOT_APPROVED", "BRANCH_GONE", "BRANCH_BUSY")
SET = "/<change_set_id>"


def may_publish() -> Guard:
    """Return the guard of routes that change the site. The view checks the setting `publishers` of the project."""
    return member_of_set(token=PUBLISHES)


def actor_of(scope: ProjectScope) -> Actor:
    """Return the user of a request with its API token."""
    return Actor(scope.user, scope.grant)


def read_present(scope: ChangeSetScope, step: Step) -> Content:
    """Return the present content of an open set at its Git host. Raises StateConflict, MissingBranch."""
    if scope.change_set.state not in states.OPEN:
        states.require(scope.change_set, step, required_approvals=scope.project.required_approvals)
    source = content.source_of_set(scope.project, scope.change_set, drivers.git, scope.user)
    return content.read_content(source, scope.change_set, scope.project.branch)


def read_submitted(scope: ChangeSetScope) -> Content:
    """Return the present content of a set that is submitted. Raises StateConflict, MissingBranch."""
    return read_present(scope, Step.SUBMIT)


@dataclass(frozen=True)
class CommittedToSet:
    """A save on the branch of a set, and the content of the set after it."""

    saved: Saved | NoChange
    content: Content


def commit_to_set(scope: ChangeSetScope, body: SaveFilesBody) -> CommittedToSet:
    """Create the commit of a save on the branch of the set. Raises StateConflict, SetBusy, PayloadTooLarge."""
    source = content.source_of_set(scope.project, scope.change_set, drivers.git, scope.user)
    with content.held(scope.change_set.id, Step.COMMIT) as row:
        working_branch = scope.project.branch
        with transactions.outside_transaction():
            before = content.read_content(source, row, working_branch)
            branches.check_size(source, before, {path for edit in body.files for path in edit.paths})
        saved = save_files(scope, body, row.branch, creates_index=False)
        if isinstance(saved, NoChange):
            return CommittedToSet(saved, before)
        with transactions.outside_transaction():
            return CommittedToSet(saved, content.content_at(source, before.base_sha, saved.commit.sha))


def update_from_site(scope: ChangeSetScope) -> Content:
    """Bring the working branch into the set. Raises MergeRefused, StateConflict, SetBusy."""
    return resolve_conflicts(scope, s.ResolveBody(resolutions=[], site_sha=None))


def resolve_conflicts(scope: ChangeSetScope, body: s.ResolveBody) -> Content:
    """Bring the working branch into the set, with resolutions of conflicts. Raises as `update_from_site`."""
    with content.held(scope.change_set.id, Step.COMMIT) as row:
        by = actor_of(scope)
        return branches.update(row, scope.project, body.by_path, hosts=drivers.git, by=by, site_sha=body.site_sha)


def read_reviewed(scope: ChangeSetScope, body: s.ReviewBody) -> Reviewed:
    """Return the present content of the set, and its authors if they may not give this verdict.

    Raises:
        SessionRequired: a token does not approve and asks for no changes.
    """
    row = scope.change_set
    if body.verdict == Verdict.COMMENT:
        return Reviewed(Content(row.base_sha, row.head_sha, row.files, row.head_sha))
    if scope.grant is not None:
        raise SessionRequired
    present = read_present(scope, Step.REVIEW)
    source = content.source_of_set(scope.project, scope.change_set, drivers.git, scope.user)
    return Reviewed(present, reviews.read_emails(source, present))


def read_diff(scope: ChangeSetScope, query: s.DiffQuery) -> comparison.CommitComparison:
    """Return the changes of the set: of its branch, or of the commit that published it. Raises MissingBranch."""
    row, source = scope.change_set, branch_source(scope)
    base, head = row.base_sha, row.head_sha
    if row.published_sha is not None and row.published_parent_sha is not None:
        base, head = row.published_parent_sha, row.published_sha
    elif row.state == ChangeSetState.CLOSED:
        raise MissingBranch
    else:
        source = content.source_of_set(scope.project, row, drivers.git, scope.user)
        present = content.read_content(source, row, scope.project.branch)
        base, head = present.base_sha, present.head_sha
    if query.file is not None:
        return comparison.compare_one(source, base=base, head=head, file=query.file)
    return comparison.compare(source, base=base, head=head, cursor=query.cursor, limit=query.limit)


def publish_set(scope: ChangeSetScope) -> Publication:
    """Publish the set. Raises as `publishing.publish`."""
    service.check_publisher(scope.project, scope.role)
    return publishing.publish(scope.change_set, scope.project, hosts=drivers.git, user=scope.user)


def prepare_schedule(scope: ChangeSetScope, body: s.ScheduleBody) -> Content | None:
    """Check the time and read the content of a set to publish. Raises InvalidRequest, NotPublisher."""
    service.check_publisher(scope.project, scope.role)
    schedule.due_time(body.wall)
    return read_present(scope, Step.SCHEDULE) if body.action == ScheduledAction.PUBLISH else None


def prepare_set(scope: ProjectScope, body: s.CreateChangeSetBody) -> NewBranch:
    """Create the branch of a new set. Raises LimitReached."""
    return branches.create_branch(scope.project, body.title, hosts=drivers.git, by=actor_of(scope))


def close_branch(scope: ChangeSetScope) -> None:
    """Delete the branch of the set, unless it is deleted already or a working branch.

    Raises:
        StateConflict, SetBusy, UpstreamRejected.
    """
    with content.held(scope.change_set.id, Step.CLOSE) as row:
        if is_working_branch(scope.project, row.branch):
            return
        with transactions.outside_transaction(), suppress(GitObjectMissing):
            source = content.source_of_set(scope.project, row, drivers.git, scope.user)
            source.git.delete_branch(source.repo, source.branch)


@dataclass(frozen=True)
class PreparedRevert(OutsideResource):
    """The branch of a revert and its content."""

    branch: NewBranch
    content: Content

    def discard(self) -> None:
        """Delete the branch, because the set was refused."""
        self.branch.discard()


def prepare_revert(scope: ChangeSetScope) -> PreparedRevert:
    """Create the branch that takes back the published changes. Raises as `branches.create_revert`."""
    service.check_publisher(scope.project, scope.role)
    states.require(scope.change_set, Step.REVERT)
    return PreparedRevert(
        *branches.create_revert(scope.change_set, scope.project, hosts=drivers.git, by=actor_of(scope))
    )


project_blueprint = ApiBlueprint(
    "project_change_sets",
    __name__,
    title="Change sets of a project",
    noun="change sets",
    description="Lists and creates change sets.",
)
blueprint = ApiBlueprint(
    "change_set",
    __name__,
    title="Change sets",
    noun="change set",
    description="A change set is a branch with edits that are reviewed and published together.",
    parameters={"comment_id": "The id of a comment."},
)


@project_blueprint.get("/<projectId>/change-sets")
@endpoint(
    guard=member_of_org("projectId"),
    query=s.ChangeSetsQuery,
    result=s.ChangeSetSchema,
    many=True,
    message="Change sets",
    operation_id="listChangeSets",
)
def list_change_sets(*, scope: ProjectScope, query: s.ChangeSetsQuery) -> PageResult:
    """List the change sets of a project, newest first."""
    author = scope.user.id if query.mine else query.author
    return PageResult(
        *queries.page(scope.project, ChangeSetFilter(query.state, author), cursor=query.cursor, limit=query.limit)
    )


@project_blueprint.post("/<projectId>/change-sets")
@endpoint(
    guard=member_of_org("projectId"),
    body=s.CreateChangeSetBody,
    upstream=prepare_set,
    result=s.ChangeSetSchema,
    status=201,
    message="Change set created",
    errors=("LIMIT_REACHED", *GIT_WRITE),
    operation_id="createChangeSet",
)
def create(*, scope: ProjectScope, body: s.CreateChangeSetBody, prepared: NewBranch) -> Shown:
    """Create a change set: a branch at the head of the working branch."""
    description = None if body.description is ABSENT else body.description
    row = service.create(scope.project, prepared, title=body.title, description=description, by=actor_of(scope))
    return queries.shown(row, scope.project)


@blueprint.get(SET)
@endpoint(guard=member_of_set(), result=s.ChangeSetSchema, message="Change set")
def details(*, scope: ChangeSetScope) -> Shown:
    """Read a change set."""
    return queries.shown(scope.change_set, scope.project)


@blueprint.patch(SET)
@endpoint(
    guard=member_of_set(),
    body=s.EditChangeSetBody,
    result=s.ChangeSetSchema,
    etag_of="change_set.details",
    message="Change set updated",
    errors=("STATE",),
)
def edit(*, scope: ChangeSetScope, body: s.EditChangeSetBody) -> Shown:
    """Change title or description of an open change set."""
    return queries.shown(service.change_details(scope.change_set, body.sent()), scope.project)


@blueprint.delete(SET)
@endpoint(
    guard=member_of_set(),
    result=s.ChangeSetSchema,
    upstream=close_branch,
    message="Change set closed",
    errors=("STATE", "BRANCH_BUSY", *GIT_WRITE),
    operation_id="deleteChangeSet",
)
def close(*, scope: ChangeSetScope, prepared: None) -> Shown:
    """Close a change set and delete its branch. A closed set does not open again."""
    return queries.shown(service.close(scope.change_set), scope.project)


@blueprint.post(f"{SET}/commit")
@endpoint(
    guard=member_of_set(),
    body=SaveFilesBody,
    upstream=commit_to_set,
    result=CommittedSchema,
    status=201,
    other_status=200,
    max_bytes=InputLimits.commit_bytes,
    message="Saved",
    errors=("STATE", "BRANCH_GONE", "CANNOT_KEEP", *MERGED_SAVE),
    operation_id="commitToChangeSet",
)
def commit(*, scope: ChangeSetScope, body: SaveFilesBody, prepared: CommittedToSet) -> ViewResult:
    """Save several files as one commit of a change set. Approvals of earlier commits become invalid."""
    service.record_commit(scope.change_set, prepared.content, by=actor_of(scope))
    return save_result(scope, prepared.saved)


@blueprint.get(f"{SET}/diff")
@endpoint(
    guard=member_of_set(),
    query=s.DiffQuery,
    upstream=read_diff,
    result=ComparisonSchema,
    message="Changed files",
    errors=("NOT_SUPPORTED", *READ_SET),
    operation_id="compareChangeSet",
)
def diff(*, scope: ChangeSetScope, query: s.DiffQuery, prepared: comparison.CommitComparison) -> PageResult:
    """Compare the change set with the commit from which it starts: the changed files, or one of them."""
    meta = {"next_cursor": prepared.next_cursor, "total": prepared.total}
    return PageResult(prepared.to_dict(scope.project.id), meta)


@blueprint.post(f"{SET}/submit")
@endpoint(
    guard=member_of_set(),
    result=s.ChangeSetSchema,
    upstream=read_submitted,
    message="Change set submitted",
    errors=("STATE", *READ_SET),
)
def submit(*, scope: ChangeSetScope, prepared: Content) -> Shown:
    """Ask for a review of a draft, or again after requested changes."""
    return queries.shown(service.submit(scope.change_set, prepared), scope.project)


@blueprint.get(f"{SET}/reviews")
@endpoint(
    guard=member_of_set(),
    query=PageQuery,
    result=s.ReviewSchema,
    many=True,
    message="Reviews",
    operation_id="listChangeSetReviews",
)
def list_reviews(*, scope: ChangeSetScope, query: PageQuery) -> PageResult:
    """List the reviews of a change set, oldest first."""
    return PageResult(*queries.reviews(scope.change_set, cursor=query.cursor, limit=query.limit))


@blueprint.post(f"{SET}/reviews")
@endpoint(
    guard=member_of_set(),
    body=s.ReviewBody,
    upstream=read_reviewed,
    result=s.ReviewedSchema,
    status=201,
    message="Review stored",
    errors=("STATE", "OWN_REVIEW", "STALE_APPROVAL", "SESSION_REQUIRED", "LIMIT_REACHED", *READ_SET),
    operation_id="reviewChangeSet",
)
def review(*, scope: ChangeSetScope, body: s.ReviewBody, prepared: Reviewed) -> Shown:
    """Approve a change set, ask for changes, or comment on it. Members cannot approve their own changes."""
    submitted = reviews.Review(body.verdict, body.body, body.head_sha)
    stored = reviews.review(scope.change_set, scope.project, prepared, submitted, by=scope.user)
    row = states.locked(scope.change_set.id)
    shown = queries.shown_review(stored, scope.user.name, row.head_sha)
    return shown | {"change_set": queries.shown(row, scope.project)}


@blueprint.get(f"{SET}/comments")
@endpoint(
    guard=member_of_set(),
    query=PageQuery,
    result=s.ChangeSetCommentSchema,
    many=True,
    message="Comments",
    operation_id="listChangeSetComments",
)
def list_comments(*, scope: ChangeSetScope, query: PageQuery) -> PageResult:
    """List the comments on a change set, oldest first."""
    return PageResult(*queries.comments(scope.change_set.id, cursor=query.cursor, limit=query.limit))


@blueprint.post(f"{SET}/comments")
@endpoint(
    guard=member_of_set(),
    body=s.CommentBody,
    result=s.ChangeSetCommentSchema,
    status=201,
    message="Comment stored",
    errors=("LIMIT_REACHED",),
    operation_id="createChangeSetComment",
)
def comment(*, scope: ChangeSetScope, body: s.CommentBody) -> Shown:
    """Comment on a change set or on a part of a file of it."""
    location = CommentTarget(body.path, body.pointer, body.block)
    return queries.comment(reviews.comment(scope.change_set, body.body, location, by=scope.user))


@blueprint.patch(f"{SET}/comments/<comment_id>")
@endpoint(
    guard=member_of_set(),
    body=s.ResolveCommentBody,
    result=s.ChangeSetCommentSchema,
    message="Comment updated",
    operation_id="updateChangeSetComment",
)
def resolve_comment(*, scope: ChangeSetScope, body: s.ResolveCommentBody) -> Shown:
    """Mark a comment as resolved, or as open again."""
    comment_id = scope.path["comment_id"]
    return queries.comment(reviews.set_resolved(scope.change_set, comment_id, resolved=body.resolved, by=scope.user))


@blueprint.post(f"{SET}/publish")
@endpoint(
    guard=may_publish(),
    result=s.ChangeSetSchema,
    upstream=publish_set,
    other_status=202,
    message="Published",
    errors=(*PUBLISH, "ALREADY_PUBLISHED", "NOTHING_TO_PUBLISH", "HOST_REFUSED", "CANNOT_RESTORE", *SAVE),
    operation_id="publishChangeSet",
)
def publish(*, scope: ChangeSetScope, prepared: Publication) -> ViewResult:
    """Publish a change set as one commit on the working branch.

    Files that have changed on the working branch are merged. With 202 the Git host merges the change set when its
    checks have passed.
    """
    row = publishing.finish(prepared, by=scope.user, grant=scope.grant)
    is_waiting = row.state == ChangeSetState.PUBLISHING
    message = "The Git host merges the change set when its checks have passed" if is_waiting else None
    return ViewResult(queries.shown(row, scope.project), 202 if is_waiting else 200, message=message)


@blueprint.put(f"{SET}/schedule")
@endpoint(
    guard=may_publish(),
    body=s.ScheduleBody,
    upstream=prepare_schedule,
    result=s.ChangeSetSchema,
    message="Scheduled",
    errors=(*PUBLISH, "TIME_DOES_NOT_EXIST", "TIME_IS_AMBIGUOUS", "TIME_IS_PAST", "TIME_TOO_FAR", *GIT_READ),
    operation_id="saveChangeSetSchedule",
)
def set_schedule(*, scope: ChangeSetScope, body: s.ScheduleBody, prepared: Content | None) -> Shown:
    """Publish a change set at a wall time of a zone, or revert a published one."""
    if prepared is None:
        row = service.schedule_unpublication(scope.change_set, body.wall, by=scope.user)
    else:
        row = service.schedule_publication(scope.change_set, scope.project, prepared, body.wall, by=scope.user)
    return queries.shown(row, scope.project)


@blueprint.delete(f"{SET}/schedule")
@endpoint(
    guard=may_publish(),
    result=s.ChangeSetSchema,
    message="The schedule is removed",
    errors=("STATE",),
    operation_id="deleteChangeSetSchedule",
)
def remove_schedule(*, scope: ChangeSetScope) -> Shown:
    """Remove the schedule of a change set. A set that was to be published is approved again."""
    service.check_publisher(scope.project, scope.role)
    return queries.shown(service.unschedule(scope.change_set), scope.project)


@blueprint.post(f"{SET}/update")
@endpoint(
    guard=member_of_set(),
    result=s.ChangeSetSchema,
    upstream=update_from_site,
    message="Change set updated",
    errors=("STATE", "BRANCH_GONE", "BRANCH_BUSY", "CANNOT_RESTORE", *SAVE),
    operation_id="updateChangeSet",
)
def update(*, scope: ChangeSetScope, prepared: Content) -> Shown:
    """Bring the present working branch into a change set. Conflicts are 409."""
    row = service.record_commit(scope.change_set, prepared, by=None)
    branch_moved.publish(scope.project, row.branch, row.head_sha)
    return queries.shown(row, scope.project)


@blueprint.post(f"{SET}/resolve")
@endpoint(
    guard=member_of_set(),
    body=s.ResolveBody,
    upstream=resolve_conflicts,
    result=s.ChangeSetSchema,
    message="Conflicts resolved",
    errors=("STATE", "BRANCH_GONE", "BRANCH_BUSY", "CANNOT_RESTORE", *SAVE),
    operation_id="resolveChangeSetConflicts",
)
def resolve(*, scope: ChangeSetScope, body: s.ResolveBody, prepared: Content) -> Shown:
    """Bring the present working branch into a change set, with a resolution of each conflict."""
    row = service.record_commit(scope.change_set, prepared, by=actor_of(scope))
    branch_moved.publish(scope.project, row.branch, row.head_sha)
    return queries.shown(row, scope.project)


@blueprint.post(f"{SET}/revert")
@endpoint(
    guard=may_publish(),
    result=s.ChangeSetSchema,
    status=201,
    upstream=prepare_revert,
    message="Change set created",
    errors=("STATE", "NOTHING_TO_PUBLISH", "LIMIT_REACHED", "CANNOT_RESTORE", *SAVE),
    operation_id="revertChangeSet",
)
def revert(*, scope: ChangeSetScope, prepared: PreparedRevert) -> Shown:
    """Create a change set that takes back the changes of a published one.

    When it is published, the first one is reverted.
    """
    original = states.locked(scope.change_set.id)
    states.require(original, Step.REVERT)
    row = service.create(
        scope.project,
        prepared.branch,
        title=branches.revert_title(original),
        description=None,
        by=actor_of(scope),
        content=prepared.content,
        reverts=original,
    )
    return queries.shown(row, scope.project)
