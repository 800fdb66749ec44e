"""The files of a project's branch: read, searched and saved (spec 4.9)."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, current_app, request

from app.core.limits import InputLimits
from app.extensions import drivers
from app.http.caching import in_either_form, not_modified
from app.http.endpoint import endpoint
from app.http.envelope import success
from app.http.file_bytes import streamed
from app.http.guards import member_of_org
from app.http.scope import Scope
from app.http.streaming import Timing, sse_response
from app.models.project_content import ContentIndex
from app.resources.project_content import (
    files,
    front_matter,
    on_demand,
    progress,
    raw,
    reading,
    saving,
    search,
    service,
    snapshot,
    unchanged,
)
from app.resources.project_content.backlinks import Backlink, backlinks
from app.resources.project_content.commits import Save
from app.resources.project_content.front_matter_schemas import EditFrontMatter, FrontMatterBody
from app.resources.project_content.saving import Saved
from app.resources.project_content.schemas import (
    BranchArguments,
    BranchQuery,
    CommitBody,
    Committed,
    FileArguments,
    FileMetadata,
    FileQuery,
    MakeCommit,
    Queued,
    TreeArguments,
    TreeQuery,
)
from app.resources.project_content.search_schemas import BacklinkShape, SearchArguments, SearchHit, SearchQuery
from app.resources.project_content.source import source_of

blueprint = Blueprint("project_content", __name__)

FOLLOWED_S = 600


def _index(
    scope: Scope, query: TreeArguments | FileArguments | SearchArguments | BranchArguments
) -> ContentIndex | None:
    return on_demand.index_of(scope.project, scope.index, query["ref"], hosts=drivers["git"], by=scope.caller)


def _fresh_index(scope: Scope, query: TreeArguments) -> ContentIndex | None:
    return on_demand.noticed(scope.project, _index(scope, query), hosts=drivers["git"])


def _unchanged(ids: Mapping[str, str]) -> Response | None:
    index = unchanged.known(request, ids["project_id"])
    if index is None or on_demand.has_moved(index, hosts=drivers["git"]):
        return None
    return not_modified(request, index.commit_sha)


@blueprint.get("/<project_id>")
@endpoint(
    guard=member_of_org(),
    query=TreeQuery,
    prepare=_fresh_index,
    raw=True,
    shortcut=_unchanged,
    message=snapshot.MESSAGE,
)
def tree(scope: Scope, query: TreeArguments, index: ContentIndex | None) -> Response:
    """Read the file tree of a branch, or a part of it."""
    return _send_part(scope, query, index) if _is_part(query) else _send_whole(scope, query, index)


def _is_part(query: TreeArguments) -> bool:
    return query["path"] is not None or query["limit"] is not None


def _send_whole(scope: Scope, query: TreeArguments, index: ContentIndex | None) -> Response:
    known = not_modified(request, index.commit_sha) if index and index.commit_sha else None
    if known is not None:
        return known
    found = reading.whole(scope.project, index, query["ref"] or scope.project.branch, trees=drivers["trees"])
    return in_either_form(request, found, found.commit_sha)


def _send_part(scope: Scope, query: TreeArguments, index: ContentIndex | None) -> Response:
    found = reading.part(
        scope.project,
        index,
        query["ref"] or scope.project.branch,
        folder=query["path"],
        limit=query["limit"],
        cursor=query["cursor"],
    )
    return success(request, found.result, snapshot.MESSAGE, meta=found.meta)


@blueprint.get("/<project_id>/index/events")
@endpoint(guard=member_of_org(), query=BranchQuery, prepare=_index, raw=True, message="How far the index is")
def index_events(scope: Scope, query: BranchArguments, _index: ContentIndex | None) -> Response:
    """Follow the index of a branch until it is ready or has failed, as server-sent events."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    branch, organization_id = query["ref"] or scope.project.branch, scope.organization.id
    found = progress.events_of(app, scope.project.id, branch, organization_id=organization_id, user_id=scope.actor.id)
    return sse_response(found, timing=Timing(total_s=FOLLOWED_S))


def _metadata(scope: Scope, query: FileArguments) -> dict[str, Any]:
    return files.metadata(scope.project, _index(scope, query), query["file"], hosts=drivers["git"], by=scope.caller)


@blueprint.get("/<project_id>/file")
@endpoint(guard=member_of_org(), query=FileQuery, prepare=_metadata, result=FileMetadata, message="File metadata")
def file(_scope: Scope, _query: FileArguments, found: dict[str, Any]) -> dict[str, Any]:
    """Read what is known of one file."""
    return found


def _raw(scope: Scope, query: FileArguments) -> Response:
    source = source_of(scope.project, drivers["git"], branch=query["ref"], actor=scope.actor)
    found = raw.find(_index(scope, query), query["file"], source)
    known = not_modified(request, found.sha)
    return known or streamed(found.read(), size=found.size, mime=found.mime, tag=found.sha)


@blueprint.get("/<project_id>/raw")
@endpoint(guard=member_of_org(), query=FileQuery, prepare=_raw, raw=True, message="The file's bytes")
def raw_bytes(_scope: Scope, _query: FileArguments, found: Response) -> Response:
    """Read a file's bytes."""
    return found


@blueprint.get("/<project_id>/search")
@endpoint(
    guard=member_of_org(), query=SearchQuery, prepare=_index, result=SearchHit, many=True, message="Files that fit"
)
def find(scope: Scope, query: SearchArguments, index: ContentIndex | None) -> list[search.Hit]:
    """Search the files of a branch by path, text, type and front matter."""
    return search.search(scope.project, index, query["q"], kind=query["type"], limit=query["limit"])


@blueprint.get("/<project_id>/backlinks")
@endpoint(
    guard=member_of_org(),
    query=FileQuery,
    prepare=_index,
    result=BacklinkShape,
    many=True,
    message="Files that lead to this one",
)
def what_links_here(scope: Scope, query: FileArguments, index: ContentIndex | None) -> list[Backlink]:
    """List the files that link to a file, or use it as an image or download."""
    return backlinks(scope.project, index, query["file"])


def _commit(scope: Scope, body: CommitBody) -> Saved:
    save = Save(
        body["base_sha"], body["files"], body["message"], body.get("description"), saving.trailers_for(scope.actor)
    )
    return saving.commit_to_host(scope.project, save, branch=body["branch"], by=scope.actor, hosts=drivers["git"])


@blueprint.post("/<project_id>/commit")
@endpoint(
    guard=member_of_org(),
    body=MakeCommit,
    prepare=_commit,
    result=Committed,
    status=201,
    max_bytes=InputLimits.commit_bytes,
    message="Saved",
)
def commit(scope: Scope, _body: CommitBody, saved: Saved) -> dict[str, object]:
    """Save several files as one commit."""
    return saving.record(scope.project, saved, by=scope.actor)


def _edit(scope: Scope, body: FrontMatterBody) -> Saved | front_matter.Unchanged:
    return front_matter.commit_to_host(scope.project, body["edit"], by=scope.actor, hosts=drivers["git"])


@blueprint.patch("/<project_id>/front-matter")
@endpoint(
    guard=member_of_org(), body=EditFrontMatter, prepare=_edit, result=Committed, message="The front matter is saved"
)
def edit_front_matter(scope: Scope, _body: FrontMatterBody, saved: Saved | front_matter.Unchanged) -> dict[str, object]:
    """Change some keys of a file's front matter and no other byte of it, as one commit; none where nothing changes."""
    return front_matter.record(scope.project, saved, by=scope.actor)


@blueprint.post("/<project_id>/reindex")
@endpoint(guard=member_of_org(), result=Queued, status=202, message="The branch will be indexed")
def reindex(scope: Scope) -> dict[str, str | None]:
    """Ask for a fresh look at the working branch."""
    return service.reindex(scope.project)
