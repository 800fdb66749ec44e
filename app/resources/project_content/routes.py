"""Routes of the files of a project's branches (spec 4.9)."""

from typing import Protocol

from flask import Response

from app.access.guards import can_commit, member_of_org
from app.access.scope import ProjectScope
from app.access.tokens import READS
from app.content.schema.model import ContentSchema
from app.core.limits import InputLimits
from app.core.refs import is_sha
from app.extensions import drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import GIT_READ, SAVE, PageResult, ViewResult, endpoint
from app.http.results import page_of
from app.models.project_content import ContentIndex
from app.resources.project_content import responses, service
from app.resources.project_content.entries.entry_pages import entries
from app.resources.project_content.index import indexes
from app.resources.project_content.saving import commits, front_matter, merging
from app.resources.project_content.saving.commit_builder import NoChange, Saved, SaveRequest
from app.resources.project_content.saving.merging import MergePlanner, MergeRequest
from app.resources.project_content.saving.restore import RestoreRequest, plan_restore
from app.resources.project_content.schema import schema_sources, schema_validation
from app.resources.project_content.schemas.content import (
    MERGE,
    BranchQuery,
    CommitFilesBody,
    CommittedSchema,
    EditedFilesBody,
    EditFrontMatterBody,
    FileAtRefQuery,
    FileMetadataSchema,
    FileQuery,
    MergePreviewBody,
    MergePreviewSchema,
    QueuedJobSchema,
    SaveFilesBody,
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
from app.resources.project_content.source import Source, find_commit, source_of
from app.resources.project_content.tree import tree_snapshot
from app.resources.project_content.versions import comparison, file_metadata, history
from app.resources.project_content.versions.file_metadata import RawFile


class RefQuery(Protocol):
    """A query with a branch; None is the working branch."""

    @property
    def ref(self) -> str | None:
        """The name of the branch."""


def branch_index(scope: ProjectScope, branch: str | None) -> ContentIndex | None:
    """Return the index of a branch, the working branch by default. Create it at the first read."""
    return indexes.ensure_index(scope.project, scope.index, branch, hosts=drivers.git, by=scope.caller)


def read_index(scope: ProjectScope, query: RefQuery) -> ContentIndex | None:
    """Return the index of the branch of a query. Create it at the first read."""
    return branch_index(scope, query.ref)


def read_fresh_index(scope: ProjectScope, query: RefQuery) -> ContentIndex | None:
    """Return the index of the branch of a query, marked as stale if a local branch moved."""
    return indexes.mark_stale_if_moved(scope.project, read_index(scope, query), hosts=drivers.git)


def branch_source(scope: ProjectScope, branch: str | None = None) -> Source:
    """Return the source of a branch, the working branch by default, with the credential of the caller."""
    return source_of(scope.project, drivers.git, branch=branch, user=scope.user)


def read_metadata(scope: ProjectScope, query: FileQuery) -> dict[str, object]:
    """Return the metadata of a file. Raises NotFound."""
    if query.ref and is_sha(query.ref):
        source = branch_source(scope)
        return file_metadata.metadata_at_commit(source, find_commit(source, query.ref), query.file)
    index = read_index(scope, query)
    return file_metadata.metadata(scope.project, index, query.file, hosts=drivers.git, by=scope.caller)


def find_raw_file(scope: ProjectScope, query: FileQuery) -> RawFile:
    """Return the blob of a file with its source. Raises NotFound."""
    if query.ref and is_sha(query.ref):
        source = branch_source(scope)
        return file_metadata.find_raw_at_commit(source, find_commit(source, query.ref), query.file)
    return file_metadata.find_raw(read_index(scope, query), query.file, branch_source(scope, query.ref))


def read_history(scope: ProjectScope, query: HistoryQuery) -> history.History:
    """Return a page of the history of a file or branch. Raises NotFound, InvalidRequest."""
    source = branch_source(scope)
    return history.read_history(source, file=query.file, ref=query.ref, cursor=query.cursor, limit=query.limit)


def compare_commits(scope: ProjectScope, query: CompareQuery) -> comparison.CommitComparison:
    """Return the difference of two commits. Raises NotFound, InvalidRequest."""
    source, base, head = branch_source(scope), query.base, query.head
    if query.file is not None:
        return comparison.compare_one(source, base=base, head=head, file=query.file)
    return comparison.compare(source, base=base, head=head, cursor=query.cursor, limit=query.limit)


def commit_files(scope: ProjectScope, body: CommitFilesBody) -> Saved | NoChange:
    """Create the commit of a save, merged with the branch if the body says so."""
    return save_files(scope, body, body.branch)


def save_files(
    scope: ProjectScope, body: SaveFilesBody, branch: str | None, *, creates_index: bool = True
) -> Saved | NoChange:
    """Create the commit of a save on a branch, as `commit_files`."""
    source = branch_source(scope, branch)
    if body.on_conflict == MERGE:
        planner = merge_planner(scope, source, body, body.message)
        return create_merged_commit(scope, source, planner, creates_index=creates_index)
    if body.is_validated:
        schema_validation.check(_schema_of_save(scope, branch), body.files)
    save = SaveRequest(body.base_sha or "", body.files, body.message, body.description)
    return create_commit(scope, source, save, creates_index=creates_index)


def preview_merge(scope: ProjectScope, body: MergePreviewBody) -> dict[str, object]:
    """Return what a merged save would write, and its conflicts."""
    source = branch_source(scope, body.branch)
    return merging.preview(source, merge_planner(scope, source, body, body.message or ""))


def merge_planner(scope: ProjectScope, source: Source, body: EditedFilesBody, message: str) -> MergePlanner:
    """Return the planner of a merged save. Raises BaseRequired, MissingBase."""
    check = _check_of_save(scope, source.branch) if body.is_validated else None
    return MergePlanner(source, MergeRequest(body.base_sha, body.files, message, body.description), check=check)


def change_front_matter(scope: ProjectScope, body: EditFrontMatterBody) -> Saved | NoChange:
    """Create the commit of a front matter edit, or return NoChange."""
    edit, source = body.edit, branch_source(scope, body.edit.branch)
    if body.on_conflict == MERGE:
        check = _check_of_save(scope, edit.branch, prefix="") if body.is_validated else None
        return create_merged_commit(scope, source, front_matter.plan_edit(source, edit, check=check))
    change = front_matter.apply_edit(source, edit)
    if isinstance(change, NoChange):
        return change
    if body.is_validated:
        schema_validation.check(_schema_of_save(scope, edit.branch), [change], prefix="")
    message = edit.message or edit.default_message
    return create_commit(scope, source, SaveRequest(edit.base_sha or "", [change], message))


def restore_version(scope: ProjectScope, body: RestoreVersionBody) -> Saved | NoChange:
    """Create the commit that restores a file or folder, or return NoChange. Raises NotFound, SaveConflict."""
    path, source = body.file or body.folder or "", branch_source(scope, body.branch)
    edits = plan_restore(source, RestoreRequest(path, body.file is None, body.commit_sha, body.base_sha))
    if isinstance(edits, NoChange):
        return edits
    message = body.message or f"Restore {path} from {body.commit_sha[:7]}"
    return create_commit(scope, source, SaveRequest(body.base_sha, edits, message))


def _schema_of_save(scope: ProjectScope, branch: str | None) -> ContentSchema:
    """Return the schema for a save. A branch that is not indexed yet has the schema of the working branch."""
    index = branch_index(scope, branch)
    if index is None or index.generation == 0:
        index = scope.index
    return schema_sources.content_schema(scope.project, index, hosts=drivers.git, by=scope.caller)


def _check_of_save(scope: ProjectScope, branch: str | None, *, prefix: str | None = None) -> merging.Check:
    """Return the validation of merged files against the schema of their branch."""
    schema = _schema_of_save(scope, branch)
    return lambda edits: schema_validation.check(schema, edits, prefix=prefix)


def create_merged_commit(
    scope: ProjectScope, source: Source, planner: MergePlanner, *, creates_index: bool = True
) -> Saved | NoChange:
    """Create the commit of a merged save in the name of the caller. Raises as `commits.create_merged_commit`."""
    return commits.create_merged_commit(
        scope.project.id,
        source,
        planner,
        user=scope.user,
        grant=scope.grant,
        is_retry=scope.is_retry,
        creates_index=creates_index,
    )


def create_commit(scope: ProjectScope, source: Source, save: SaveRequest, *, creates_index: bool = True) -> Saved:
    """Create the commit of a save in the name of the caller. Raises as `commits.create_commit`."""
    return commits.create_commit(
        scope.project.id,
        source,
        save,
        user=scope.user,
        grant=scope.grant,
        is_retry=scope.is_retry,
        creates_index=creates_index,
    )


MERGED_SAVE = ("BASE_REQUIRED", "BASE_GONE", *SAVE)
"""Failures of a commit that may merge."""

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
    upstream=read_fresh_index,
    raw_response=True,
    result=TreeSchema,
    message=tree_snapshot.MESSAGE,
    errors=GIT_READ,
)
def tree(*, scope: ProjectScope, query: TreeQuery, prepared: ContentIndex | None) -> Response:
    """Read the file tree of a branch, or a part of it."""
    return responses.tree(scope, query, prepared)


@blueprint.get("/<project_id>/index/events")
@endpoint(
    operation_id="streamIndexEvents",
    guard=member_of_org(),
    query=BranchQuery,
    upstream=read_index,
    raw_response=True,
    events=(IndexEventSchema, StreamFailureSchema),
    message="Progress of the index",
    errors=("TOO_MANY_STREAMS",),
)
def index_events(*, scope: ProjectScope, query: BranchQuery, prepared: ContentIndex | None) -> Response:
    """Follow the index of a branch until it is ready or has failed, as server-sent events."""
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
    return read_metadata(scope, query)


@blueprint.get("/<project_id>/raw")
@endpoint(
    operation_id="getRawFile",
    guard=member_of_org(),
    query=FileAtRefQuery,
    upstream=find_raw_file,
    raw_response=True,
    media_type="*/*",
    message="The file's bytes",
    errors=GIT_READ,
)
def raw_bytes(*, scope: ProjectScope, query: FileAtRefQuery, prepared: RawFile) -> Response:
    """Read the bytes of a file."""
    return responses.raw(prepared)


@blueprint.get("/<project_id>/entries")
@endpoint(
    guard=member_of_org(),
    query=EntriesQuery,
    upstream=read_index,
    result=EntrySchema,
    many=True,
    meta=EntriesMetaSchema,
    message="Entries",
    errors=GIT_READ,
)
def list_entries(*, scope: ProjectScope, query: EntriesQuery, prepared: ContentIndex | None) -> PageResult:
    """List the content files of a branch with the fields of their front matter."""
    page = entries(scope.project, prepared, query.entries)
    return PageResult(page.entries, page.meta)


@blueprint.get("/<project_id>/history")
@endpoint(
    operation_id="listFileHistory",
    guard=member_of_org(),
    query=HistoryQuery,
    upstream=read_history,
    result=HistoryCommitSchema,
    many=True,
    meta=HistoryMetaSchema,
    message="Commits",
    errors=("NOT_SUPPORTED", *GIT_READ),
)
def list_history(*, scope: ProjectScope, query: HistoryQuery, prepared: history.History) -> PageResult:
    """List the commits of a branch, or those that changed a file, newest first."""
    return PageResult(*history.to_page(scope.project.id, prepared))


@blueprint.get("/<project_id>/compare")
@endpoint(
    operation_id="compareVersions",
    guard=member_of_org(),
    query=CompareQuery,
    upstream=compare_commits,
    result=ComparisonSchema,
    message="Changed files",
    errors=("NOT_SUPPORTED", *GIT_READ),
)
def compare(*, scope: ProjectScope, query: CompareQuery, prepared: comparison.CommitComparison) -> PageResult:
    """Compare two commits: the changed files, or the lines and front matter of one file."""
    meta = {"next_cursor": prepared.next_cursor, "total": prepared.total}
    return PageResult(prepared.to_dict(scope.project.id), meta)


@blueprint.get("/<project_id>/search")
@endpoint(
    operation_id="searchContent",
    guard=member_of_org(),
    query=SearchQuery,
    upstream=read_index,
    result=SearchHitSchema,
    many=True,
    message="Matching files",
    errors=GIT_READ,
)
def find(*, scope: ProjectScope, query: SearchQuery, prepared: ContentIndex | None) -> PageResult:
    """Search the files of a branch by path, text, type and front matter."""
    hits, next_cursor = file_search.search_page(
        scope.project, prepared, query.q, kind=query.type, limit=query.limit, cursor=query.cursor
    )
    return PageResult(hits, {"next_cursor": next_cursor, "total": None})


@blueprint.get("/<project_id>/backlinks")
@endpoint(
    guard=member_of_org(),
    query=BacklinksQuery,
    upstream=read_index,
    result=BacklinkSchema,
    many=True,
    message="Files that link to this file",
    errors=GIT_READ,
)
def list_backlinks(*, scope: ProjectScope, query: BacklinksQuery, prepared: ContentIndex | None) -> PageResult:
    """List the files that link to a file, or use it as an image or download. The list ends after a thousand files."""
    sources = backlinks(scope.project, prepared, query.file)
    is_complete = len(sources) < MAX_SOURCES
    return page_of(sources, query, kind="backlinks", key=lambda source: source.path, is_complete=is_complete)


@blueprint.post("/<project_id>/commit")
@endpoint(
    operation_id="commitFiles",
    guard=can_commit(lambda body: body.branch),
    body=CommitFilesBody,
    upstream=commit_files,
    result=CommittedSchema,
    status=201,
    other_status=200,
    max_bytes=InputLimits.commit_bytes,
    message="Saved",
    errors=("CANNOT_KEEP", *MERGED_SAVE),
)
def commit(*, scope: ProjectScope, body: CommitFilesBody, prepared: Saved | NoChange) -> ViewResult:
    """Save several files as one commit.

    With `on_conflict: merge`, files that have changed since the base are merged by field, block and line. If one cannot
    be merged, nothing is saved. If nothing remains to save, the status is 200.
    """
    return responses.save_result(scope, prepared)


@blueprint.post("/<project_id>/merge-preview")
@endpoint(
    operation_id="previewMerge",
    guard=member_of_org().for_tokens(READS),
    body=MergePreviewBody,
    upstream=preview_merge,
    result=MergePreviewSchema,
    max_bytes=InputLimits.commit_bytes,
    allow_archived=True,
    message="Merged files",
    errors=("CANNOT_KEEP", "BASE_REQUIRED", "BASE_GONE", *GIT_READ),
)
def preview(*, scope: ProjectScope, body: MergePreviewBody, prepared: dict[str, object]) -> dict[str, object]:
    """Merge the files of a save with the branch, without saving them."""
    return prepared


@blueprint.post("/<project_id>/restore")
@endpoint(
    operation_id="restoreFiles",
    guard=can_commit(lambda body: body.branch),
    body=RestoreVersionBody,
    upstream=restore_version,
    result=CommittedSchema,
    status=201,
    other_status=200,
    message="Restored",
    errors=("NOT_SUPPORTED", "CANNOT_RESTORE", *SAVE),
)
def restore(*, scope: ProjectScope, body: RestoreVersionBody, prepared: Saved | NoChange) -> ViewResult:
    """Restore a file or folder as it was at a commit.

    Without a difference there is no commit, and the status is 200.
    """
    return responses.save_result(scope, prepared)


@blueprint.patch("/<project_id>/front-matter")
@endpoint(
    guard=can_commit(lambda body: body.branch),
    body=EditFrontMatterBody,
    upstream=change_front_matter,
    result=CommittedSchema,
    message="The front matter is saved",
    errors=("CANNOT_KEEP", *MERGED_SAVE),
)
def edit_front_matter(
    *, scope: ProjectScope, body: EditFrontMatterBody, prepared: Saved | NoChange
) -> dict[str, object]:
    """Change keys of the front matter of a file and no other byte of it. Without a change there is no commit."""
    return service.record_save(prepared, user=scope.user, grant=scope.grant)


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
