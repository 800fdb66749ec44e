"""Publication of the events of all resources as messages of webhooks."""

from collections.abc import Iterator, Mapping

import orjson
import sqlalchemy as sa

from app.core.limits import WebhookLimits
from app.extensions import db
from app.models.change_set import ChangeSet
from app.models.media import MediaAsset
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.project_log import LogSource, ProjectLogEntry
from app.models.sandbox import Sandbox
from app.resources.change_set.events import ChangeSetEvent, change_set_moved
from app.resources.media_asset.events import asset_deleting, asset_stored
from app.resources.organization import events as organization_events
from app.resources.organization.events import MemberChange
from app.resources.outbound_webhook import endpoint_state, messages
from app.resources.outbound_webhook.event_types import EventType
from app.resources.outbound_webhook.schemas import events as types
from app.resources.project import events as project_events
from app.resources.project.events import FileEvent, FilesChanged
from app.resources.project_content.events import index_failed
from app.resources.sandbox.events import sandbox_failed, sandbox_running

HEAD_BYTES = 3_000
"""The largest size of a message about a commit without its files: a name of a branch has at most 255 characters."""
MAX_PROBLEM_CHARACTERS = 1_000
MAX_COMPARED_COMMITS = 500


@project_events.files_changed.subscribe
def publish_commits(changed: FilesChanged) -> None:
    """Publish the commit of a save, or the new head of a branch with commits of other origin."""
    move, project_id = changed.move, changed.project_id
    if move is None:
        return
    if changed.source == LogSource.COMMIT:
        files = list(_files_that_fit(changed.files))
        data = {"commit_sha": move.after, "files": files, "truncated": len(files) < len(changed.files)}
        _publish_branch(types.CONTENT_COMMITTED, project_id, move.branch, data)
    elif not _is_of_saves(changed, move.after):
        _publish_branch(types.BRANCH_MOVED, project_id, move.branch, {"before": move.before, "after": move.after})


@project_events.branch_moved.subscribe
def publish_branch_without_index(project: Project, branch: str, head: str) -> None:
    """Publish the new head of a branch that has no index. The index of another branch publishes it."""
    indexed = sa.select(ContentIndex.id).where(
        ContentIndex.project_id == project.id, ContentIndex.branch == branch, ContentIndex.commit_sha.is_not(None)
    )
    if db.session.scalar(indexed) is None:
        _publish_branch(types.BRANCH_MOVED, project.id, branch, {"before": None, "after": head})


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


@index_failed.subscribe
def publish_failed_index(index: ContentIndex, problem: str) -> None:
    """Publish that a branch could not be read."""
    data = {"branch": index.branch, "problem": problem[:MAX_PROBLEM_CHARACTERS]}
    messages.publish_of_project(types.INDEX_FAILED, data, project_id=index.project_id)


@change_set_moved.subscribe
def publish_change_set(change_set: ChangeSet, step: ChangeSetEvent) -> None:
    """Publish a step of a change set."""
    commit = {} if change_set.published_sha is None else {"commit_sha": change_set.published_sha}
    data = {"change_set_id": change_set.id, "state": str(change_set.state), **commit}
    messages.publish_of_project(types.CHANGE_SETS[step], data, project_id=change_set.project_id)


@sandbox_running.subscribe
def publish_started_preview(sandbox: Sandbox) -> None:
    """Publish that a preview runs."""
    _publish_preview(types.PREVIEW_STARTED, sandbox)


@sandbox_failed.subscribe
def publish_failed_preview(sandbox: Sandbox) -> None:
    """Publish that a preview could not be started."""
    _publish_preview(types.PREVIEW_FAILED, sandbox)


def _publish_preview(event: EventType, sandbox: Sandbox) -> None:
    data = {"sandbox_id": sandbox.id, "commit_sha": sandbox.commit_sha, "code": sandbox.code}
    messages.publish_of_project(event, data, project_id=sandbox.project_id)


def _organization_of(project_id: str) -> str | None:
    return db.session.scalar(sa.select(Project.organization_id).where(Project.id == project_id))


@asset_stored.subscribe
def publish_uploaded_image(asset: MediaAsset) -> None:
    """Publish an image of an organization or project."""
    _publish_image(types.MEDIA_UPLOADED, asset)


@asset_deleting.subscribe
def publish_deleted_image(asset: MediaAsset) -> None:
    """Publish the deletion of an image of an organization or project."""
    _publish_image(types.MEDIA_DELETED, asset)


def _publish_image(event: EventType, asset: MediaAsset) -> None:
    project_id = asset.project_id
    organization_id = asset.organization_id if project_id is None else _organization_of(project_id)
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


@project_events.project_created.subscribe
def publish_created_project(project: Project) -> None:
    """Publish a new project."""
    _publish_project(types.PROJECT_CREATED, project)


@project_events.project_updated.subscribe
def publish_updated_project(project: Project) -> None:
    """Publish a changed project."""
    _publish_project(types.PROJECT_UPDATED, project)


@project_events.project_archived.subscribe
def publish_archived_project(project: Project) -> None:
    """Publish an archived project."""
    _publish_project(types.PROJECT_ARCHIVED, project)


@project_events.project_moved.subscribe
def publish_moved_project(project: Project, previous_organization_id: str) -> None:
    """Publish a moved project to both organizations. The webhooks of the project stay in the previous one and end."""
    for organization_id in (previous_organization_id, project.organization_id):
        _publish_project(
            types.PROJECT_MOVED,
            project,
            organization_id=organization_id,
            previous_organization_id=previous_organization_id,
        )
    endpoint_state.close_of_project(project.id)


@project_events.project_deleting.subscribe
def publish_deleted_project(project: Project) -> None:
    """Publish a deleted project. Its webhooks deliver what waits."""
    _publish_project(types.PROJECT_DELETED, project)
    endpoint_state.close_of_project(project.id)


def _publish_member(event: EventType, change: MemberChange) -> None:
    data = {
        "organization_id": change.organization_id,
        "user_id": change.user_id,
        "email": change.email,
        "role": str(change.role),
    }
    messages.publish(event, data, organization_id=change.organization_id)


@organization_events.member_invited.subscribe
def publish_invitation(change: MemberChange) -> None:
    """Publish an invitation."""
    _publish_member(types.MEMBER_INVITED, change)


@organization_events.member_joined.subscribe
def publish_new_member(change: MemberChange) -> None:
    """Publish a new member."""
    _publish_member(types.MEMBER_JOINED, change)


@organization_events.member_role_changed.subscribe
def publish_changed_role(change: MemberChange) -> None:
    """Publish a changed role."""
    _publish_member(types.MEMBER_ROLE_CHANGED, change)


@organization_events.member_removed.subscribe
def publish_removed_member(change: MemberChange) -> None:
    """Publish the end of a membership or invitation."""
    _publish_member(types.MEMBER_REMOVED, change)
