"""The records of preview sandboxes (spec 4.7)."""

from app.access.guards import member_of_org
from app.access.scope import ProjectScope
from app.extensions import current_settings
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import UPSTREAM, endpoint
from app.models.sandbox import ProjectPreview
from app.resources.project_preview import schemas as s
from app.resources.project_preview import service
from app.resources.source_marks import queries as source_marks

blueprint = ApiBlueprint(
    "project_preview",
    __name__,
    title="Preview records",
    noun="project preview",
    description="The preview of a project that is shown to its members.",
)


@blueprint.get("/<project_id>")
@endpoint(guard=member_of_org("project_id"), result=s.PreviewSchema)
def details(*, scope: ProjectScope) -> ProjectPreview:
    """Return the preview record of the project."""
    return service.find(scope.project)


@blueprint.get("/<project_id>/marks")
@endpoint(
    operation_id="listSourceMarks", guard=member_of_org("project_id"), query=s.MarksQuery, result=s.SourceMarksSchema
)
def marks(*, scope: ProjectScope, query: s.MarksQuery) -> dict[str, object]:
    """Return the source of texts on the pages of an editable preview. Marks are valid for a day after its end."""
    return {"marks": source_marks.sources(scope.project.id, query.distinct)}


@blueprint.put("/<project_id>")
@endpoint(
    operation_id="saveProjectPreview",
    guard=member_of_org("project_id"),
    body=s.ChangePreviewBody,
    result=s.PreviewSchema,
    etag_of="project_preview.details",
    message="Preview recorded",
)
def upsert(*, scope: ProjectScope, body: s.ChangePreviewBody) -> ProjectPreview:
    """Record the preview's state and addresses."""
    sandbox = current_settings().sandbox
    return service.upsert(scope.project, body.sent(), hosts=tuple(filter(None, (sandbox.preview_host, sandbox.domain))))


@blueprint.delete("/<project_id>")
@endpoint(
    guard=member_of_org("project_id"),
    result=s.DeletedPreviewSchema,
    etag_of="project_preview.details",
    message="Preview ended",
    errors=("SANDBOX_UNAVAILABLE", *UPSTREAM),
)
def delete(*, scope: ProjectScope) -> dict[str, object]:
    """End the recorded preview and stop its sandbox."""
    return {"project_id": service.delete(scope.project), "deleted": True}
