"""Tests of each step in each state, and of each step for each role and token scope."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from app.extensions import db
from app.models.change_set import ChangeSet
from tests.resources.change_set.conftest import OTHER, TEXT, Team, update
from tests.support.tokens import program
from tests.support.world import Answer, Browser

OPEN = {"draft", "in_review", "changes_requested", "approved", "scheduled", "failed"}
REVIEWED = {"in_review", "approved", "failed"}
STATES = (*sorted(OPEN), "publishing", "published", "reverted", "closed")
WALL = {"wall_time": "2029-05-01T10:00", "timezone": "UTC"}
NO_RESOLUTION = {"resolutions": list[dict[str, str]]()}

Send = Callable[[Browser, dict[str, Any]], Answer]


def _path(made: dict[str, Any], rest: str = "") -> str:
    return f"/change-set/{made['id']}{rest}"


def _commit(who: Browser, made: dict[str, Any]) -> Answer:
    body = {"message": "Edit", "base_sha": made["head_sha"], "files": [update(OTHER, "# New\n")]}
    return who.post(_path(made, "/commit"), body)


STEPS: dict[str, tuple[Send, set[str]]] = {
    "edit": (lambda who, made: who.patch(_path(made), {"title": "Other"}), OPEN),
    "commit": (_commit, OPEN),
    "submit": (lambda who, made: who.post(_path(made, "/submit")), {"draft", "changes_requested"}),
    "approve": (lambda who, made: who.post(_path(made, "/reviews"), {"verdict": "approve"}), REVIEWED),
    "changes": (lambda who, made: who.post(_path(made, "/reviews"), {"verdict": "changes"}), REVIEWED),
    "publish": (lambda who, made: who.post(_path(made, "/publish")), {"approved", "scheduled", "failed"}),
    "schedule": (lambda who, made: who.put(_path(made, "/schedule"), WALL), {"approved", "scheduled", "failed"}),
    "schedule a revert": (
        lambda who, made: who.put(_path(made, "/schedule"), WALL | {"action": "unpublish"}),
        {"published"},
    ),
    "unschedule": (lambda who, made: who.delete(_path(made, "/schedule")), {"scheduled"}),
    "update": (lambda who, made: who.post(_path(made, "/update")), OPEN),
    "resolve": (lambda who, made: who.post(_path(made, "/resolve"), NO_RESOLUTION), OPEN),
    "revert": (lambda who, made: who.post(_path(made, "/revert")), {"published"}),
    "close": (lambda who, made: who.delete(_path(made)), OPEN),
}
"""The request of each step, and the states that permit it if an approval is required."""

WITHOUT_APPROVALS = {"publish": {"draft", "in_review"}, "schedule": {"draft", "in_review"}}
"""Further states that permit a step in a project that requires no approval. Sets in review may have all approvals."""

REVIEWS, PUBLICATIONS = {"approve", "changes"}, {"publish", "schedule", "schedule a revert", "unschedule"}


def in_state(team: Team, state: str, number: int) -> dict[str, Any]:
    """Return a set with an approval that is in a state."""
    text = TEXT.replace("First", f"Text {number} {state}")
    made = team.published(text=text) if state in ("published", "reverted") else team.approved(text=text)
    if state == "scheduled":
        team.put_schedule(made, WALL).ok()
    elif state == "closed":
        team.owner.again().delete(_path(made)).ok()
    with team.world.app.app_context():
        db.session.execute(sa.update(ChangeSet).where(ChangeSet.id == made["id"]).values(state=state))
        db.session.commit()
    return team.read(made)


@pytest.mark.slow
class TestStates:
    @pytest.mark.parametrize("required", [1, 0])
    def test_each_step_is_permitted_in_its_states_only(self, team: Team, required: int) -> None:
        team.configure(required_approvals=required)
        errors, number = list[str](), 0
        for state in STATES:
            made = in_state(team, state, number)
            for name, (send, states) in STEPS.items():
                permitted = states | (WITHOUT_APPROVALS.get(name, set()) if not required else set())
                number += 1
                answer = send(team.admin.again(), made)
                if state in permitted or (state == "in_review" and name in WITHOUT_APPROVALS):
                    if answer.status not in (200, 201):
                        errors.append(f"{name} of {state}: {answer.status} {answer.json}")
                    made = in_state(team, state, number)
                    continue
                named = permitted | ({"published"} if name == "unschedule" and state != "published" else set())
                expected: dict[str, Any] = {"code": "STATE", "result": {"state": state, "permitted": sorted(named)}}
                if name == "publish" and state in ("published", "reverted"):
                    expected = {"code": "ALREADY_PUBLISHED"}
                if answer.status != 409 or answer.json | expected != answer.json:
                    errors.append(f"{name} of {state}: {answer.status} {answer.json}")
                if team.read(made) != made:
                    errors.append(f"{name} of {state}: changed")
        assert errors == []


SCOPES = ("read", "write", "publish", "admin")


class TestCallers:
    """A closed set refuses each step with 409 `STATE` if the caller may take it."""

    @pytest.mark.parametrize("publishers", ["editors", "admins"])
    def test_members_take_each_step_and_publishers_publish(self, team: Team, publishers: str) -> None:
        team.configure(publishers=publishers)
        made = in_state(team, "closed", 1)
        found: dict[tuple[str, str], tuple[int, str]] = {}
        expected: dict[tuple[str, str], tuple[int, str]] = {}
        callers = {name: getattr(team, name).again() for name in ("owner", "admin", "editor", "stranger")}
        callers["nobody"] = team.world.anonymous()
        for role, who in callers.items():
            for name, (send, _) in STEPS.items():
                answer = send(who, made)
                found[role, name] = answer.status, answer.json["code"]
                expected[role, name] = {"stranger": (404, "NOT_FOUND"), "nobody": (401, "NOT_SIGNED_IN")}.get(
                    role, (409, "STATE")
                )
                if role == "editor" and publishers == "admins" and name in PUBLICATIONS:
                    expected[role, name] = 403, "NOT_ALLOWED"
        assert found == expected

    def test_token_needs_the_scope_of_the_step(self, team: Team) -> None:
        made = in_state(team, "closed", 1)
        found: dict[tuple[str, str], tuple[int, str]] = {}
        expected: dict[tuple[str, str], tuple[int, str]] = {}
        for scope in SCOPES:
            who = program(team.editor, scope)
            for name, (send, _) in STEPS.items():
                answer = send(who, made)
                found[scope, name] = answer.status, answer.json["code"]
                needed = "publish" if name in PUBLICATIONS | {"revert"} else "write"
                expected[scope, name] = (409, "STATE") if scope == needed else (403, "TOKEN_SCOPE_MISSING")
                if name in REVIEWS and scope == "write":
                    expected[scope, name] = 403, "SESSION_REQUIRED"
        assert found == expected

    def test_token_of_another_project_takes_no_step(self, team: Team) -> None:
        name = team.owner.get(f"/project/{team.project}").ok()["repository"]
        team.repo.git("branch", "other")
        other = team.owner.new_project(team.organization, name, branch="other")
        made = in_state(team, "closed", 1)
        who = program(team.editor, *SCOPES, projects=[other])
        assert {name: send(who, made).status for name, (send, _) in STEPS.items()} == dict.fromkeys(STEPS, 403)
