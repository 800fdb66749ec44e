"""Execution of the authorization table through the test client."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from flask import Flask
from werkzeug.test import TestResponse

from app.core.limits import SessionLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import Session
from tests.contract.expected import Expected, expected, fits
from tests.contract.limited_table import LIMITED_CALLERS, limited_cells
from tests.contract.requests import DOUBLES, SPOILS, Key, arguments, ids_of
from tests.contract.scene import Scene
from tests.contract.served import served
from tests.contract.specification import CALLERS
from tests.resources.bucket.uploads import upload
from tests.support.world import Browser, World

VARIABLE = re.compile(r":([A-Za-z_]+)")
KINDS = {
    "org_id": "org",
    "orgId": "org",
    "projectId": "prj",
    "project_id": "prj",
    "userId": "usr",
    "id": "usr",
    "subscriptionId": "sub",
    "delivery_id": "dlv",
    "change_set_id": "chg",
    "comment_id": "cmt",
    "build_id": "bld",
    "link_id": "rvl",
    "key": "",
}
GHOST = "7zzzzzzzzzzzzzzzzzzzzzzzzz"
BODY_IDS = {
    ("POST", "/project/create"): "org_id",
    ("POST", "/git-provider/repositories"): "org_id",
    ("POST", "/provider/repositories"): "org_id",
}
AGE = timedelta(seconds=SessionLimits.fresh_s + 1)
UNVERSIONED = ("/healthz", "/readyz", "/metrics", "/media/")


@dataclass
class Tally:
    """The number of checked cells and the differences."""

    checked: int = 0
    wrong: list[str] = field(default_factory=list)

    def note(self, label: str, status: int, cell: str) -> None:
        self.checked += 1
        if not fits(status, cell):
            self.wrong.append(f"{label}: want {cell}, got {status}")


class Matrix:
    """The table with a scene. Without `whole` no index and no image is created, which saves time."""

    def __init__(self, app: Flask, source: Path, *, whole: bool = True) -> None:
        self.app, self.source = app, source
        self.scene = Scene(app, source)
        if whole:
            World(app).work_off()
            self.scene.served_key = upload(self.scene.owner).ok(201)["key"]
        routes = served(app)
        self.rows = [row for row in expected() if row.route in routes]

    def cells(
        self, rows: Iterable[Expected] | None = None, callers: Iterable[str] = (*CALLERS, *LIMITED_CALLERS)
    ) -> Tally:
        """Call every endpoint as every caller."""
        tally, callers = Tally(), tuple(callers)
        for row in self.rows if rows is None else rows:
            cells = row.cells | limited_cells(row)
            for name in callers:
                cell = "400" if row.empty_body and cells[name] in ("200", "2xx") else cells[name]
                status = self._status(row, name, passes=fits(200, cell))
                tally.note(f"{row.method} {row.path} as {name}", status, cell)
        return tally

    def unknown_ids(self, rows: Iterable[Expected] | None = None) -> Tally:
        """Send unknown and malformed ids in every path. Expect 404, and 401 without a session."""
        tally = Tally()
        for row in self.rows if rows is None else rows:
            key = (row.method, row.path)
            named = [name for name in VARIABLE.findall(row.path) if name in KINDS]
            for name in named if row.cells["anonymous"] == "401" else []:
                for value in _strange_ids(name):
                    for who, cell in (("anonymous", "401"), ("nonmember", "404"), ("owner", "404")):
                        status = self._send(self.scene, key, self.scene.caller(who), {name: value})
                        tally.note(f"{row.method} {row.path} with {name}={value!r} as {who}", status, cell)
        for (method, path), name in BODY_IDS.items():
            for value, cell in ((f"org_{GHOST}", "404"), ("nonsense", "400"), (f"prj_{GHOST}", "400")):
                request_arguments = arguments(self.scene, (method, path), self.scene.owner)
                request_arguments["json"][name] = value
                status = _send(self.scene.caller("owner"), method, path, request_arguments)
                tally.note(f"{method} {path} with {name}={value!r} in the body", status, cell)
        return tally

    def smuggled_ids(self, rows: Iterable[Expected] | None = None) -> Tally:
        """Send own ids in body, query and headers. They must not open a foreign organization, project or account."""
        tally, scene = Tally(), self.scene
        own = {
            "org_id": scene.org_other,
            "orgId": scene.org_other,
            "organization_id": scene.org_other,
            "project_id": scene.project_other,
            "projectId": scene.project_other,
            "user_id": scene.other.id,
            "userId": scene.other.id,
            "id": scene.other.id,
            "owner": scene.other.id,
        }
        headers = {f"X-{name.replace('_', '-')}": value for name, value in own.items()}
        for row in self.rows if rows is None else rows:
            key = (row.method, row.path)
            if not VARIABLE.search(row.path) or not row.cells["owner_other"].startswith("40"):
                continue
            request_arguments = arguments(scene, key, scene.other)
            request_arguments["query_string"] = request_arguments.get("query_string", {}) | own
            if "json" in request_arguments:
                request_arguments["json"] = request_arguments["json"] | own
            path = filled(row.path, ids_of(scene, key, scene.other))
            status = _send(scene.caller("owner_other"), row.method, path, request_arguments | {"headers": headers})
            tally.note(f"{row.method} {row.path} with own ids beside it", status, row.cells["owner_other"])
        return tally

    def old_sessions(self, recent: Collection[Key]) -> Tally:
        """Call every endpoint as the owner, whose last proof of the identity is `AGE` old."""
        tally = Tally()
        for row in self.rows:
            key = (row.method, row.path)
            scene, who = self._caller(row, "owner", passes=fits(200, row.cells["owner"]))
            path = filled(row.path, ids_of(scene, key, who))
            request_arguments = arguments(scene, key, who)
            with self.app.app_context():
                old = {"created_at": utcnow_ms() - AGE, "reauthenticated_at": None}
                db.session.execute(sa.update(Session).where(Session.user_id == who.id).values(old))
                db.session.commit()
            response = opened(who, row.method, path, request_arguments)
            code = (response.get_json(silent=True) or {}) if response.is_json else {}
            is_refused = isinstance(code, dict) and code.get("code") == "REAUTH_REQUIRED"
            tally.checked += 1
            if is_refused != (key in recent):
                tally.wrong.append(f"{row.method} {row.path}: {response.status_code}")
        return tally

    def _status(self, row: Expected, name: str, *, passes: bool) -> int:
        key = (row.method, row.path)
        scene, who = self._caller(row, name, passes=passes)
        if key == ("DELETE", "/user/delete/:id") and passes and name == "owner":
            who = scene.double(name)
            return self._send(scene, key, who, {"id": getattr(who, "id", "")})
        return self._send(scene, key, who, {})

    def _caller(self, row: Expected, name: str, *, passes: bool) -> tuple[Scene, Browser]:
        """Return the scene and the caller of a request. A request that changes the scene has its own."""
        key = (row.method, row.path)
        scene = Scene(self.app, self.source) if passes and key in SPOILS else self.scene
        return scene, scene.double(name) if key in DOUBLES else scene.caller(name)

    @staticmethod
    def _send(scene: Scene, key: Key, who: Browser, replaced: dict[str, str]) -> int:
        path = filled(key[1], ids_of(scene, key, who) | replaced)
        return _send(who, key[0], path, arguments(scene, key, who))


def opened(who: Browser, method: str, path: str, given: dict[str, Any]) -> TestResponse:
    """Send one request and return the response."""
    path = path.partition("#")[0]
    bare = path == "/" or path.startswith(("/api/", *UNVERSIONED))
    response = who.client.open(path if bare else f"/api/v1{path}", method=method, **given)
    response.get_data()
    response.close()
    return response


def _send(who: Browser, method: str, path: str, given: dict[str, Any]) -> int:
    return opened(who, method, path, given).status_code


def filled(path: str, ids: dict[str, str]) -> str:
    """Return the path with ids in place of its variables."""
    return VARIABLE.sub(lambda match: ids.get(match[1], "1"), path)


def _strange_ids(name: str) -> tuple[str, ...]:
    prefix = KINDS[name]
    if not prefix:
        return ("orgs/unknown.png", "nonsense")
    return (f"{prefix}_{GHOST}", "nonsense", f"xyz_{GHOST}", f"{prefix}_{GHOST.upper()}", f"{prefix}_%00")
