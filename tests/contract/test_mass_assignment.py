"""Tests of mass assignment: every column in every write changes only the declared fields (limits, section 2)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.models.base import Base
from tests.contract.forging import MARK, ROUNDS, Bait, camel, forged, is_forged
from tests.contract.git_requests import WHOLE
from tests.contract.matrix import Matrix, filled, opened
from tests.contract.outside import Outside
from tests.contract.requests import DOUBLES, SPOILS, Key, arguments, ids_of
from tests.contract.scene import Scene, template
from tests.contract.served import served
from tests.contract.specification import EXTENSIONS, SPECIFICATION, UNSIGNED, VARIANTS, Extension
from tests.contract.stored import Changes, changes, read_state
from tests.resources.bucket.uploads import form
from tests.support.applications import application
from tests.support.databases import another_database
from tests.support.samples.pictures import picture
from tests.support.world import Browser

pytestmark = pytest.mark.one_database

WRITES = [
    (row.method, row.path)
    for row in (*SPECIFICATION, *EXTENSIONS, *VARIANTS)
    if row.method != "GET" and not (isinstance(row, Extension) and row.cells == UNSIGNED)
]
SEEN = {("update", "sessions", name, None) for name in ("last_seen_at", "idle_expires_at", "updated_at")} | {
    ("update", "git_credentials", column.name, None)
    for column in Base.metadata.tables["git_credentials"].columns
    if column.name.endswith("expires_at")
}
"""Columns that change in any request, or when a second has passed."""
FIELDS = 8
"""The number of additional fields in a form."""
ABOUT_IMAGES = {
    spelling
    for name in ("users", "organizations", "projects", "media_assets", "media_uploads")
    for column in Base.metadata.tables[name].columns
    for spelling in (column.name, camel(column.name))
}
"""The fields of a form attempt. Each attempt decodes an image, so several fields are sent at a time."""


@pytest.fixture(scope="module")
def app(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Build an application for this module, whose stored state can be compared."""
    home = tmp_path_factory.mktemp("forging")
    with (
        Outside() as outside,
        another_database(store, home) as url,
        application(outside.settings(url, home)) as flask_app,
    ):
        flask_app.extensions["outside"] = outside
        yield flask_app


@pytest.fixture(scope="module")
def matrix(app: Flask, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return Matrix(app, template(Path(tmp_path_factory.mktemp("template"), "site.git")))


@pytest.fixture(scope="module")
def bait(matrix: Matrix) -> Bait:
    """Create objects of another user that the forged ids name."""
    scene = matrix.scene
    return {
        "users": scene.people["nonmember"].id,
        "organizations": scene.org_other,
        "projects": scene.project_other,
        "media_assets": scene.asset("owner_other"),
    }


class TestForgedColumns:
    @pytest.mark.parametrize("key", WRITES, ids=" ".join)
    def test_forged_columns_do_not_change_stored_values(self, app: Flask, matrix: Matrix, bait: Bait, key: Key) -> None:
        taken = _names(app, key)
        honest = [_changes_of(matrix, key, {}) for _ in range(2)]
        assert {status // 100 for status, _, _ in honest} <= {2, 3}
        for extra in _extras(key, bait):
            smuggled = {name: value for name, value in extra.items() if name not in taken}
            status, text, done = _changes_of(matrix, key, smuggled)
            assert status in {status for status, _, _ in honest} | {400}, text
            assert [each for each in done.values if is_forged(each[2], bait)] == []
            assert done.kinds - (honest[0][2].kinds | honest[1][2].kinds) - SEEN == set()
            assert MARK not in text


def _names(app: Flask, key: Key) -> set[str]:
    """Return the field names that the write declares, with the values of a valid body."""
    declared = served(app)[key[0], key[1].partition("#")[0]].declared.body_schema
    fields = declared().load_fields if declared is not None else {}
    return {field.data_key or name for name, field in fields.items()}


def _extras(key: Key, bait: Bait) -> Iterator[dict[str, Any]]:
    for number in range(ROUNDS):
        for one in forged(bait, number):
            if not key[1].startswith("/bucket/upload"):
                yield one
            elif number == 0:
                names = sorted(set(one) & ABOUT_IMAGES)
                for start in range(0, len(names), FIELDS):
                    yield {name: str(one[name]) for name in names[start : start + FIELDS]}


def _changes_of(matrix: Matrix, key: Key, extra: dict[str, Any]) -> tuple[int, str, Changes]:
    """Return the status, the body and the changes of a valid request with additional fields."""
    scene = Scene(matrix.app, matrix.source) if key in SPOILS else matrix.scene
    goes = key == ("DELETE", "/user/delete/:id")
    name = "editor" if key[1].startswith("/organization/leave/") else "owner"
    who: Browser = scene.double(name) if key in DOUBLES or goes else scene.caller(name)
    ids = ids_of(scene, key, who) | ({"id": getattr(who, "id", "")} if goes else {})
    whole = {"json": WHOLE[key](scene, who)} if key in WHOLE else arguments(scene, key, who)
    given = _with(whole, extra)
    before = read_state(matrix.app)
    response = opened(who, key[0], filled(key[1], ids), given)
    return response.status_code, response.get_data(as_text=True), changes(matrix.app, before, read_state(matrix.app))


def _with(given: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    if "json" not in given:
        return form(picture(), **extra) if extra else given
    body = extra | given["json"]
    if "files" in given["json"]:
        body["files"] = [extra | one for one in given["json"]["files"]]
    return given | {"json": body}
