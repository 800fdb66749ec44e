"""Tests of saves on a branch that other commits move."""

import pytest

from app.resources.project_content import commit_builder
from tests.support.doubles.server import Fault
from tests.support.git_hosts import Hosts, connect_github, login_of, new_project
from tests.support.world import World


def test_save_on_a_moving_branch_after_the_deadline_returns_branch_busy(
    world: World, hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_builder, "DEADLINE_S", 0.0)
    me = world.person()
    site = hosts.on_github(login_of(me))
    connect_github(me, hosts, site.installation)
    project = new_project(me, me.new_organization(), "github", site.name)
    world.work_off()
    moves = "PATCH .*/git/refs/heads/main$"
    hosts.github.faults.append(Fault(moves, times=99, first=lambda: site.git.commit({"other.md": b"x"}, "Theirs")))
    file = {"path": "new.md", "action": "create", "content": "x"}
    body = {"message": "Mine", "base_sha": site.git.head(), "files": [file]}
    me.post(f"/project-content/{project}/commit", body).fails(409, "BRANCH_BUSY")
    assert len(hosts.github.calls(moves)) == 1
    assert "Mine" not in site.git.text("log", "--format=%s", "main")
    hosts.github.faults.clear()
    me.post(f"/project-content/{project}/commit", body).ok(201)
