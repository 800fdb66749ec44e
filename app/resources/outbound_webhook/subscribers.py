"""Publication of the events of all resources as messages of webhooks: one table of events, types and data."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import orjson
import sqlalchemy as sa

from app.core.events import Event
from app.core.limits import WebhookLimits
from app.extensions import db
from app.models.change_set import ChangeSet
from app.models.media import MediaAsset
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.project_log import LogSource, ProjectLogEntry
from app.models.sandbox import Sandbox
from app.models.site_build import BuildState, SiteBuild
from app.resources.change_set.events import ChangeSetEvent, change_set_moved
from app.resources.change_set.service import page_url
from app.resources.change_set.states import OPEN
from app.resources.media_asset.events import asset_deleting, asset_stored
from app.resources.organization import events as organization_events
from app.resources.organization.events import MemberChange
from app.resources.outbound_webhook import endpoint_state, messages
from app.resources.outbound_webhook.schemas import events as types
from app.resources.outbound_webhook.schemas.events import EventType
from app.resources.project import events as project_events
from app.resources.project.events import FileEvent, FilesChanged
from app.resources.project_content.events import index_failed
from app.resources.sandbox.events import sandbox_failed, sandbox_running
from app.resources.site_build.events import build_ended
from app.resources.site_build.queries import shown as shown_build

HEAD_BYTES = 3_000
"""The largest size of a message about a commit without its files: a name of a branch has at most 255 characters."""
MAX_PROBLEM_CHARACTERS = 1_000
MAX_COMPARED_COMMITS = 500


def _publish_commit(event: EventType, changed: FilesChanged) -> None:
    """Publish the commit of a save."""
    move = changed.move
    if move is not None and changed.source == LogSource.COMMIT:
        files = list(_files_that_fit(changed.files))
        data = {"commit_sha": move.after, "files": files, "truncated": len(files) < len(changed.files)}
        _publish_branch(event, changed.project_id, move.branch, data)


def _publish_move(event: EventType, changed: FilesChanged) -> None:
    """Publish the new head of a branch with commits of other origin."""
    move = changed.move
    if move is not None and changed.source != LogSource.COMMIT and not _is_of_saves(changed, move.after):
        _publish_branch(event, changed.project_id, move.branch, {"before": move.before, "after": move.after})


def _publish_move_without_index(event: EventType, project: Project, branch: str, head: str) -> None:
    """Publish the new head of a branch that has no index. The index of another branch publishes it."""
    indexed = sa.select(ContentIndex.id).where(
        ContentIndex.project_id == project.id, ContentIndex.branch == branch, ContentIndex.commit_sha.is_not(None)
    )
    if db.session.scalar(indexed) is None:
        _publish_branch(event, project.id, branch, {"before": None, "after": head})


def _publish_branch(event: EventType, project_id: str, branch: str, data: Mapping[str, object]) -> None:
    messages.publish_of_project(event, {"branch": branch, **data}, project_id=project_id, branch=branch)


def _files_that_fit(files: tuple[FileEvent, ...]) -> Iterator[dict[str, str]]:
    """Yield the files that a message can contain."""
    remaining = WebhookLimits.body_bytes - HEAD_BYTES
    for event in files[: WebhookLimits.files]:
        file = {"path": event.path, "action": str(event.action)}
        remaining -= len(orjson.dumps(file)) + 1
        if remaining < 0:
            return
        yield file


def _is_of_saves(changed: FilesChanged, head: str) -> bool:
    """Return whether saves made all commits, so that each has its own message."""
    shas = {event.commit_sha for event in changed.files}
    if not shas or len(shas) > MAX_COMPARED_COMMITS:
        return False
    entry = ProjectLogEntry
    saved = db.session.scalars(
        sa.select(entry.commit_sha)
        .where(
            entry.project_id == changed.project_id,
            entry.commit_sha.in_(shas),
            entry.source == LogSource.COMMIT,
        )
        .distinct()
    )
    return head in shas and shas == set(saved)


def _publish_failed_index(event: EventType, index: ContentIndex, problem: str) -> None:
    data = {"branch": index.branch, "problem": problem[:MAX_PROBLEM_CHARACTERS]}
    messages.publish_of_project(event, data, project_id=index.project_id)


def _publish_change_set(step: ChangeSetEvent, event: EventType, change_set: ChangeSet, taken: ChangeSetEvent) -> None:
    """Publish one of the steps of a change set."""
    if taken != step:
        return
    commit = {} if change_set.published_sha is None else {"commit_sha": change_set.published_sha}
    data = {"change_set_id": change_set.id, "state": str(change_set.state), **commit}
    messages.publish_of_project(event, data, project_id=change_set.project_id)


def _publish_build(event: EventType, build: SiteBuild) -> None:
    """Publish the end of the build of the newest commit of an open change set."""
    row = db.session.get(ChangeSet, build.change_set_id) if build.change_set_id is not None else None
    if row is None or row.state not in OPEN or row.head_sha != build.commit_sha:
        return
    url = f"{page_url(row)}/open-site" if build.state is BuildState.READY else None
    values = shown_build(build)
    own = {name: values[name] for name in ("id", "state", "commit_sha", "seconds")}
    data = {"change_set_id": row.id, "state": str(row.state), "build": own | {"url": url}}
    messages.publish_of_project(event, data, project_id=row.project_id)


def _publish_preview(event: EventType, sandbox: Sandbox) -> None:
    """Publish that a preview runs, or could not be started."""
    data = {"sandbox_id": sandbox.id, "commit_sha": sandbox.commit_sha, "code": sandbox.code}
    messages.publish_of_project(event, data, project_id=sandbox.project_id)


def _publish_image(event: EventType, asset: MediaAsset) -> None:
    """Publish an image of an organization or project, or its deletion."""
    project_id, organization_id = asset.project_id, asset.organization_id
    if project_id is not None:
        organization_id = db.session.scalar(sa.select(Project.organization_id).where(Project.id == project_id))
    if organization_id is None:
        return
    data = {name: getattr(asset, name) for name in ("key", "mimetype", "size", "width", "height")}
    owner = {"organization_id": organization_id, "project_id": project_id}
    messages.publish(event, owner | data, organization_id=organization_id, project_id=project_id)


def _publish_project(event: EventType, project: Project, *, organization_id: str | None = None, **more: str) -> None:
    """Publish the present state of a project, to its organization by default."""
    data = {
        "project_id": project.id,
        "organization_id": project.organization_id,
        "project_name": project.name,
        "site_url": project.site_url,
        "provider": str(project.provider),
        "repository": project.repository,
        "branch": project.branch,
        "generator": project.generator,
        "visibility": str(project.visibility),
        "status": str(project.status),
        **more,
    }
    messages.publish(event, data, organization_id=organization_id or project.organization_id, project_id=project.id)


def _publish_moved_project(event: EventType, project: Project, previous: str) -> None:
    """Publish a moved project to both organizations. The webhooks of the project stay in the previous one and end."""
    for organization_id in (previous, project.organization_id):
        _publish_project(event, project, organization_id=organization_id, previous_organization_id=previous)
    endpoint_state.close_of_project(project.id)


def _publish_deleted_project(event: EventType, project: Project) -> None:
    """Publish a deleted project. Its webhooks deliver what waits."""
    _publish_project(event, project)
    endpoint_state.close_of_project(project.id)


def _publish_member(event: EventType, change: MemberChange) -> None:
    """Publish an invitation, a member, a role or the end of a membership."""
    data = {
        "organization_id": change.organization_id,
        "user_id": change.user_id,
        "email": change.email,
        "role": str(change.role),
    }
    messages.publish(event, data, organization_id=change.organization_id)


EVENTS: tuple[tuple[Event[...], EventType, Callable[..., None]], ...] = (
    (project_events.files_changed, types.CONTENT_COMMITTED, _publish_commit),
    (project_events.files_changed, types.BRANCH_MOVED, _publish_move),
    (project_events.branch_moved, types.BRANCH_MOVED, _publish_move_without_index),
    (index_failed, types.INDEX_FAILED, _publish_failed_index),
    *((change_set_moved, event, partial(_publish_change_set, step)) for step, event in types.CHANGE_SETS.items()),
    (build_ended, types.CHANGE_SET_BUILT, _publish_build),
    (sandbox_running, types.PREVIEW_STARTED, _publish_preview),
    (sandbox_failed, types.PREVIEW_FAILED, _publish_preview),
    (asset_stored, types.MEDIA_UPLOADED, _publish_image),
    (asset_deleting, types.MEDIA_DELETED, _publish_image),
    (project_events.project_created, types.PROJECT_CREATED, _publish_project),
    (project_events.project_updated, types.PROJECT_UPDATED, _publish_project),
    (project_events.project_archived, types.PROJECT_ARCHIVED, _publish_project),
    (project_events.project_moved, types.PROJECT_MOVED, _publish_moved_project),
    (project_events.project_deleting, types.PROJECT_DELETED, _publish_deleted_project),
    (organization_events.member_invited, types.MEMBER_INVITED, _publish_member),
    (organization_events.member_joined, types.MEMBER_JOINED, _publish_member),
    (organization_events.member_role_changed, types.MEMBER_ROLE_CHANGED, _publish_member),
    (organization_events.member_removed, types.MEMBER_REMOVED, _publish_member),
)
"""The events of other packages, the types of their messages, and the functions that publish the data.

This package itself publishes `connection.needs_reconnect`, `webhook.disabled` and `webhook.test`.
"""

for _event, _type, _publish in EVENTS:
    _event.subscribe(partial(_publish, _type))
