"""Routes of the files of a project's branches (spec 4.9)."""

from flask import Response

from app.access.guards import can_commit, member_of_org
from app.access.scope import ProjectScope
from app.access.tokens import READS
from app.core.limits import InputLimits
from app.core.outbound import UnrecordedAct
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import GIT_READ, MERGED_SAVE, SAVE, PageResult, endpoint
from app.http.results import page_of
from app.resources.project_content import actions, responses, service
from app.resources.project_content.entries.entry_pages import entries
from app.resources.project_content.guards import branch_of
from app.resources.project_content.schemas.content import (
    BranchQuery,
    CommitFilesBody,
    CommittedSchema,
    EditFrontMatterBody,
    FileAtRefQuery,
    FileMetadataSchema,
    MergePreviewBody,
    MergePreviewSchema,
    QueuedJobSchema,
    TreeQuery,
)
from app.resources.project_content.schemas.entries import EntriesMetaSchema, EntriesQuery, EntrySchema
from app.resources.project_content.schemas.results import IndexEventSchema, StreamFailureSchema, TreeSchema
from app.resources.project_content.schemas.revisions import (
    CompareQuery,
    ComparisonSchema,
    HistoryCommitSchema,
    HistoryMetaSchema,
    HistoryQuery,
    RestoreVersionBody,
)
from app.resources.project_content.schemas.search import BacklinkSchema, BacklinksQuery, SearchHitSchema, SearchQuery
from app.resources.project_content.search import file_search
from app.resources.project_content.search.references import MAX_SOURCES, backlinks
from app.resources.project_content.service import UnrecordedSave
from app.resources.project_content.tree import tree_snapshot
from app.resources.project_content.versions import history

blueprint = ApiBlueprint(
    "project_content",
    __name__,
    title="Content",
    description="Files of a branch: tree, metadata, bytes, search and saves.",
    parameters={
        "base": "The older commit or branch.",
        "folder": "The folder of the files.",
        "head": "The newer commit or branch.",
        "path": "A folder. Only files below it.",
        "q": "The search terms.",
        "type": "Only files of this type.",
    },
)


@blueprint.get("/<project_id>")
@endpoint(
    operation_id="getProjectTree",
    guard=member_of_org(),
    query=TreeQuery,
    outside=True,
    raw_response=True,
    result=TreeSchema,
    message=tree_snapshot.MESSAGE,
    errors=GIT_READ,
)
def tree(*, scope: ProjectScope, query: TreeQuery) -> Response:
    """Read the file tree of a branch, or a part of it."""
    return responses.tree(scope, query, branch_of(scope, query.ref).fresh_index())


@blueprint.get("/<project_id>/index/events")
@endpoint(
    operation_id="streamIndexEvents",
    guard=member_of_org(),
    query=BranchQuery,
    outside=True,
    raw_response=True,
    events=(IndexEventSchema, StreamFailureSchema),
    message="Progress of the index",
    errors=("TOO_MANY_STREAMS",),
)
def index_events(*, scope: ProjectScope, query: BranchQuery) -> Response:
    """Follow the index of a branch until it is ready or has failed, as server-sent events."""
    branch_of(scope, query.ref).index()
    return responses.index_events(scope, query.ref)


@blueprint.get("/<project_id>/file")
@endpoint(
    operation_id="getFile",
    guard=member_of_org(),
    query=FileAtRefQuery,
    outside=True,
    result=FileMetadataSchema,
    message="File metadata",
    errors=GIT_READ,
)
def file(*, scope: ProjectScope, query: FileAtRefQuery) -> dict[str, object]:
    """Read the metadata of a file."""
    return actions.read_metadata(branch_of(scope, query.ref), query.file)


@blueprint.get("/<project_id>/raw")
@endpoint(
    operation_id="getRawFile",
    guard=member_of_org(),
    query=FileAtRefQuery,
    outside=True,
    raw_response=True,
    media_type="*/*",
    message="The file's bytes",
    errors=GIT_READ,
)
def raw_bytes(*, scope: ProjectScope, query: FileAtRefQuery) -> Response:
    """Read the bytes of a file."""
    return responses.raw(actions.find_raw_file(branch_of(scope, query.ref), query.file))


@blueprint.get("/<project_id>/entries")
@endpoint(
    guard=member_of_org(),
    query=EntriesQuery,
    outside=True,
    result=EntrySchema,
    many=True,
    meta=EntriesMetaSchema,
    message="Entries",
    errors=GIT_READ,
)
def list_entries(*, scope: ProjectScope, query: EntriesQuery) -> PageResult:
    """List the content files of a branch with the fields of their front matter."""
    page = entries(scope.project, branch_of(scope, query.ref).index(), query.entries)
    return PageResult(page.entries, page.meta)


@blueprint.get("/<project_id>/history")
@endpoint(
    operation_id="listFileHistory",
    guard=member_of_org(),
    query=HistoryQuery,
    outside=True,
    result=HistoryCommitSchema,
    many=True,
    meta=HistoryMetaSchema,
    message="Commits",
    errors=("NOT_SUPPORTED", *GIT_READ),
)
def list_history(*, scope: ProjectScope, query: HistoryQuery) -> PageResult:
    """List the commits of a branch, or those that changed a file, newest first."""
    commits = history.read_history(branch_of(scope).source(), **vars(query))
    return PageResult(*history.to_page(scope.project.id, commits))


@blueprint.get("/<project_id>/compare")
@endpoint(
    operation_id="compareVersions",
    guard=member_of_org(),
    query=CompareQuery,
    outside=True,
    result=ComparisonSchema,
    message="Changed files",
    errors=("NOT_SUPPORTED", *GIT_READ),
)
def compare(*, scope: ProjectScope, query: CompareQuery) -> PageResult:
    """Compare two commits: the changed files, or the lines and front matter of one file."""
    compared = actions.compare_commits(branch_of(scope).source(), **vars(query))
    return PageResult(compared.to_dict(scope.project.id), compared.meta)


@blueprint.get("/<project_id>/search")
@endpoint(
    operation_id="searchContent",
    guard=member_of_org(),
    query=SearchQuery,
    outside=True,
    result=SearchHitSchema,
    many=True,
    message="Matching files",
    errors=GIT_READ,
)
def find(*, scope: ProjectScope, query: SearchQuery) -> PageResult:
    """Search the files of a branch by path, text, type and front matter."""
    index = branch_of(scope, query.ref).index()
    hits, next_cursor = file_search.search_page(
        scope.project, index, query.q, kind=query.type, limit=query.limit, cursor=query.cursor
    )
    return PageResult(hits, {"next_cursor": next_cursor, "total": None})


@blueprint.get("/<project_id>/backlinks")
@endpoint(
    guard=member_of_org(),
    query=BacklinksQuery,
    outside=True,
    result=BacklinkSchema,
    many=True,
    message="Files that link to this file",
    errors=GIT_READ,
)
def list_backlinks(*, scope: ProjectScope, query: BacklinksQuery) -> PageResult:
    """List the files that link to a file, or use it as an image or download. The list ends after a thousand files."""
    sources = backlinks(scope.project, branch_of(scope, query.ref).index(), query.file)
    is_complete = len(sources) < MAX_SOURCES
    return page_of(sources, query, kind="backlinks", key=lambda source: source.path, is_complete=is_complete)


@blueprint.post("/<project_id>/commit")
@endpoint(
    operation_id="commitFiles",
    guard=can_commit(lambda body: body.branch),
    body=CommitFilesBody,
    outside=True,
    result=CommittedSchema,
    status=201,
    other_status=200,
    max_bytes=InputLimits.commit_bytes,
    message="Saved",
    errors=("CANNOT_KEEP", *MERGED_SAVE),
)
def commit(*, scope: ProjectScope, body: CommitFilesBody) -> UnrecordedAct[object]:
    """Save several files as one commit.

    With `on_conflict: merge`, files that have changed since the base are merged by field, block and line. If one cannot
    be merged, nothing is saved. If nothing remains to save, the status is 200.
    """
    branch, merges, is_validated = branch_of(scope, body.branch), body.merges, body.is_validated
    return responses.save_result(actions.save_files(branch, body.request, merges=merges, is_validated=is_validated))


@blueprint.post("/<project_id>/merge-preview")
@endpoint(
    operation_id="previewMerge",
    guard=member_of_org().for_tokens(READS),
    body=MergePreviewBody,
    outside=True,
    result=MergePreviewSchema,
    max_bytes=InputLimits.commit_bytes,
    allow_archived=True,
    message="Merged files",
    errors=("CANNOT_KEEP", "BASE_REQUIRED", "BASE_GONE", *GIT_READ),
)
def preview(*, scope: ProjectScope, body: MergePreviewBody) -> dict[str, object]:
    """Merge the files of a save with the branch, without saving them."""
    return actions.preview_merge(branch_of(scope, body.branch), body.request, is_validated=body.is_validated)


@blueprint.post("/<project_id>/restore")
@endpoint(
    operation_id="restoreFiles",
    guard=can_commit(lambda body: body.branch),
    body=RestoreVersionBody,
    outside=True,
    result=CommittedSchema,
    status=201,
    other_status=200,
    message="Restored",
    errors=("NOT_SUPPORTED", "CANNOT_RESTORE", *SAVE),
)
def restore(*, scope: ProjectScope, body: RestoreVersionBody) -> UnrecordedAct[object]:
    """Restore a file or folder as it was at a commit.

    Without a difference there is no commit, and the status is 200.
    """
    branch = branch_of(scope, body.branch)
    return responses.save_result(actions.restore_version(branch, body.request, body.message))


@blueprint.patch("/<project_id>/front-matter")
@endpoint(
    guard=can_commit(lambda body: body.branch),
    body=EditFrontMatterBody,
    outside=True,
    result=CommittedSchema,
    message="The front matter is saved",
    errors=("CANNOT_KEEP", *MERGED_SAVE),
)
def edit_front_matter(*, scope: ProjectScope, body: EditFrontMatterBody) -> UnrecordedSave:
    """Change keys of the front matter of a file and no other byte of it. Without a change there is no commit."""
    branch = branch_of(scope, body.branch)
    return actions.edit_front_matter(branch, body.edit, merges=body.merges, is_validated=body.is_validated)


@blueprint.post("/<project_id>/reindex")
@endpoint(
    operation_id="reindexProject",
    guard=member_of_org(),
    result=QueuedJobSchema,
    status=202,
    message="The branch will be indexed",
    errors=("DISCONNECTED",),
)
def reindex(*, scope: ProjectScope) -> dict[str, str | None]:
    """Enqueue an update of the index of the working branch."""
    return service.reindex(scope.project)
