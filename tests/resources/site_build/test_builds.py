"""Tests of builds: requests, the jobs that build in a real jail and store the output, and the built site."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.core.limits import MIB
from app.database import transactions
from app.drivers.sandbox.none import NoSandboxes
from app.drivers.storage.s3 import S3Store
from app.extensions import db, drivers
from app.models.project import Project
from app.models.site_build import BuildState, SiteBuild, SiteBuildFile
from app.resources.site_build import jobs, service
from tests.preview_proxy.test_middleware import Window
from tests.resources.sandbox.conftest import PreviewSite, make_site
from tests.support.servers.s3 import BUCKET, S3Server
from tests.support.world import Person, World

pytestmark = pytest.mark.slow

MAX_POLLS = 1_000
SCRIPT = b"""
import os, pathlib, sys
out = pathlib.Path("out"); out.mkdir()
for path in pathlib.Path("pages").iterdir():
    (out / path.name).write_text(path.read_text())
(out / "style.css").write_text("body{}")
(out / "address.txt").write_text(f"{sys.argv[1]} {os.environ.get('PORT')}")
"""
GALLEY = b'preview:\n  command: [python3, -m, http.server]\n  build: [python3, build.py, "{url}"]\n  output: out\n'
FILES = {
    ".galley.yml": GALLEY,
    "build.py": SCRIPT,
    "pages/index.html": b"<h1>Home</h1>",
    "pages/about.html": b"<a href='https://www.example.org/x'>About</a>",
}


class Builds:
    """The builds of a site."""

    def __init__(self, site: PreviewSite) -> None:
        self.site, self.world = site, site.world
        self.path = f"/project/{site.project}/builds"

    def request(self, by: Person | None = None, **body: Any) -> Any:
        return (by or self.site.owner).post(self.path, body or {"commit_sha": self.site.repo.head()})

    def advance(self) -> None:
        with transactions.reading_context(self.world.app):
            jobs.advance(sandbox=drivers.sandbox)
        self.world.work_off()

    def state(self, build_id: str) -> str:
        self.advance()
        return str(self.site.owner.get(f"/build/{build_id}").ok()["state"])

    def finished(self, build_id: str) -> dict[str, Any]:
        for _ in range(MAX_POLLS):
            if self.state(build_id) in ("ready", "failed"):
                break
            time.sleep(0.1)
        result: dict[str, Any] = self.site.owner.get(f"/build/{build_id}").ok()
        return result

    def built(self) -> dict[str, Any]:
        result = self.finished(self.request().ok(200, 201)["id"])
        assert result["state"] == "ready", result
        return result

    def objects(self) -> list[str]:
        with self.world.app.app_context():
            return [stored.key for stored in drivers.storage.list(f"builds/{self.site.project}/")]


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(params=["local", pytest.param("s3", marks=[pytest.mark.server, pytest.mark.one_database])])
def storage(request: pytest.FixtureRequest, app: Flask, monkeypatch: pytest.MonkeyPatch) -> str:
    """Store the files of builds in the instance folder, or in a bucket."""
    if request.param == "s3":
        server: S3Server = request.getfixturevalue("bucket")
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        in_bucket = replace(app.extensions["drivers"], storage=S3Store(BUCKET, endpoint_url=server.url))
        monkeypatch.setitem(app.extensions, "drivers", in_bucket)
    return str(request.param)


@pytest.fixture
def builds(world: World, stop_sandboxes: None) -> Builds:
    return Builds(make_site(world, dict(FILES)))


def test_commit_is_built_stored_and_served_to_members(builds: Builds) -> None:
    new = builds.request().ok(201)
    assert (new["state"], new["url"], new["commit_sha"]) == ("waiting", None, builds.site.repo.head())
    build = builds.finished(new["id"])
    assert (build["state"], build["files"], build["stored_files"]) == ("ready", 4, 4)
    assert build["seconds"] > 0
    assert builds.site.held() == [], "the sandbox is stopped"
    window = Window(builds.world.app, {"previewUrl": build["url"]})
    assert window.get("/").status_code == 403
    window.enter()
    response = window.get("/")
    assert (response.status_code, response.text) == (200, "<h1>Home</h1>")
    assert response.headers["X-Robots-Tag"] == "noindex"
    assert window.get("/about").text.startswith("<a ")
    assert window.get("/address.txt").text == f"{build['url'].partition('?')[0]} None", "a build has no port"


def test_second_request_returns_the_same_build(builds: Builds) -> None:
    first = builds.request().ok(201)
    assert builds.request(builds.site.editor).ok(200)["id"] == first["id"]
    builds.finished(first["id"])
    assert builds.request().ok(200)["id"] == first["id"]


def test_second_build_stores_the_differences(builds: Builds) -> None:
    builds.built()
    builds.site.repo.commit({"pages/index.html": b"<h1>New</h1>"})
    second = builds.built()
    assert (second["files"], second["stored_files"]) == (4, 1)
    assert len(builds.objects()) == 5


def test_deletion_removes_the_objects_that_no_build_has(
    builds: Builds, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = builds.built()
    builds.site.repo.commit({"pages/index.html": b"<h1>New</h1>"})
    second = builds.built()
    assert (second["stored_files"], len(builds.objects())) == (1, second["files"] + 1)
    builds.site.owner.delete(f"/build/{first['id']}").ok()
    builds.world.work_off()
    assert len(builds.objects()) == 4
    window = Window(builds.world.app, {"previewUrl": second["url"]})
    window.enter()
    page = window.get("/")
    assert page.text == "<h1>New</h1>"
    assert window.get("/", headers={"If-None-Match": page.headers["ETag"]}).status_code == 304
    part = window.get("/style.css", headers={"Range": "bytes=1-4"})
    assert (part.status_code, part.data, part.headers["Content-Range"]) == (206, b"ody{", "bytes 1-4/6")
    builds.site.owner.delete(f"/project/{builds.site.project}").ok()
    builds.world.work_off()
    assert builds.objects() == []
    if storage == "s3":  # Other tests share the folder. Their files are missing in the bucket.
        tomorrow = clock.now() + timedelta(days=2)
        monkeypatch.setattr(clock, "now", lambda: tomorrow)
        told = builds.world.app.test_cli_runner().invoke(args=["storage", "verify"]).output
        assert told.startswith("0 objects, 0 without a row, "), told


def test_failed_build_reports_the_log(builds: Builds) -> None:
    builds.site.repo.commit({"build.py": b"print('no template'); raise SystemExit(4)"})
    build = builds.finished(builds.request().ok(201)["id"])
    assert build["failure"]["code"] == "BUILD_FAILED"
    assert build["failure"]["step"] == "Building"
    assert "no template" in build["failure"]["log_tail"]
    assert builds.request().ok(201)["id"] != build["id"], "a failed commit can be built again"


def test_site_that_needs_a_server_has_no_build(builds: Builds) -> None:
    builds.site.repo.commit({".galley.yml": b"preview:\n  command: [python3, -m, http.server]\n"})
    build = builds.finished(builds.request().ok(201)["id"])
    assert build["failure"]["code"] == "NO_STATIC_OUTPUT"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "commit_sha"),
        ({"commit_sha": "main"}, "commit_sha"),
        ({"commit_sha": "0" * 40, "change_set_id": "chg_01j00000000000000000000000"}, "commit_sha"),
        ({"change_set_id": "7"}, "change_set_id"),
    ],
)
def test_invalid_body_is_refused_at_the_field(builds: Builds, body: dict[str, Any], field: str) -> None:
    answer = builds.site.owner.post(builds.path, body)
    answer.fails(400, "VALIDATION_FAILED")
    assert field in str(answer.json["errorMessage"])


def test_unknown_commit_and_change_set_are_not_found(builds: Builds) -> None:
    builds.request(commit_sha="0" * 40).fails(404, "NOT_FOUND")
    builds.request(change_set_id="chg_01j00000000000000000000000").fails(404, "NOT_FOUND")


def test_installation_without_sandboxes_refuses_with_the_reason(
    builds: Builds, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = replace(app.extensions["drivers"], sandbox=NoSandboxes())
    monkeypatch.setitem(app.extensions, "drivers", without)
    builds.request().fails(503, "SANDBOX_UNAVAILABLE")


def test_full_storage_is_refused_with_used_and_limit(builds: Builds) -> None:
    build = builds.built()
    with builds.world.app.app_context():
        db.session.execute(sa.update(SiteBuildFile).values(size=6 * 1024 * MIB))
        db.session.commit()
    builds.site.repo.commit({"pages/index.html": b"<h1>New</h1>"})
    answer = builds.request()
    answer.fails(409, "STORAGE_LIMIT")
    assert answer.json["result"]["limit"] == 5120 * MIB
    assert answer.json["result"]["used"] >= 5120 * MIB
    assert build["files"] == 4


def test_expired_build_keeps_its_row_and_loses_its_files(builds: Builds, app: Flask) -> None:
    build = builds.built()
    with app.app_context():
        db.session.execute(sa.update(SiteBuild).values(expires_at=clock.now() - timedelta(days=1)))
        db.session.commit()
    with transactions.reading_context(app):
        jobs.expire()
    builds.world.work_off()
    assert builds.site.owner.get(f"/build/{build['id']}").ok()["state"] == "expired"
    assert builds.objects() == []
    window = Window(app, {"previewUrl": build["url"]})
    window.enter()
    assert window.get("/").status_code == 410


def test_claim_respects_the_node_and_the_organization(builds: Builds, app: Flask) -> None:
    ids = []
    for number in range(3):
        builds.site.repo.commit({"pages/index.html": b"%d" % number})
        ids.append(builds.request().ok(201)["id"])
    limits = app.config["SETTINGS"].limits.builds

    def claim(build_id: str, node: str, processes: int) -> int | None:
        with transactions.reading_context(app), transactions.write_transaction():
            return service.claim(build_id, node=node, processes=processes, limits=limits)

    assert claim(ids[0], "a", 1) == 1
    assert claim(ids[1], "a", 1) is None, "the node is busy"
    assert claim(ids[1], "b", 1) == 1
    assert claim(ids[2], "c", 1) is None, "the organization has two builds"
    assert claim(ids[0], "a", 1) == 2, "a claim without a sandbox is repeated by its job"
    with app.app_context():
        assert db.session.get_one(SiteBuild, ids[2]).state is BuildState.WAITING


def test_next_builds_are_of_different_organizations(builds: Builds, world: World, app: Flask) -> None:
    other = Builds(make_site(world, dict(FILES)))
    own = []
    for number in range(3):
        builds.site.repo.commit({"pages/index.html": b"%d" % number})
        own.append(builds.request().ok(201)["id"])
    foreign = other.request().ok(201)["id"]
    ids = {*own, foreign}
    with app.app_context():
        assert [build_id for build_id in service.next_waiting(limit=50) if build_id in ids] == [own[0], foreign]
        build = db.session.get_one(SiteBuild, own[0])
        build.state, build.started_at = BuildState.FAILED, clock.now()
        db.session.commit()
        assert [build_id for build_id in service.next_waiting(limit=50) if build_id in ids] == [foreign, own[1]]


def test_node_without_sandboxes_leaves_a_build_to_another_node(builds: Builds, app: Flask) -> None:
    build = builds.request().ok(201)
    with transactions.reading_context(app):
        jobs.start(build_id=build["id"], git=drivers.git, sandbox=NoSandboxes())
    assert builds.site.owner.get(f"/build/{build['id']}").ok()["state"] == "waiting"


def test_submitted_change_set_is_built_with_its_base(builds: Builds) -> None:
    owner, project = builds.site.owner, builds.site.project
    change_set = owner.post(f"/project/{project}/change-sets", {"title": "Home"}).ok(201)
    file = {"path": "pages/index.html", "action": "update", "content": "<h1>Set</h1>"}
    path = f"/change-set/{change_set['id']}"
    owner.post(f"{path}/commit", {"message": "Home", "base_sha": builds.site.repo.head(), "files": [file]}).ok(201)
    builds.world.work_off()
    assert owner.get(builds.path).ok() == [], "a draft is not built"
    submitted = owner.post(f"{path}/submit", {}).ok()
    builds.world.work_off()
    listed = owner.get(builds.path).ok()
    assert {build["commit_sha"] for build in listed} == {submitted["head_sha"], submitted["base_sha"]}
    head = next(build for build in listed if build["commit_sha"] == submitted["head_sha"])
    assert head["change_set_id"] == change_set["id"]


def test_draft_with_a_review_link_is_built(builds: Builds) -> None:
    owner = builds.site.owner
    created = owner.post(f"/project/{builds.site.project}/change-sets", {"title": "Home"}).ok(201)
    path, base = f"/change-set/{created['id']}", builds.site.repo.head()
    link = owner.post(f"{path}/review-links", {}).ok(201)
    heads = [base]
    for text in ("<h1>First</h1>", "<h1>Second</h1>"):
        file = {"path": "pages/index.html", "action": "update", "content": text}
        body = {"message": text, "base_sha": heads[-1], "files": [file]}
        heads.append(owner.post(f"{path}/commit", body).ok(201)["commit_sha"])
        builds.world.work_off()
        if link is not None:
            assert heads[-1] in {build["commit_sha"] for build in owner.get(builds.path).ok()}
            owner.delete(f"/review-link/{link['id']}").ok()
            link = None
    assert heads[-1] not in {build["commit_sha"] for build in owner.get(builds.path).ok()}, "the link was revoked"


def test_newer_commit_of_a_set_cancels_the_earlier_build(builds: Builds, app: Flask) -> None:
    created = builds.site.owner.post(f"/project/{builds.site.project}/change-sets", {"title": "Home"}).ok(201)
    with app.app_context():
        project = db.session.get_one(Project, builds.site.project)
        of_set: dict[str, Any] = {"user_id": None, "change_set_id": created["id"], "limit_mb": 100}
        first, _ = service.request(project, "1" * 40, **of_set)
        second, _ = service.request(project, "2" * 40, **of_set)
        db.session.commit()
        assert (first.state, first.code) == (BuildState.FAILED, "SUPERSEDED")
        assert second.state is BuildState.WAITING


@pytest.mark.parametrize("is_requested", [True, False], ids=["requested", "not-requested"])
def test_commit_of_a_link_is_built_after_a_newer_commit(builds: Builds, *, is_requested: bool) -> None:
    owner, path = builds.site.owner, f"/project/{builds.site.project}/change-sets"
    path = f"/change-set/{owner.post(path, {'title': 'Home'}).ok(201)['id']}"

    def commit(text: str, base: str) -> str:
        file = {"path": "pages/index.html", "action": "update", "content": text}
        body = {"message": text, "base_sha": base, "files": [file]}
        return str(owner.post(f"{path}/commit", body).ok(201)["commit_sha"])

    fixed = commit("<h1>First</h1>", builds.site.repo.head())
    owner.post(f"{path}/submit", {}).ok()
    if is_requested:
        builds.world.work_off()
    owner.post(f"{path}/review-links", {"commit_sha": fixed}).ok(201)
    newest = commit("<h1>Second</h1>", fixed)
    for _ in range(2):
        with transactions.reading_context(builds.world.app):
            jobs.build_set(change_set_id=path.rpartition("/")[2], sandbox=drivers.sandbox)
    states = {build["commit_sha"]: build["state"] for build in owner.get(builds.path).ok()}
    assert (states.get(fixed, "failed") != "failed", states[newest]) == (True, "waiting")


def test_changed_pages_of_a_set_have_their_cause(builds: Builds) -> None:
    owner, project = builds.site.owner, builds.site.project
    change_set = owner.post(f"/project/{project}/change-sets", {"title": "Home"}).ok(201)
    path = f"/change-set/{change_set['id']}"
    files = [
        {"path": "pages/about.html", "action": "update", "content": "<title>About us</title><main>New</main>"},
        {"path": "pages/hours.html", "action": "create", "content": "<title>Hours</title>"},
        {"path": "pages/index.html", "action": "update", "content": "<h1>Open</h1>"},
        {"path": "pages/main.css", "action": "create", "content": "body{}"},
    ]
    owner.post(f"{path}/commit", {"message": "Pages", "base_sha": builds.site.repo.head(), "files": files}).ok(201)
    answer = owner.get(f"{path}/pages")
    assert (answer.ok(), answer.json["meta"]["state"]) == ([], None), "a draft is not built"
    owner.post(f"{path}/submit", {}).ok()
    builds.world.work_off()
    for build in owner.get(builds.path).ok():
        builds.finished(build["id"])
    answer = owner.get(f"{path}/pages")
    assert answer.json["meta"]["state"] == "ready"
    assert [(page["url"], page["title"], page["kind"]) for page in answer.ok()] == [
        ("/", "", "changed"),
        ("/about.html", "About us", "changed"),
        ("/hours.html", "Hours", "added"),
    ]
    causes = [page["cause"] for page in answer.ok()]
    assert causes == [["pages/index.html"], ["pages/about.html"], ["pages/hours.html"]], "a style is no page"
