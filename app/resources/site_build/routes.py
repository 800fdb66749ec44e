"""Routes of builds: request, list, read, follow and delete the static output of commits."""

from flask import Response

from app.access.guards import member_of_org
from app.access.scope import ProjectScope
from app.core.outbound import UnrecordedAct
from app.extensions import current_settings, drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import GIT_READ, PageResult, ViewResult, endpoint
from app.http.validation import ListQuery
from app.resources.change_set.guards import ChangeSetScope, member_of_set
from app.resources.project_content.guards import branch_of
from app.resources.site_build import actions, queries, responses
from app.resources.site_build import schemas as s
from app.resources.site_build.changed_pages import compare as changed_pages_of
from app.resources.site_build.guards import BuildScope, member_of_build
from app.resources.site_build.queries import Shown

project_blueprint = ApiBlueprint(
    "project_builds",
    __name__,
    title="Builds of a project",
    noun="builds",
    description="Lists and requests builds.",
)
set_blueprint = ApiBlueprint(
    "change_set_builds",
    __name__,
    title="Built pages of a change set",
    noun="changed pages",
    description="Compares the build of a change set with that of its base.",
)
blueprint = ApiBlueprint(
    "site_build",
    __name__,
    title="Builds",
    noun="build",
    description="A build is the static output of a commit, served at its own host name.",
    parameters={"build_id": "The id of a build."},
)


@project_blueprint.post("/<projectId>/builds")
@endpoint(
    guard=member_of_org("projectId"),
    body=s.RequestBuildBody,
    result=s.BuildSchema,
    status=201,
    other_status=200,
    outside=True,
    message="Build requested",
    errors=("SANDBOX_UNAVAILABLE", "STORAGE_LIMIT", *GIT_READ),
    operation_id="requestBuild",
)
def request(*, scope: ProjectScope, body: s.RequestBuildBody) -> UnrecordedAct[ViewResult]:
    """Build a commit, or the head of a change set. A commit that is built or being built is not built again (200)."""
    limit_mb = current_settings().sandbox.build_storage_mb
    act = actions.request(branch_of(scope), drivers.sandbox, limit_mb=limit_mb, **vars(body))
    return UnrecordedAct(lambda: responses.requested(act.record(), scope.caller.id))


@project_blueprint.get("/<projectId>/builds")
@endpoint(
    guard=member_of_org("projectId"),
    query=s.BuildsQuery,
    result=s.BuildSchema,
    many=True,
    message="Builds",
    operation_id="listBuilds",
)
def list_builds(*, scope: ProjectScope, query: s.BuildsQuery) -> PageResult:
    """List the builds of a project, newest first."""
    page = queries.page(scope.project, **vars(query))
    return PageResult([responses.shown(row, scope.caller.id) for row in page.rows], page.meta)


@set_blueprint.get("/<change_set_id>/pages")
@endpoint(
    guard=member_of_set(),
    query=ListQuery,
    result=s.ChangedPageSchema,
    many=True,
    meta=s.ChangedPagesMetaSchema,
    message="Changed pages",
    operation_id="listChangedPages",
)
def changed_pages(*, scope: ChangeSetScope, query: ListQuery) -> PageResult:
    """List the pages of the built site that a change set changes. The list is empty until both builds are ready."""
    compared = changed_pages_of(scope.change_set, scope.project)
    return responses.changed_pages(compared, query)


@blueprint.get("/<build_id>")
@endpoint(
    guard=member_of_build(),
    result=s.BuildSchema,
    events=(s.BuildSchema,),
    raw_response=True,
    message="Build",
    operation_id="getBuild",
)
def details(*, scope: BuildScope) -> Response:
    """Read a build. With `Accept: text/event-stream`, follow it until it is ready or has failed."""
    return responses.render(scope.build, scope.caller.id)


@blueprint.delete("/<build_id>")
@endpoint(guard=member_of_build(), result=s.DeletedBuildSchema, message="Build deleted", operation_id="deleteBuild")
def delete(*, scope: BuildScope) -> Shown:
    """Delete a build and its files."""
    return actions.delete(scope.build)
