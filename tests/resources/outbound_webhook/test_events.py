"""Tests of the events: each is published with data that match the schema of the OpenAPI document."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any

import jsonschema_rs
import orjson
import pytest
from flask import Flask

from app.core import clock
from app.database.transactions import reading_context, write_transaction
from app.drivers.errors import DriverError
from app.extensions import db, drivers
from app.http.openapi import build
from app.models.project import ConnectionStatus, Project
from app.models.project_content import ContentIndex
from app.models.sandbox import PreviewState, Sandbox
from app.resources.change_set import publishing
from app.resources.outbound_webhook.schemas.events import event_types
from app.resources.project_content import jobs as content_jobs
from app.resources.sandbox import service as sandboxes
from tests.resources.bucket.uploads import upload
from tests.resources.outbound_webhook.hooks import Hook, save, sweep
from tests.resources.outbound_webhook.set_builds import SetBuild
from tests.support.workspace import Workspace
from tests.support.world import Person, World

Make = Callable[..., Hook]
TYPES = sorted(set(event_types) - {"webhook.test", "webhook.disabled"})


@cache
def validators(app: Flask) -> dict[str, Any]:
    """Return the validator of each type. The schema of a message refers to the components of the document."""
    document: dict[str, Any] = build(app)
    messages = {
        name: item["post"]["requestBody"]["content"]["application/json"] for name, item in document["webhooks"].items()
    }
    assert set(messages) == set(event_types)
    made = {}
    for name, content in messages.items():
        validator = jsonschema_rs.Draft202012Validator(content["schema"] | {"components": document["components"]})
        assert validator.is_valid(content["example"]), name
        made[name] = validator
    return made


def _member(world: World, space: Workspace, role: str = "editor") -> Person:
    person = world.person()
    space.me.patch(f"/organization/member/{space.org}", {"email": person.email, "role": role}).ok()
    return person


def _push(world: World, space: Workspace) -> None:
    world.work_off()
    space.git.commit({"content/pushed.md": b"# Pushed\n"})
    space.me.post(f"/project-content/{space.project}/reindex").ok(202)
    world.work_off()


def _break(world: World, space: Workspace) -> None:
    world.work_off()
    folder = world.git_root / f"{space.repository}.git"
    folder.rename(folder.with_suffix(".away"))
    with reading_context(world.app):
        index = db.session.query(ContentIndex).filter_by(project_id=space.project).one()
        for _ in range(2):
            with suppress(DriverError):  # The job engine retries it.
                content_jobs.index_branch(index_id=index.id, git=drivers.git, progress=lambda *_: None)
    folder.with_suffix(".away").rename(folder)


def _preview(world: World, space: Workspace, *, fails: bool) -> None:
    with reading_context(world.app), write_transaction():
        now = sandboxes.database_now()
        row = Sandbox(project_id=space.project, label=space.project[-20:], node="here", start_id="s", expires_at=now)
        row.state = PreviewState.STARTING
        db.session.add(row)
        db.session.flush()
        if fails:
            sandboxes.mark_failed(row, sandboxes.StartFailure("No generator"), start_id="s")
        else:
            sandboxes.mark_running(row)


def _change_set_steps(steps: tuple[str, ...], world: World, space: Workspace) -> None:
    """Create a change set with one new page, and do the steps of a path."""
    space.me.patch(f"/project/{space.project}", {"required_approvals": 0}).ok()
    made = space.me.post(f"/project/{space.project}/change-sets", {"title": "New page"}).ok(201)
    path, reviewer = f"/change-set/{made['id']}", _member(world, space)
    file = {"path": "content/new.md", "action": "create", "content": "# New\n"}
    space.me.post(f"{path}/commit", {"message": "Add", "base_sha": made["head_sha"], "files": [file]}).ok(201)
    for step in steps:
        if step in ("approve", "changes"):
            reviewer.post(f"{path}/reviews", {"verdict": step}).ok(201)
        elif step in ("schedule", "fail"):
            planned = {"wall_time": f"{clock.now():%Y}-12-31T23:59", "timezone": "UTC"}
            space.me.put(f"{path}/schedule", planned).ok()
        elif step == "close":
            space.me.delete(path).ok()
        elif step == "revert":
            undo = space.me.post(f"{path}/revert").ok(201)
            space.me.post(f"/change-set/{undo['id']}/publish").ok()
        else:
            space.me.post(f"{path}/{step}").ok()
        if step == "fail":
            with reading_context(world.app), write_transaction():
                publishing.fail(made["id"], "The host refuses")


def _disconnect(world: World, space: Workspace) -> None:
    for status in (ConnectionStatus.NEEDS_RECONNECT, ConnectionStatus.NEEDS_RECONNECT, ConnectionStatus.ACTIVE):
        with reading_context(world.app), write_transaction():
            db.session.get_one(Project, space.project).connection_status = status
        sweep(world.app)


def _delete_image(world: World, space: Workspace) -> None:
    key = upload(space.me, org_id=space.org).ok(201)["key"]
    space.me.delete(f"/bucket/delete/{key}").ok()


def _change_role(world: World, space: Workspace) -> None:
    member = _member(world, space)
    for role in ("admin", "admin"):
        space.me.patch(f"/organization/update-role/{space.org}", {"member_id": member.id, "role": role}).ok()


def _remove_member(world: World, space: Workspace) -> None:
    member = _member(world, space)
    space.me.patch(f"/organization/remove-member/{space.org}", {"member_id": member.id}).ok()


ACTIONS: dict[str, Callable[[World, Workspace], object]] = {
    "content.committed": lambda _, space: save(space),
    "branch.moved": _push,
    "index.failed": _break,
    "preview.started": lambda world, space: _preview(world, space, fails=False),
    "preview.failed": lambda world, space: _preview(world, space, fails=True),
    "media.uploaded": lambda _, space: upload(space.me, org_id=space.org).ok(201),
    "media.deleted": _delete_image,
    "project.created": lambda _, space: space.me.new_project(space.org, space.repository),
    "project.updated": lambda _, space: space.me.patch(
        f"/project/visibility/{space.project}", {"visibility": "public"}
    ),
    "project.archived": lambda _, space: space.me.patch(f"/project/status/{space.project}", {"status": "archived"}),
    "project.moved": lambda _, space: space.me.patch(f"/project/move/{space.me.new_organization()}/{space.project}"),
    "project.deleted": lambda _, space: space.me.delete(f"/project/{space.project}"),
    "member.invited": lambda _, space: space.me.patch(
        f"/organization/member/{space.org}", {"email": "new@mail.example.org", "role": "editor"}
    ),
    "member.joined": _member,
    "member.role_changed": _change_role,
    "member.removed": _remove_member,
    "connection.needs_reconnect": _disconnect,
    "change_set.built": lambda _, space: SetBuild.of_new_set(space).end(),
    **{
        f"change_set.{name}": partial(_change_set_steps, steps)
        for name, steps in (
            ("submitted", ("submit",)),
            ("approved", ("submit", "approve")),
            ("changes_requested", ("submit", "changes")),
            ("scheduled", ("schedule",)),
            ("published", ("publish",)),
            ("publish_failed", ("fail",)),
            ("reverted", ("publish", "revert")),
            ("closed", ("close",)),
        )
    },
}


class TestEvents:
    @pytest.mark.parametrize("name", TYPES)
    def test_event_is_published_once_with_valid_data(
        self, world: World, space: Workspace, hook: Make, name: str
    ) -> None:
        one = hook(events=TYPES)
        only = hook("only", events=[name])
        ACTIONS[name](world, space)
        for hooked in (one, only):
            hooked.run()
        [call] = only.received
        event = orjson.loads(call.body)
        assert event["type"] == name
        assert [error.message for error in validators(world.app)[name].iter_errors(event)] == []
        assert call.body in [other.body for other in one.received]
        assert len(call.body) < 20_000

    def test_save_causes_no_branch_moved_also_after_the_index(self, world: World, space: Workspace, hook: Make) -> None:
        one = hook(events=["branch.moved", "content.committed"])
        world.work_off()
        for _ in range(3):
            save(space)
            with space.me.app.app_context():  # Another node has not applied the save to its index.
                db.session.query(ContentIndex).filter_by(project_id=space.project).update(
                    {"commit_sha": space.git.head("main~1")}
                )
                db.session.commit()
            world.work_off()
        types = [orjson.loads(call.body)["type"] for call in one.received]
        assert types == ["content.committed"] * 3

    def test_removal_of_an_invitation_and_departure_are_published(
        self, world: World, space: Workspace, hook: Make
    ) -> None:
        one = hook(events=["member.removed"])
        body = {"email": "new@mail.example.org", "role": "admin"}
        space.me.patch(f"/organization/member/{space.org}", body).ok()
        space.me.patch(f"/organization/remove-member/{space.org}", {"email": body["email"]}).ok()
        member = _member(world, space)
        member.patch(f"/organization/leave/{space.org}").ok()
        one.run()
        data = [orjson.loads(call.body)["data"] for call in one.received]
        owner = {"organization_id": space.org}
        assert data == [
            owner | {"user_id": None, "email": "new@mail.example.org", "role": "admin"},
            owner | {"user_id": member.id, "email": member.email, "role": "editor"},
        ]

    def test_refused_request_publishes_nothing(self, space: Workspace, hook: Make) -> None:
        one = hook(events=TYPES)
        space.me.patch(f"/project/{space.project}", {"project_image": "orgs/unknown.png"}).fails(400)
        space.me.patch(f"/organization/member/{space.org}", {"email": space.me.email, "role": "editor"}).fails(409)
        assert one.deliveries() == []
