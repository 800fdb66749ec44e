"""Responses of project content: results of saves, trees, bytes of files, event streams and 304."""

from collections.abc import Mapping
from typing import Any

from flask import Request, Response, current_app, request

from app.access import authentication
from app.access.caller import VALID_SESSION
from app.access.scope import Scope
from app.core import clock
from app.extensions import drivers
from app.http import caching, rate_limits
from app.http.endpoint import ViewResult
from app.http.envelope import success
from app.http.file_bytes import stream_file
from app.http.streaming.response import StreamSettings, sse_response
from app.models.project_content import ContentIndex
from app.resources.project_content import queries, service, streams
from app.resources.project_content.index import index_freshness
from app.resources.project_content.saving.commit_builder import Saved
from app.resources.project_content.saving.front_matter import NoChange
from app.resources.project_content.schemas.content import TreeQuery
from app.resources.project_content.tree import tree_snapshot
from app.resources.project_content.versions.raw_file import RawFile
from app.security.secrets import hash_token

# Built once: building the statement costs more than its execution.
_READY_INDEX = queries.select_ready_index(*VALID_SESSION)

INDEX_STREAM_S = 600


def unchanged_tree(ids: Mapping[str, str]) -> Response | None:
    """Return 304 if the caller is a member and has the tree of the present commit; None if the guard must decide."""
    index = find_unchanged_index(request, ids["project_id"])
    if index is None or index_freshness.has_moved(index, hosts=drivers.git):
        return None
    return caching.not_modified(request, index.commit_sha)


def tree(scope: Scope, query: TreeQuery, index: ContentIndex | None) -> Response:
    """Return the tree of a branch, or a part of it."""
    is_part = query.path is not None or query.limit is not None
    return _part_of_tree(scope, query, index) if is_part else _whole_tree(scope, query, index)


def _whole_tree(scope: Scope, query: TreeQuery, index: ContentIndex | None) -> Response:
    unchanged = caching.not_modified(request, index.commit_sha) if index and index.commit_sha else None
    if unchanged is not None:
        return unchanged
    whole = tree_snapshot.whole(scope.project.id, index, query.ref or scope.project.branch, trees=drivers.trees)
    return caching.precompressed_response(request, whole, whole.commit_sha)


def _part_of_tree(scope: Scope, query: TreeQuery, index: ContentIndex | None) -> Response:
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
    result = service.record_save(outcome, by=scope.actor, grant=scope.grant)
    return ViewResult(result, 200 if isinstance(outcome, NoChange) else 201)


def raw(file: RawFile) -> Response:
    """Return the bytes of a file, or 304 if the caller has them."""
    unchanged = caching.not_modified(request, file.sha)
    return unchanged or stream_file(file.read(), size=file.size, mime=file.mime, tag=file.sha)


def index_events(scope: Scope, branch: str | None) -> Response:
    """Return the events of the index of a branch until it is ready or has failed."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    events = streams.events_of(
        app,
        scope.project.id,
        branch or scope.project.branch,
        organization_id=scope.organization.id,
        user_id=scope.actor.id,
    )
    return sse_response(events, timing=StreamSettings(total_s=INDEX_STREAM_S))


def find_unchanged_index(request: Request, project_id: str) -> queries.IndexHead | None:
    """Return the index whose commit `If-None-Match` names, if the caller is a member; None if the guard must decide.

    Raises:
        TooManyRequests: the rate of the caller is used up.
    """
    tags, token = request.headers.get("If-None-Match"), request.cookies.get(authentication.cookie_name())
    if not tags or not token or request.query_string:
        return None
    parameters = {"token_hash": hash_token(token), "now": clock.now(), "project_id": project_id}
    with current_app.extensions["reading_engine"].connect() as connection:
        row: Any = connection.execute(_READY_INDEX, parameters).first()
    if (
        row is None
        or not caching.etag_matches(tags, row.commit_sha)
        or authentication.needs_activity_update(row.last_seen_at)
    ):
        return None
    rate_limits.check_signed_in(row.id)
    return queries.IndexHead(*row[2:])
