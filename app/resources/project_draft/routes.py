"""Routes of drafts, the unsaved text of users for files of a project."""

from app.access.guards import member_of_org
from app.access.scope import ProjectScope
from app.core.errors import InvalidRequest
from app.extensions import drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import PageResult, endpoint
from app.http.results import page_of
from app.resources.project_content.schemas.content import FileQuery
from app.resources.project_content.source import is_version, source_of
from app.resources.project_draft import service
from app.resources.project_draft.schemas import (
    DeletedDraftSchema,
    DraftSchema,
    DraftsQuery,
    DraftsSchema,
    SaveDraftBody,
)

NOT_A_VERSION = "This is not a version of this file, or one with many newer versions. For an old version, send base_sha"


def check_base(scope: ProjectScope, body: SaveDraftBody, query: FileQuery) -> None:
    """Require that the base of a draft was a version of its file. Only an unknown base calls the Git host.

    Raises:
        InvalidRequest: it was not, or it cannot be verified within the limits.
    """
    blob = body.base_blob_sha
    if blob is None or service.is_known_base(
        scope.project, by=scope.user, branch=query.ref, file=query.file, blob_sha=blob
    ):
        return
    source = source_of(scope.project, drivers.git, branch=query.ref, user=scope.user)
    if not is_version(source, query.file, blob, base_sha=body.base_sha):
        raise InvalidRequest.field("base_blob_sha", NOT_A_VERSION)


blueprint = ApiBlueprint(
    "project_draft",
    __name__,
    title="Drafts",
    noun="project draft",
    description="Unsaved text of a user for a file. Each user sees the own drafts only.",
)


@blueprint.get("/<project_id>")
@endpoint(guard=member_of_org(), query=DraftsQuery, result=DraftsSchema, message="Drafts")
def read(*, scope: ProjectScope, query: DraftsQuery) -> service.DraftWithHead | PageResult:
    """Read your draft of a file, or list your drafts on a branch. A read of one file ignores `limit` and `cursor`."""
    drafts = service.one_or_all(scope.project, by=scope.user, branch=query.ref, file=query.file)
    if isinstance(drafts, service.DraftWithHead):
        return drafts
    return page_of(drafts, query, kind="drafts", key=lambda one: one.draft.file)


@blueprint.put("/<project_id>")
@endpoint(
    guard=member_of_org(),
    body=SaveDraftBody,
    query=FileQuery,
    result=DraftSchema,
    etag_of="project_draft.read",
    upstream=check_base,
    message="Draft saved",
)
def save(*, scope: ProjectScope, body: SaveDraftBody, query: FileQuery, prepared: None) -> service.DraftWithHead:
    """Save your draft of a file and replace the previous one. The base must be a version of the file."""
    return service.save(
        scope.project,
        by=scope.user,
        branch=query.ref,
        file=query.file,
        content=body.content,
        base_blob_sha=body.base_blob_sha,
    )


@blueprint.delete("/<project_id>")
@endpoint(
    guard=member_of_org(),
    query=FileQuery,
    result=DeletedDraftSchema,
    etag_of="project_draft.read",
    message="Draft deleted",
)
def delete(*, scope: ProjectScope, query: FileQuery) -> dict[str, object]:
    """Delete your draft of a file."""
    service.delete(scope.project, by=scope.user, branch=query.ref, file=query.file)
    return {"file": query.file, "deleted": True}
