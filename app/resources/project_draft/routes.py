"""Drafts: a person's unsaved work on the files of a project."""

from flask import Blueprint

from app.http.endpoint import endpoint
from app.http.guards import member_of_org
from app.http.scope import Scope
from app.resources.project_draft import service
from app.resources.project_draft.schemas import (
    Draft,
    DraftArguments,
    DraftQuery,
    Drafts,
    DraftsArguments,
    DraftsQuery,
    Dropped,
    KeepDraft,
    KeepDraftBody,
)

blueprint = Blueprint("project_draft", __name__)


@blueprint.get("/<project_id>")
@endpoint(guard=member_of_org(), query=DraftsQuery, result=Drafts, message="Drafts")
def read(scope: Scope, query: DraftsArguments) -> service.Told | list[service.Told]:
    """Read your draft of a file, or list your drafts on a branch."""
    return service.one_or_all(scope.project, by=scope.actor, branch=query["ref"], file=query["file"])


@blueprint.put("/<project_id>")
@endpoint(
    guard=member_of_org(), body=KeepDraft, query=DraftQuery, result=Draft, current="project_draft.read",
    message="Draft kept",
)  # fmt: skip
def keep(scope: Scope, body: KeepDraftBody, query: DraftArguments) -> service.Told:
    """Keep your draft of a file, in place of the one before."""
    return service.keep(scope.project, by=scope.actor, branch=query["ref"], file=query["file"], **body)


@blueprint.delete("/<project_id>")
@endpoint(
    guard=member_of_org(), query=DraftQuery, result=Dropped, current="project_draft.read", message="Draft dropped"
)
def drop(scope: Scope, query: DraftArguments) -> dict[str, object]:
    """Drop your draft of a file."""
    service.drop(scope.project, by=scope.actor, branch=query["ref"], file=query["file"])
    return {"file": query["file"], "deleted": True}
