"""Every route, called by members who have no second factor although their organization requires it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.api_tokens import TokenScope
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import Session
from app.models.organization import Organization
from tests.contract.matrix import Matrix, filled, opened
from tests.contract.requests import DOUBLES, SPOILS, arguments, ids_of
from tests.contract.scene import Scene, template
from tests.support.world import Browser, World

pytestmark = [pytest.mark.slow]

CODE = "SECOND_FACTOR_REQUIRED"
EXEMPT = {
    ("GET", "/auth/get-session"),
    ("POST", "/auth/reauthenticate"),
    ("PATCH", "/organization/leave/:org_id"),
    *(("POST", f"/auth/two-factor/{name}") for name in ("enable", "disable", "get-totp-uri", "generate-backup-codes")),
    ("GET", "/auth/two-factor/trusted-devices"),
    ("POST", "/auth/two-factor/revoke-trusted-device"),
    *(("GET", f"/auth/passkey/{name}") for name in ("generate-register-options", "list-user-passkeys")),
    *(("POST", f"/auth/passkey/{name}") for name in ("verify-registration", "update-passkey", "delete-passkey")),
}
"""The routes with which a member sets up a second factor, or leaves the organization."""


@contextmanager
def required(scene: Scene, *, days: int = -1) -> Iterator[None]:
    """Require a second factor in O, from some days after the present time."""

    def write(moment: object) -> None:
        with scene.app.app_context(), db.engine.begin() as connection:
            change = sa.update(Organization).where(Organization.id == scene.org)
            connection.execute(change.values(second_factor_from=moment))

    write(utcnow_ms() + timedelta(days=days))
    yield
    write(None)


def is_refused(who: Browser, method: str, path: str, values: dict[str, object]) -> bool:
    """Send a request and return whether the second factor is missing."""
    response = opened(who, method, path, values)
    body = response.get_json(silent=True)
    is_missing = isinstance(body, dict) and body.get("code") == CODE
    assert not is_missing or response.status_code == 403
    return is_missing


@pytest.fixture
def matrix(app: Flask, tmp_path: Path) -> Matrix:
    return Matrix(app, template(tmp_path / "site.git"), whole=False)


class TestRequirement:
    def test_members_without_a_factor_reach_only_the_set_up(self, matrix: Matrix) -> None:
        scene, wrong, checked = matrix.scene, [], 0
        scene.served_key = "orgs/unknown.png"
        for row in matrix.rows:
            key = (row.method, row.path)
            for name in ("editor", "owner"):
                who = scene.caller(name)
                path, values = filled(row.path, ids_of(scene, key, who)), arguments(scene, key, who)
                must_refuse = not row.words.startswith("public") and row.route not in EXEMPT
                if not must_refuse and key in SPOILS | DOUBLES:
                    continue
                with required(scene):
                    refused = is_refused(who, row.method, path, values)
                checked += 1
                if refused != must_refuse:
                    wrong.append(f"{row.method} {row.path} as {name}")
        print(f"\ncells checked {checked}, wrong {len(wrong)}")
        assert wrong == []

    def test_api_tokens_of_members_without_a_factor_are_refused(self, matrix: Matrix) -> None:
        scene = matrix.scene
        secret = scene.token(*TokenScope, of="owner").secret
        for owned in (scene.org, scene.org2):
            headers = {"Authorization": f"Bearer {secret}"}
            who = Browser(scene.app)
            with required(scene):
                who.get(f"/organization/{owned}", headers=headers).fails(403, CODE)
            who.get(f"/organization/{owned}", headers=headers).ok()

    def test_session_with_a_proved_factor_reaches_all(self, matrix: Matrix) -> None:
        scene = matrix.scene
        with scene.app.app_context(), db.engine.begin() as connection:
            proved = sa.update(Session).where(Session.user_id == scene.owner.id)
            connection.execute(proved.values(second_factor_at=utcnow_ms()))
        with required(scene):
            scene.owner.get(f"/organization/{scene.org}").ok()
            scene.people["editor"].get(f"/organization/{scene.org}").fails(403, CODE)
            scene.people["nonmember"].get("/organization/user").ok()
            scene.other.get(f"/organization/{scene.org_other}").ok()

    def test_requirement_applies_from_its_day(self, matrix: Matrix) -> None:
        with required(matrix.scene, days=1):
            matrix.scene.owner.get(f"/organization/{matrix.scene.org}").ok()

    def test_member_can_leave_instead(self, matrix: Matrix, world: World) -> None:
        scene = matrix.scene
        with required(scene):
            scene.extra.get("/organization/user").fails(403, CODE)
            scene.extra.call("PATCH", f"/organization/leave/{scene.org}").ok()
            scene.extra.get("/organization/user").ok()
