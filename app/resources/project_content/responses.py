"""Responses of project content: results of saves, trees, bytes of files, event streams and 304."""

from flask import Response, current_app, request

from app.access.scope import ProjectScope, Scope
from app.extensions import drivers
from app.http import caching
from app.http.endpoint import ViewResult
from app.http.envelope import success
from app.http.file_bytes import stream_file
from app.http.streaming.response import StreamSettings, sse_response
from app.models.project_content import ContentIndex
from app.resources.project_content import queries, service, streams
from app.resources.project_content.saving.commit_builder import Saved
from app.resources.project_content.saving.front_matter import NoChange
from app.resources.project_content.schemas.content import TreeQuery
from app.resources.project_content.tree import tree_snapshot
from app.resources.project_content.versions.raw_file import RawFile

INDEX_STREAM_S = 600


def tree(scope: ProjectScope, query: TreeQuery, index: ContentIndex | None) -> Response:
    """Return the tree of a branch, or a part of it."""
    is_part = query.path is not None or query.limit is not None
    return _part_of_tree(scope, query, index) if is_part else _whole_tree(scope, query, index)


def _whole_tree(scope: ProjectScope, query: TreeQuery, index: ContentIndex | None) -> Response:
    unchanged = caching.not_modified(request, index.commit_sha) if index and index.commit_sha else None
    if unchanged is not None:
        return unchanged
    whole = tree_snapshot.whole(scope.project.id, index, query.ref or scope.project.branch, trees=drivers.trees)
    return caching.precompressed_response(request, whole, whole.commit_sha)


def _part_of_tree(scope: ProjectScope, query: TreeQuery, index: ContentIndex | None) -> Response:
    page = queries.part(
        scope.project,
        index,
        query.ref or scope.project.branch,
        folder=query.path,
        limit=query.limit,
        cursor=query.cursor,
    )
    return success(request, page.result, tree_snapshot.MESSAGE, meta=page.meta)


def save_result(scope: Scope, outcome: Saved | NoChange) -> ViewResult:
    """Record a save in the log and the index. The status is 201 with a commit, 200 without a difference."""
    result = service.record_save(outcome, by=scope.user, grant=scope.grant)
    return ViewResult(result, 200 if isinstance(outcome, NoChange) else 201)


def raw(file: RawFile) -> Response:
    """Return the bytes of a file, or 304 if the caller has them."""
    unchanged = caching.not_modified(request, file.sha)
    return unchanged or stream_file(file.read(), size=file.size, mime=file.mime, tag=file.sha)


def index_events(scope: ProjectScope, branch: str | None) -> Response:
    """Return the events of the index of a branch until it is ready or has failed."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    events = streams.events_of(
        app,
        scope.project.id,
        branch or scope.project.branch,
        organization_id=scope.organization.id,
        user_id=scope.user.id,
    )
    return sse_response(events, timing=StreamSettings(total_s=INDEX_STREAM_S))
