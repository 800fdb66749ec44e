"""Tests that changed permissions apply to the next request."""

from pathlib import Path

import pytest
from flask import Flask

from app.core.permissions import Role
from app.extensions import db
from app.models.organization import Membership
from app.models.user import User
from tests.contract.scene import Scene, template

READS = (
    "/organization/{org}",
    "/project/{project}",
    "/project/orgs/{org}",
    "/project/{project}/branches",
    "/project-preview/{project}",
    "/project-content/{project}",
    "/project-log/{project}",
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(Path(tmp_path_factory.mktemp("template"), "site.git"))


@pytest.fixture
def scene(app: Flask, source: Path) -> Scene:
    return Scene(app, source)


def _reads(scene: Scene, name: str) -> set[int]:
    """Return the statuses of every read request of a member."""
    who, ids = scene.people[name], {"org": scene.org, "project": scene.project}
    return {who.get(path.format(**ids)).status for path in READS}


class TestNextRequest:
    def test_changed_role_changes_the_permissions(self, scene: Scene) -> None:
        change = f"/organization/update-role/{scene.org}"
        rename = (f"/project/{scene.project}", {"project_name": "Renamed"})
        editor, admin = scene.people["editor"], scene.people["admin"]
        editor.patch(*rename).fails(403)
        scene.owner.patch(change, {"member_id": editor.id, "role": "admin"}).ok()
        editor.patch(*rename).ok()
        scene.owner.patch(change, {"member_id": admin.id, "role": "editor"}).ok()
        admin.patch(*rename).fails(403)
        admin.patch(change, {"member_id": editor.id, "role": "editor"}).fails(403)

    def test_removed_member_reads_return_403(self, scene: Scene) -> None:
        assert _reads(scene, "editor") == {200}
        editor = scene.people["editor"]
        scene.owner.patch(f"/organization/remove-member/{scene.org}", {"member_id": editor.id}).ok()
        assert _reads(scene, "editor") == {403}
        assert scene.org not in [one["org_id"] for one in editor.get("/organization/user").ok()]

    def test_former_member_reads_return_403(self, scene: Scene) -> None:
        scene.people["admin"].patch(f"/organization/leave/{scene.org}").ok()
        assert _reads(scene, "admin") == {403}

    def test_new_member_reads_return_200(self, scene: Scene) -> None:
        body = {"email": scene.people["nonmember"].email, "role": "editor"}
        assert _reads(scene, "nonmember") == {403}
        scene.people["admin"].patch(f"/organization/member/{scene.org}", body).ok()
        assert _reads(scene, "nonmember") == {200}

    def test_ended_session_returns_401(self, scene: Scene) -> None:
        editor = scene.people["editor"]
        editor.again().post("/auth/sign-out", {}).ok()
        assert _reads(scene, "editor") == {401}

    def test_archived_organization_is_readable_and_returns_409_for_writes(self, scene: Scene) -> None:
        status = f"/organization/status/{scene.org}"
        scene.owner.patch(status, {"status": "archived"}).ok()
        assert _reads(scene, "editor") == {200}
        scene.owner.patch(f"/project/{scene.project}", {"project_name": "X"}).fails(409, "ARCHIVED")
        scene.people["editor"].put(f"/project-preview/{scene.project}", {}).fails(409, "ARCHIVED")
        scene.owner.patch(status, {"status": "active"}).ok()
        scene.owner.patch(f"/project/{scene.project}", {"project_name": "X"}).ok()

    def test_archived_project_returns_409_for_writes(self, scene: Scene) -> None:
        scene.owner.patch(f"/project/status/{scene.project}", {"status": "archived"}).ok()
        scene.owner.patch(f"/project/visibility/{scene.project}", {"visibility": "public"}).fails(409, "ARCHIVED")

    def test_moved_project_is_readable_by_the_new_organization_only(self, app: Flask, scene: Scene) -> None:
        newcomer, editor = scene.people["nonmember"], scene.people["editor"]
        with app.app_context():
            db.session.add(Membership(organization_id=scene.org2, user_id=newcomer.id, role=Role.EDITOR))
            db.session.commit()
        editor.get(f"/project/{scene.project}").ok()
        newcomer.get(f"/project/{scene.project}").fails(403)
        scene.owner.patch(f"/project/move/{scene.org2}/{scene.project}").ok()
        editor.get(f"/project/{scene.project}").fails(403)
        newcomer.get(f"/project/{scene.project}").ok()

    def test_previous_owner_returns_403_after_a_transfer(self, scene: Scene) -> None:
        scene.owner.post(f"/organization/transfer/{scene.org}", {"member_id": scene.extra.id}).ok()
        scene.owner.delete(f"/organization/{scene.org}").fails(403)
        scene.owner.patch(f"/project/move/{scene.org2}/{scene.project}").fails(403)
        scene.extra.delete(f"/organization/{scene.org}").ok()

    def test_deleted_organization_returns_404_for_its_projects(self, scene: Scene) -> None:
        scene.owner.delete(f"/organization/{scene.org}").ok()
        assert _reads(scene, "editor") == {404}

    def test_removed_admin_flag_returns_403(self, app: Flask, scene: Scene) -> None:
        admin, path = scene.people["platform_admin"], f"/project/user/{scene.owner.id}"
        admin.get(path).ok()
        with app.app_context():
            db.session.get_one(User, admin.id).is_admin = False
            db.session.commit()
        admin.get(path).fails(403)
