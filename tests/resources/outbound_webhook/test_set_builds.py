"""Tests of the event of built change sets: once for the newest build of an open set."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.resources.outbound_webhook.hooks import Hook
from tests.resources.outbound_webhook.set_builds import SetBuild
from tests.support.workspace import Workspace

Make = Callable[..., Hook]


@pytest.fixture
def hooked(hook: Make) -> Hook:
    return hook(events=["change_set.built"])


def events(hooked: Hook) -> list[dict[str, Any]]:
    hooked.run()
    return [orjson.loads(call.body)["data"] for call in hooked.received]


@pytest.mark.parametrize("fails", [False, True])
def test_end_of_a_build_is_published_with_its_address_for_members(
    space: Workspace, hooked: Hook, *, fails: bool
) -> None:
    one = SetBuild.of_new_set(space)
    assert one.end(fails=fails)
    [data] = events(hooked)
    address = f"/console/projects/{space.project}/changes/{one.set_id}/open-site"
    assert data["build"].pop("seconds") >= 0
    assert str(data["build"].pop("url")).endswith("None" if fails else address)
    assert data == {
        "project_id": space.project,
        "sequence": 1,
        "change_set_id": one.set_id,
        "state": "draft",
        "build": {"id": one.build_id, "state": "failed" if fails else "ready", "commit_sha": one.head},
    }


def test_build_that_ended_is_published_once(space: Workspace, hooked: Hook) -> None:
    one = SetBuild.of_new_set(space)
    assert [one.end(), one.end(), one.end(fails=True)] == [True, False, False]
    assert len(events(hooked)) == 1


def test_cancelled_build_is_not_published(space: Workspace, hooked: Hook) -> None:
    one = SetBuild.of_new_set(space)
    cancelled = one.build_id
    one.commit("content/newer.md")
    one.request()
    assert space.me.get(f"/build/{cancelled}").ok()["failure"]["code"] == "SUPERSEDED"
    assert one.end()
    assert [data["build"]["id"] for data in events(hooked)] == [one.build_id]


def test_build_of_an_older_commit_is_not_published(space: Workspace, hooked: Hook) -> None:
    one = SetBuild.of_new_set(space)
    one.commit("content/newer.md")
    assert one.end()
    assert events(hooked) == []


def test_build_of_a_closed_set_is_not_published(space: Workspace, hooked: Hook) -> None:
    one = SetBuild.of_new_set(space)
    space.me.delete(one.path).ok()
    assert one.end()
    assert events(hooked) == []


def test_build_without_a_set_is_not_published(space: Workspace, hooked: Hook) -> None:
    one = SetBuild(space, "", "", space.git.head("main"))
    one.set_id = None  # type: ignore[assignment]
    one.request()
    assert one.end()
    assert events(hooked) == []
