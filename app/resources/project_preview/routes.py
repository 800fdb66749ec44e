"""The records of preview sandboxes (spec 4.7)."""

from typing import Any

from flask import Blueprint

from app.http.configuration import settings
from app.http.endpoint import endpoint
from app.http.guards import member_of_org
from app.http.scope import Scope
from app.models.project_preview import ProjectPreview
from app.resources.project_preview import schemas as s
from app.resources.project_preview import service

blueprint = Blueprint("project_preview", __name__)


@blueprint.get("/<project_id>")
@endpoint(guard=member_of_org("project_id"), result=s.PreviewObject)
def details(scope: Scope) -> ProjectPreview:
    """Tell what is recorded of the project's preview."""
    return service.find(scope.project)


@blueprint.put("/<project_id>")
@endpoint(
    guard=member_of_org("project_id"),
    body=s.ChangePreview,
    result=s.PreviewObject,
    current="project_preview.details",
    message="Preview recorded",
)
def upsert(scope: Scope, body: dict[str, Any]) -> ProjectPreview:
    """Record the preview's state and addresses."""
    sandbox = settings().sandbox
    return service.upsert(scope.project, body, hosts=tuple(filter(None, (sandbox.preview_host, sandbox.domain))))


@blueprint.delete("/<project_id>")
@endpoint(
    guard=member_of_org("project_id"),
    result=s.DeletedPreview,
    current="project_preview.details",
    message="Preview ended",
)
def delete(scope: Scope) -> dict[str, object]:
    """End the recorded preview and stop its sandbox."""
    return {"project_id": service.delete(scope.project), "deleted": True}
