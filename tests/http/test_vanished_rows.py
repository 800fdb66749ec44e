"""Tests of writes while the account, project or asset is deleted between two statements. No response is a 5xx."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import sqlalchemy as sa

from app.core.clock import now
from app.core.permissions import Role
from app.extensions import db
from app.models.media import MediaAsset
from app.models.project import LocalRepository
from app.models.user import User
from app.security.passwords import hash_password
from tests.support.factories import organization, project, repository
from tests.support.interleaving import before_statement, deletion
from tests.support.samples.sites import SMALL
from tests.support.world import Answer, Person, World

pytestmark = pytest.mark.slow

PICTURE = {"mimetype": "image/webp", "size": 1, "width": 1, "height": 1, "hash": "0" * 64}
MAX_STATEMENTS, PASSWORD = 40, "Quiet-Harbour-61"


@dataclass
class Scene:
    """A project, its owner, and a second account with a password that is a member of the organization."""

    owner: Person
    member: Person
    guest: Person
    org: str
    project: str
    repository: str
    asset: str


@dataclass(frozen=True)
class Case:
    """A write, and the row that is deleted."""

    send: Callable[[Scene], Answer]
    table: str
    row: Callable[[Scene], str]


def _set_password(scene: Scene) -> Answer:
    body = {"newPassword": "Another-Harbour-77", "currentPassword": PASSWORD}
    return scene.member.patch("/user/set-password", body)


def _change_password(scene: Scene) -> Answer:
    body = {"newPassword": "Another-Harbour-77", "currentPassword": PASSWORD}
    return scene.member.post("/auth/change-password", body)


def _picture(scene: Scene) -> Answer:
    return scene.member.post("/auth/update-user", {"image": f"users/{scene.member.id}.webp"})


def _keyed(scene: Scene) -> Answer:
    return scene.member.post("/organization", {"org_name": "New"}, headers={"Idempotency-Key": "once"})


def _pre_order(scene: Scene) -> Answer:
    return scene.member.post("/order/pre-order", {"plan": "pro"})


def _preference(scene: Scene) -> Answer:
    return scene.member.patch(f"/user-preference/{scene.member.id}", {"theme": "dark"})


def _sign_in(scene: Scene) -> Answer:
    return (
        World(scene.member.app)
        .anonymous()
        .post("/auth/sign-in/email", {"email": scene.member.email, "password": PASSWORD})
    )


def _log(scene: Scene) -> Answer:
    return scene.member.post(f"/project-log/{scene.project}", {"action": "update", "file": "a.md"})


def _invite(scene: Scene) -> Answer:
    body = {"email": scene.guest.email, "role": "editor"}
    return scene.owner.patch(f"/organization/member/{scene.org}", body)


def _connect(scene: Scene) -> Answer:
    body = {"provider": "local", "repository": scene.repository, "branch": "main"}
    return scene.owner.patch(f"/project/git/{scene.project}", body)


def _preview(scene: Scene) -> Answer:
    return scene.owner.put(f"/project-preview/{scene.project}", {"state": "running"})


def _member(scene: Scene) -> str:
    return scene.member.id


def _guest(scene: Scene) -> str:
    return scene.guest.id


def _asset(scene: Scene) -> str:
    return scene.asset


def _project(scene: Scene) -> str:
    return scene.project


def _owner(scene: Scene) -> str:
    return scene.owner.id


CASES = {
    "set_password": Case(_set_password, "users", _member),
    "change_password": Case(_change_password, "users", _member),
    "picture_account": Case(_picture, "users", _member),
    "picture_asset": Case(_picture, "media_assets", _asset),
    "idempotency_key": Case(_keyed, "users", _member),
    "pre_order": Case(_pre_order, "users", _member),
    "preference": Case(_preference, "users", _member),
    "sign_in": Case(_sign_in, "users", _member),
    "project_log_account": Case(_log, "users", _member),
    "project_log_project": Case(_log, "projects", _project),
    "invite": Case(_invite, "users", _guest),
    "invite_owner": Case(_invite, "users", _owner),
    "connection_project": Case(_connect, "projects", _project),
    "connection_account": Case(_connect, "users", _owner),
    "preview": Case(_preview, "projects", _project),
}


@pytest.fixture
def make_scene(world: World) -> Callable[[], Scene]:
    hashed, (name, _) = hash_password(PASSWORD), repository(world, SMALL)

    def make() -> Scene:
        owner, member, guest = world.person(), world.person(), world.person()
        org = organization(world, owner, (member, Role.EDITOR))
        with world.app.app_context():
            db.session.execute(sa.update(User).where(User.id == member.id).values(password_hash=hashed))
            db.session.execute(sa.delete(LocalRepository).where(LocalRepository.name == name))
            asset = MediaAsset(key=f"users/{member.id}.webp", uploader_id=member.id, stored_at=now(), **PICTURE)
            db.session.add(asset)
            db.session.commit()
            asset_id = asset.id
        return Scene(owner, member, guest, org, project(world, owner, org, name), name, asset_id)

    return make


@pytest.mark.parametrize("name", CASES)
def test_write_row_deleted_at_any_statement_is_refused_as_missing(
    make_scene: Callable[[], Scene], store: str, name: str
) -> None:
    case = CASES[name]
    for position in range(1, MAX_STATEMENTS):
        scene = make_scene()
        with before_statement(scene.owner.app, position, deletion(store, case.table, case.row(scene))) as hook:
            answer = case.send(scene)
        assert answer.status in {200, 201, 400, 401, 403, 404, 422}, (position, answer.json)
        if not hook.has_run:
            break
    else:
        raise AssertionError("the request runs more statements than the test covers")
