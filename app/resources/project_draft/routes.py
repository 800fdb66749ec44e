"""Routes of drafts, the unsaved text of users for files of a project."""

from app.access.guards import member_of_org
from app.access.scope import ProjectScope
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import PageResult, endpoint
from app.http.results import page_of
from app.resources.project_content.guards import branch_of
from app.resources.project_content.schemas.content import FileQuery
from app.resources.project_draft import actions, queries
from app.resources.project_draft.queries import DraftKey, DraftWithHead
from app.resources.project_draft.schemas import (
    DeletedDraftSchema,
    DraftSchema,
    DraftsQuery,
    DraftsSchema,
    SaveDraftBody,
)

blueprint = ApiBlueprint(
    "project_draft",
    __name__,
    title="Drafts",
    noun="project draft",
    description="Unsaved text of a user for a file. Each user sees the own drafts only.",
)


def _key(scope: ProjectScope, query: FileQuery) -> DraftKey:
    return DraftKey.on(scope.project, scope.caller, query.ref, query.file)


@blueprint.get("/<project_id>")
@endpoint(guard=member_of_org(), query=DraftsQuery, result=DraftsSchema, message="Drafts")
def read(*, scope: ProjectScope, query: DraftsQuery) -> DraftWithHead | PageResult:
    """Read your draft of a file, or list your drafts on a branch. A read of one file ignores `limit` and `cursor`."""
    if query.file is not None:
        return queries.find(DraftKey.on(scope.project, scope.caller, query.ref, query.file))
    drafts = queries.drafts_on(scope.project, by=scope.caller, branch=query.ref)
    return page_of(drafts, query, kind="drafts", key=lambda row: row.draft.file)


def _check_base(scope: ProjectScope, body: SaveDraftBody, query: FileQuery) -> None:
    key, branch = _key(scope, query), branch_of(scope, query.ref)
    actions.check_base(branch, key, body.base_blob_sha, base_sha=body.base_sha)


@blueprint.put("/<project_id>")
@endpoint(
    guard=member_of_org(),
    body=SaveDraftBody,
    query=FileQuery,
    result=DraftSchema,
    etag_of="project_draft.read",
    upstream=_check_base,
    message="Draft saved",
)
def save(*, scope: ProjectScope, body: SaveDraftBody, query: FileQuery, prepared: None) -> DraftWithHead:
    """Save your draft of a file and replace the previous one. The base must be a version of the file."""
    return actions.save_draft(_key(scope, query), body.content, base_blob_sha=body.base_blob_sha)


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
    actions.delete_draft(_key(scope, query))
    return {"file": query.file, "deleted": True}
