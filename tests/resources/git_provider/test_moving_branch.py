"""A save on a branch that moves with every attempt."""

import pytest

from app.core.errors import Conflict
from app.database import transactions
from app.drivers.git.port import Action, FileChange
from app.extensions import db, drivers
from app.models.project import Project
from app.resources.project_content.save_request import FileEdit, SaveRequest
from app.resources.project_content.saving.commit_builder import write
from app.resources.project_content.source import source_of
from tests.support.doubles.server import Fault
from tests.support.git_hosts import Hosts, connect_github, login_of, new_project
from tests.support.world import World

pytestmark = pytest.mark.slow


def test_save_on_a_moving_branch_after_the_deadline_returns_branch_busy(world: World, hosts: Hosts) -> None:
    me = world.person()
    site = hosts.on_github(login_of(me))
    connect_github(me, hosts, site.installation)
    project = new_project(me, me.new_organization(), "github", site.name)
    world.work_off()
    moves = "PATCH .*/git/refs/heads/main$"
    hosts.github.faults.append(Fault(moves, times=99, first=lambda: site.git.commit({"other.md": b"x"}, "Theirs")))
    save = SaveRequest(site.git.head(), [FileEdit(FileChange("new.md", Action.CREATE, b"x"))], "Mine")
    with world.app.app_context():
        transactions.start_reading()
        source = source_of(db.session.get_one(Project, project), drivers.git)
        transactions.release_connection()
        with pytest.raises(Conflict) as conflict:
            write(source, save, deadline_s=0)
    assert conflict.value.code == "BRANCH_BUSY"
    assert len(hosts.github.calls(moves)) == 1
    assert "Mine" not in site.git.text("log", "--format=%s", "main")
    hosts.github.faults.clear()
    file = {"path": "new.md", "action": "create", "content": "x"}
    body = {"message": "Mine", "base_sha": save.base_sha, "files": [file]}
    me.post(f"/project-content/{project}/commit", body).ok(201)
