"""Valid requests for change sets: a set in the state that the endpoint needs, and a comment on it."""

import secrets
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from app.core import clock
from app.core.ids import new_id
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.change_set import (
    ChangeSet,
    ChangeSetComment,
    ChangeSetReview,
    ChangeSetSchedule,
    ChangeSetState,
    ScheduledAction,
    Verdict,
)
from app.resources.change_set.content import branch_name
from app.resources.change_set.states import OPEN
from tests.contract.scene import Scene
from tests.support.world import Browser

Key = tuple[str, str]
SET = "/change-set/:change_set_id"
TITLE, TIME_ZONE = "Opening hours", "Europe/Berlin"

STATES: dict[Key, ChangeSetState] = {
    ("GET", f"{SET}/reviews"): ChangeSetState.APPROVED,
    ("POST", f"{SET}/reviews"): ChangeSetState.IN_REVIEW,
    ("POST", f"{SET}/publish"): ChangeSetState.APPROVED,
    ("PUT", f"{SET}/schedule"): ChangeSetState.APPROVED,
    ("DELETE", f"{SET}/schedule"): ChangeSetState.SCHEDULED,
    ("POST", f"{SET}/revert"): ChangeSetState.PUBLISHED,
}
"""The states that endpoints need. Others accept a draft."""

_NEWEST = sa.select(ChangeSet).order_by(ChangeSet.id.desc()).limit(1)


def _commit(scene: Scene, _who: Browser) -> dict[str, Any]:
    file = {"path": f"content/{secrets.token_hex(6)}.md", "action": "create", "content": "# New\n"}
    return {"message": "Add a page", "base_sha": scene.head, "files": [file]}


def _schedule(_scene: Scene, _who: Browser) -> dict[str, Any]:
    day = clock.now() + timedelta(days=30)
    return {"wall_time": f"{day:%Y-%m-%d}T09:00", "timezone": TIME_ZONE}


def _move(scene: Scene, _who: Browser) -> dict[str, Any]:
    with scene.app.app_context():
        row = db.session.scalars(_NEWEST).one()
        paths = scene.repo.text("diff", "--name-only", row.base_sha, row.head_sha).split()
    return {"paths": paths, "to": create_set(scene, ChangeSetState.DRAFT, closes=False)}


BODIES: dict[Key, Callable[[Scene, Browser], dict[str, Any]]] = {
    ("POST", "/project/:projectId/change-sets"): lambda *_: {"title": TITLE, "description": "The hours of the winter"},
    ("PATCH", SET): lambda *_: {"title": "Opening hours of the shop"},
    ("POST", f"{SET}/commit"): _commit,
    ("POST", f"{SET}/submit"): lambda scene, _who: {"reviewers": [scene.people["admin"].id], "message": "Is it right?"},
    ("POST", f"{SET}/reviews"): lambda *_: {"verdict": "comment", "body": "The hours of Sunday are missing"},
    ("POST", f"{SET}/comments"): lambda *_: {"body": "Is this true?", "path": "hugo.toml", "pointer": "/title"},
    ("PATCH", f"{SET}/comments/:comment_id"): lambda *_: {"resolved": True},
    ("PUT", f"{SET}/schedule"): _schedule,
    ("POST", f"{SET}/resolve"): lambda *_: {"resolutions": []},
    ("POST", f"{SET}/move"): _move,
}


def ids_of(scene: Scene, key: Key) -> dict[str, str]:
    """Return the path variables: a new set of the member `extra`, and a comment on it."""
    if not key[1].startswith(SET):
        return {}
    set_id = create_set(scene, STATES.get(key, ChangeSetState.DRAFT))
    comment = create_comment(scene, set_id) if "/comments" in key[1] else ""
    return {"change_set_id": set_id, "comment_id": comment}


def create_set(scene: Scene, state: ChangeSetState, *, closes: bool = True) -> str:
    """Create a set with one new file in project P. With `closes`, close the earlier ones, whose number is limited."""
    set_id, path = new_id("chg"), f"content/{secrets.token_hex(6)}.md"
    branch, repo = branch_name("galley", TITLE, set_id), scene.repo
    is_published = state == ChangeSetState.PUBLISHED
    base = repo.head() if is_published else scene.head
    head = repo.commit({path: b"# Hours\n"}, branch="main" if is_published else branch, start=base)
    with scene.app.app_context():
        is_open = ChangeSet.project_id == scene.project, ChangeSet.state.in_(OPEN)
        if closes:
            db.session.execute(sa.update(ChangeSet).where(*is_open).values(state=ChangeSetState.CLOSED))
        row = ChangeSet(
            id=set_id,
            project_id=scene.project,
            title=TITLE,
            state=state,
            branch=branch,
            base_sha=base,
            head_sha=head,
            files=1,
            creator_id=scene.extra.id,
            published_sha=head if is_published else None,
            published_parent_sha=base if is_published else None,
            published_at=utcnow_ms() if is_published else None,
        )
        db.session.add(row)
        db.session.flush()
        if state in (ChangeSetState.APPROVED, ChangeSetState.SCHEDULED):
            db.session.add(
                ChangeSetReview(
                    change_set_id=set_id,
                    user_id=scene.people["admin"].id,
                    verdict=Verdict.APPROVE,
                    body="Good.",
                    head_sha=head,
                )
            )
        if state == ChangeSetState.SCHEDULED:
            day = clock.now() + timedelta(days=30)
            db.session.add(
                ChangeSetSchedule(
                    change_set_id=set_id,
                    wall_time=f"{day:%Y-%m-%d}T09:00",
                    timezone=TIME_ZONE,
                    action=ScheduledAction.PUBLISH,
                    due_at=utcnow_ms() + timedelta(days=30),
                    user_id=scene.owner.id,
                )
            )
        db.session.commit()
    return set_id


def create_comment(scene: Scene, set_id: str) -> str:
    """Create a comment on a file of a set."""
    with scene.app.app_context():
        row = ChangeSetComment(
            change_set_id=set_id, user_id=scene.extra.id, body="Is this true?", path="hugo.toml", pointer="/title"
        )
        db.session.add(row)
        db.session.commit()
        return row.id


def committed_and_contained(scene: Scene, key: Key, who: Browser) -> list[dict[str, Any]]:
    """Send a merged save twice. The second one has nothing left to write."""
    body = BODIES[key](scene, who) | {"on_conflict": "merge"}
    return [{"json": body}, {"json": body | {"description": "Again"}}]


def published_and_awaited(scene: Scene, _key: Key, _who: Browser) -> Iterator[dict[str, Any]]:
    """Publish the newest set, then make it one of a protected branch whose check has not passed."""
    yield {}
    name, git, project = scene.outside.on_github.name, scene.outside.on_github.git, scene.remote_project
    with scene.app.app_context():
        row = db.session.scalars(_NEWEST).one()
        row.project_id, row.state, row.base_sha = project, ChangeSetState.APPROVED, git.head()
        row.head_sha = git.commit({"content/hours.md": b"# Hours\n"}, branch=row.branch, start=row.base_sha)
        row.published_sha = row.published_parent_sha = row.published_at = None
        db.session.execute(
            sa.update(ChangeSetReview).where(ChangeSetReview.change_set_id == row.id).values(head_sha=row.head_sha)
        )
        db.session.commit()
    repository = scene.outside.hosts.github.repositories[name]
    repository.protected.add("main")
    repository.required.add("build")
    yield {}
    repository.protected.clear()
    repository.required.clear()


def conflict_resolved(scene: Scene, _key: Key, _who: Browser) -> list[dict[str, Any]]:
    """Edit a value in the newest set and on the working branch, and send a resolution of the conflict."""
    path = "content/posts/hello.md"
    with scene.app.app_context():
        branch = db.session.scalars(_NEWEST).one().branch
    for name, title in ((branch, "Good morning"), ("main", "Good evening")):
        scene.repo.commit({path: f"---\ntitle: {title}\n---\n\n# Hello\n".encode()}, branch=name)
    resolution = {"path": path, "pointer": "/title", "take": "value", "value": "Good day"}
    return [{"json": {"resolutions": [resolution]}}]


def with_listed_set(scene: Scene, key: Key, who: Browser) -> Iterator[dict[str, Any]]:
    """Send the list of sets after one was created."""
    create_set(scene, ChangeSetState.APPROVED)
    yield {}


def approval(_scene: Scene, _key: Key, _who: Browser) -> list[dict[str, Any]]:
    """Send an approval. Only a signed-in user may send it."""
    return [{"json": {"verdict": "approve", "body": "Good."}}]
