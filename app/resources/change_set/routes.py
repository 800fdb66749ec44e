"""Routes of change sets: propose, review, schedule, publish and revert changes of a project."""

from app.access.guards import member_of_org
from app.access.scope import ProjectScope
from app.access.tokens import PUBLISHES
from app.core.limits import InputLimits
from app.core.outbound import LateRecord, UnrecordedAct
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import GIT_READ, GIT_WRITE, MERGED_SAVE, SAVE, PageResult, ViewResult, endpoint
from app.http.validation import PageQuery
from app.models.change_set import ChangeSetState
from app.resources.change_set import actions, moves, queries
from app.resources.change_set import schemas as s
from app.resources.change_set.guards import ChangeSetScope, member_of_set, set_of
from app.resources.change_set.queries import ChangeSetFilter, Shown
from app.resources.change_set.reviews import Review, ReviewRequest
from app.resources.project_content.guards import branch_of
from app.resources.project_content.responses import save_result
from app.resources.project_content.schemas.content import CommittedSchema, SaveFilesBody
from app.resources.project_content.schemas.revisions import ComparisonSchema

READ_SET = ("BRANCH_GONE", *GIT_READ)
PUBLISH = ("STATE", "STALE_APPROVAL", "NOT_APPROVED", "BRANCH_GONE", "BRANCH_BUSY")
TIMES = ("TIME_DOES_NOT_EXIST", "TIME_IS_AMBIGUOUS", "TIME_IS_PAST", "TIME_TOO_FAR")
SET = "/<change_set_id>"
PUBLISHER = member_of_set(token=PUBLISHES)
"""The guard of routes that change the site. The action checks the setting `publishers` of the project."""

WAITS = "The Git host merges the change set when its checks have passed"


def _published(shown: Shown) -> ViewResult:
    is_waiting = shown["state"] == ChangeSetState.PUBLISHING
    return ViewResult(shown, 202 if is_waiting else 200, message=WAITS if is_waiting else None)


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
    author = scope.caller.id if query.mine else query.author
    return PageResult(
        *queries.page(scope.project, ChangeSetFilter(query.state, author), cursor=query.cursor, limit=query.limit)
    )


@project_blueprint.post("/<projectId>/change-sets")
@endpoint(
    guard=member_of_org("projectId"),
    body=s.CreateChangeSetBody,
    outside=True,
    result=s.ChangeSetSchema,
    status=201,
    message="Change set created",
    errors=("LIMIT_REACHED", *GIT_WRITE),
    operation_id="createChangeSet",
)
def create(*, scope: ProjectScope, body: s.CreateChangeSetBody) -> UnrecordedAct[Shown]:
    """Create a change set: a branch at the head of the working branch."""
    return actions.create(branch_of(scope), **body.sent())


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
    return actions.edit(set_of(scope), body.sent())


@blueprint.delete(SET)
@endpoint(
    guard=member_of_set(),
    result=s.ChangeSetSchema,
    outside=True,
    message="Change set closed",
    errors=("STATE", "BRANCH_BUSY", *GIT_WRITE),
    operation_id="deleteChangeSet",
)
def close(*, scope: ChangeSetScope) -> UnrecordedAct[Shown]:
    """Close a change set and delete its branch. A closed set does not open again."""
    return actions.close(set_of(scope))


@blueprint.post(f"{SET}/commit")
@endpoint(
    guard=member_of_set(),
    body=SaveFilesBody,
    outside=True,
    result=CommittedSchema,
    status=201,
    other_status=200,
    max_bytes=InputLimits.commit_bytes,
    message="Saved",
    errors=("STATE", "BRANCH_GONE", "CANNOT_KEEP", *MERGED_SAVE),
    operation_id="commitToChangeSet",
)
def commit(*, scope: ChangeSetScope, body: SaveFilesBody) -> UnrecordedAct[object]:
    """Save several files as one commit of a change set. Approvals of earlier commits become invalid."""
    target, merges, is_validated = set_of(scope), body.merges, body.is_validated
    return save_result(actions.commit(target, body.request, merges=merges, is_validated=is_validated))


@blueprint.get(f"{SET}/diff")
@endpoint(
    guard=member_of_set(),
    query=s.DiffQuery,
    outside=True,
    result=ComparisonSchema,
    message="Changed files",
    errors=("NOT_SUPPORTED", *READ_SET),
    operation_id="compareChangeSet",
)
def diff(*, scope: ChangeSetScope, query: s.DiffQuery) -> PageResult:
    """Compare the change set with the commit from which it starts: the changed files, or one of them."""
    difference = actions.compare(set_of(scope), **vars(query))
    return PageResult(difference.to_dict(scope.project.id), difference.meta)


@blueprint.post(f"{SET}/submit")
@endpoint(
    guard=member_of_set(),
    body=s.SubmitBody,
    result=s.ChangeSetSchema,
    outside=True,
    message="Change set submitted",
    errors=("STATE", "LIMIT_REACHED", *READ_SET),
)
def submit(*, scope: ChangeSetScope, body: s.SubmitBody) -> UnrecordedAct[Shown]:
    """Ask members for a review of a draft, or again after requested changes."""
    return actions.submit(set_of(scope), ReviewRequest(**vars(body)))


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
    outside=True,
    result=s.ReviewedSchema,
    status=201,
    message="Review stored",
    errors=("STATE", "OWN_REVIEW", "STALE_APPROVAL", "SESSION_REQUIRED", "LIMIT_REACHED", *READ_SET),
    operation_id="reviewChangeSet",
)
def review(*, scope: ChangeSetScope, body: s.ReviewBody) -> UnrecordedAct[Shown]:
    """Approve a change set, ask for changes, or comment on it. Members cannot approve their own changes."""
    return actions.review(set_of(scope), Review(**vars(body)))


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
    return actions.comment(set_of(scope), **vars(body))


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
    return actions.resolve_comment(set_of(scope), scope.path["comment_id"], resolved=body.resolved)


@blueprint.post(f"{SET}/publish")
@endpoint(
    guard=PUBLISHER,
    result=s.ChangeSetSchema,
    outside=True,
    other_status=202,
    message="Published",
    errors=(*PUBLISH, "ALREADY_PUBLISHED", "NOTHING_TO_PUBLISH", "HOST_REFUSED", "CANNOT_RESTORE", *SAVE),
    operation_id="publishChangeSet",
)
def publish(*, scope: ChangeSetScope) -> UnrecordedAct[ViewResult]:
    """Publish a change set as one commit on the working branch.

    Files that have changed on the working branch are merged. With 202 the Git host merges the change set when its
    checks have passed.
    """
    act = actions.publish(set_of(scope))
    late = LateRecord(ViewResult(act.late.result, 202), act.late.jobs) if act.late is not None else None
    return UnrecordedAct(lambda: _published(act.record()), late)


@blueprint.put(f"{SET}/schedule")
@endpoint(
    guard=PUBLISHER,
    body=s.ScheduleBody,
    outside=True,
    result=s.ChangeSetSchema,
    message="Scheduled",
    errors=(*PUBLISH, *TIMES, "CONFLICT", "CANNOT_RESTORE", *GIT_READ),
    operation_id="saveChangeSetSchedule",
)
def set_schedule(*, scope: ChangeSetScope, body: s.ScheduleBody) -> UnrecordedAct[Shown]:
    """Publish a change set at a wall time of a zone, or revert a published one."""
    return actions.set_schedule(set_of(scope), body.wall, body.action)


@blueprint.delete(f"{SET}/schedule")
@endpoint(
    guard=PUBLISHER,
    result=s.ChangeSetSchema,
    message="The schedule is removed",
    errors=("STATE",),
    operation_id="deleteChangeSetSchedule",
)
def remove_schedule(*, scope: ChangeSetScope) -> Shown:
    """Remove the schedule of a change set. A set that was to be published is approved again."""
    return actions.remove_schedule(set_of(scope))


@blueprint.post(f"{SET}/update")
@endpoint(
    guard=member_of_set(),
    result=s.ChangeSetSchema,
    outside=True,
    message="Change set updated",
    errors=("STATE", "BRANCH_GONE", "BRANCH_BUSY", "CANNOT_RESTORE", *SAVE),
    operation_id="updateChangeSet",
)
def update(*, scope: ChangeSetScope) -> UnrecordedAct[Shown]:
    """Bring the present working branch into a change set. Conflicts are 409."""
    return actions.update(set_of(scope))


@blueprint.post(f"{SET}/resolve")
@endpoint(
    guard=member_of_set(),
    body=s.ResolveBody,
    outside=True,
    result=s.ChangeSetSchema,
    message="Conflicts resolved",
    errors=("STATE", "BRANCH_GONE", "BRANCH_BUSY", "CANNOT_RESTORE", *SAVE),
    operation_id="resolveChangeSetConflicts",
)
def resolve(*, scope: ChangeSetScope, body: s.ResolveBody) -> UnrecordedAct[Shown]:
    """Bring the present working branch into a change set, with a resolution of each conflict."""
    return actions.update(set_of(scope), body.resolutions, site_sha=body.site_sha)


@blueprint.post(f"{SET}/move")
@endpoint(
    guard=member_of_set(),
    body=s.MoveBody,
    outside=True,
    result=s.MovedSchema,
    message="Changes moved",
    errors=("STATE", "BRANCH_GONE", "BRANCH_BUSY", "NOTHING_TO_MOVE", "CANNOT_RESTORE", *SAVE),
    operation_id="moveChangesOfChangeSet",
)
def move(*, scope: ChangeSetScope, body: s.MoveBody) -> UnrecordedAct[Shown]:
    """Move the changes of files to another open change set of the project.

    All changed files of a page are moved together. Approvals of both sets become invalid. If the other set conflicts,
    nothing is moved.
    """
    return moves.move(set_of(scope), body.paths, body.to)


@blueprint.post(f"{SET}/revert")
@endpoint(
    guard=PUBLISHER,
    result=s.ChangeSetSchema,
    status=201,
    outside=True,
    message="Change set created",
    errors=("STATE", "REVERT_EXISTS", "NOTHING_TO_PUBLISH", "LIMIT_REACHED", "CANNOT_RESTORE", *SAVE),
    operation_id="revertChangeSet",
)
def revert(*, scope: ChangeSetScope) -> UnrecordedAct[Shown]:
    """Create a change set that takes back the changes of a published one.

    When it is published, the first one is reverted.
    """
    return actions.revert(set_of(scope))
