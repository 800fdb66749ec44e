"""Saving on a branch that others keep moving."""

import pytest

from app.resources.project_content import commits
from tests.doubles.server import Fault
from tests.git_hosts import Hosts, connect_github, login_of, new_project
from tests.world import World


def test_whoever_saves_on_a_branch_that_never_rests_is_told_in_time(
    world: World, hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "PATIENCE_S", 0.0)
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
