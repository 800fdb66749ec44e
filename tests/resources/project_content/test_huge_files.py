"""Tests of a pushed file that is small in its pack and huge when it is unpacked: no request and no job reads it."""

import hashlib
import resource
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import psutil
import pytest
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from app.core.limits import MIB
from app.extensions import db, drivers
from app.models.project import Project
from app.resources.project.site_detection import CommitFiles
from app.resources.project_content.source import source_of
from app.resources.sandbox.site import Site as SandboxSite
from tests.resources.project_content.conftest import Site, make_site
from tests.support.world import World

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

HUGE_BYTES, HEADROOM_BYTES = 400 * MIB, 160 * MIB
PAGE, IMAGE, DATA = "content/big.md", "static/big.png", "data/big.yaml"
SMALL = {
    PAGE: b"---\ntitle: Small\n---\nSmall.\n",
    "content/other.md": b"---\ntitle: Other\n---\nOther.\n",
    IMAGE: b"\x89PNG\r\n\x1a\n",
    DATA: b"- a\n",
}
SETTINGS = (".galley.yml", "frontmatter.json", "static/admin/config.yml", ".pages.yml", "docusaurus.config.js")
SETTINGS += ("package.json", "archetypes/default.md", "hugo.toml", ".vscode/settings.json")
ORIGIN = {"Origin": "http://127.0.0.1:8000"}


@contextmanager
def memory_limit() -> Iterator[None]:
    """Limit the memory of this process and its children. A read of the huge file raises MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    size = psutil.Process().memory_info().vms + HEADROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@cache
def huge_object() -> tuple[str, bytes]:
    """Return the hash and the compressed bytes of a blob of zeros."""
    hashed, packed, part = hashlib.sha1(usedforsecurity=False), zlib.compressobj(1), bytes(MIB)
    pieces = []
    for piece in (b"blob %d\0" % HUGE_BYTES, *[part] * (HUGE_BYTES // MIB)):
        hashed.update(piece)
        pieces.append(packed.compress(piece))
    return hashed.hexdigest(), b"".join([*pieces, packed.flush()])


def write_huge(site: Site) -> str:
    """Commit the huge file under the names of pages, images, data and settings. Return its hash."""
    sha, data = huge_object()
    file = site.repo.folder / "objects" / sha[:2] / sha[2:]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    lines = [b"commit refs/heads/main", b"committer A <a@mail.example.org> 1800000000 +0000", b"data 4", b"Huge"]
    lines += [
        b"from refs/heads/main^0",
        *(f"M 100644 {sha} {path}".encode() for path in [PAGE, IMAGE, DATA, *SETTINGS]),
    ]
    site.repo.git("fast-import", "--quiet", data=b"\n".join([*lines, b""]))
    return sha


@pytest.fixture
def huge(world: World) -> tuple[Site, str, str]:
    """Return a site with the huge file, the commit before it, and the hash of the file. Its index knows the commit."""
    site = make_site(world, SMALL)
    before = site.repo.head()
    draft = {"content": "Draft.\n", "base_blob_sha": site.repo.text("rev-parse", f"main:{PAGE}")}
    site.owner.put(f"/project-draft/{site.project}", draft, query_string={"file": PAGE}).ok()
    sha = write_huge(site)
    with memory_limit():
        site.owner.post(site.path("/reindex")).ok(202)
        world.work_off()
    assert site.tree()["commit_sha"] == site.repo.head()
    return site, before, sha


def finished(response: TestResponse) -> int:
    """Read a response piece by piece, and return its status."""
    for _ in response.iter_encoded():
        pass
    response.close()
    return response.status_code


def reads_of(rule: Rule, values: dict[str, str]) -> Iterator[dict[str, str]]:
    """Yield the values of a route for each of the huge files."""
    for file in (PAGE, IMAGE, DATA):
        yield values | {"file": file, "path": file}


def test_every_page_and_read_of_a_project_answers_without_reading_the_file(huge: tuple[Site, str, str]) -> None:
    site, before, sha = huge
    app, client = site.world.app, site.owner.client
    made = site.owner.post(f"/project/{site.project}/change-sets", {"title": "Set"})
    values = {
        "project_id": site.project,
        "projectId": site.project,
        "sha": sha,
        "folder": "content",
        "name": "content",
        "hook_id": "x",
    }
    values["change_set_id"] = made.ok(201)["id"]
    rules = [
        rule
        for rule in app.url_map.iter_rules()
        if "GET" in rule.methods and {"project_id", "projectId"} & rule.arguments
    ]
    readable = [rule for rule in rules if rule.arguments <= {*values, "file", "path"} and "events" not in rule.rule]
    statuses = dict[str, int]()
    with memory_limit():
        for rule in readable:
            for given in reads_of(rule, values):
                query = {"base": before, "head": "main", "q": "small", "ref": "main"} | given
                url = app.url_map.bind("127.0.0.1").build(rule.endpoint, {n: given[n] for n in rule.arguments})
                statuses[url] = finished(client.get(url, query_string=query))
    assert not {url: status for url, status in statuses.items() if status >= 500}
    base = f"/console/projects/{site.project}"
    assert {statuses[f"{base}/{page}/{PAGE}"] for page in ("edit", "conflict")} == {413}
    assert statuses[f"/api/v1/project-content/{site.project}/compare"] == 200
    assert statuses[f"/api/v1/project-content/{site.project}/raw"] == 413


WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("post", "/commit", {"files": [{"path": PAGE, "action": "update", "content": "Mine.\n"}]}),
    ("post", "/merge-preview", {"files": [{"path": PAGE, "action": "update", "content": "Mine.\n"}]}),
    ("post", "/merge-preview", {"files": [{"path": "moved.md", "action": "move", "previous_path": PAGE}]}),
    ("patch", "/front-matter", {"file": PAGE, "changes": {"title": "New"}}),
    ("post", "/restore", {"file": PAGE}),
    ("post", "/restore", {"folder": "content"}),
]


def test_writes_on_the_file_answer_without_reading_it(huge: tuple[Site, str, str]) -> None:
    site, before, _ = huge
    shas = {"base_sha": before, "commit_sha": site.repo.head()}
    other = {"base_sha": site.repo.head(), "commit_sha": before}
    with memory_limit():
        answers = [
            site.owner.call(method, site.path(path), {"message": "Edit"} | body | given)
            for given in (shas, other)
            for method, path, body in WRITES
        ]
    assert not [answer.status for answer in answers if answer.status >= 500]


def test_forms_of_the_console_answer_without_reading_the_file(huge: tuple[Site, str, str]) -> None:
    site, before, sha = huge
    base, statuses = f"/console/projects/{site.project}", dict[str, int]()
    fields = {"base_sha": site.repo.head(), "base_blob_sha": sha, "body": "Mine.", "message": "Edit", "title": "T"}
    fields |= {"commit_sha": before, "content": "Mine.", "path": "content/new.md", "file": PAGE, "state": "draft"}
    with memory_limit():
        for action in (
            "edit",
            "conflict",
            "draft",
            "check-links",
            "preview-text",
            "rename",
            "restore",
            "suggest-message",
        ):
            response = site.owner.client.post(f"{base}/{action}/{PAGE}", data=fields, headers=ORIGIN)
            statuses[action] = finished(response)
        for action in ("bulk-state", "bulk-move"):
            statuses[action] = finished(site.owner.client.post(f"{base}/{action}", data=fields, headers=ORIGIN))
    assert not {action: status for action, status in statuses.items() if status >= 500}


def test_preview_and_detection_do_not_read_the_file(huge: tuple[Site, str, str]) -> None:
    site, _, _ = huge
    with site.world.app.app_context():
        source = source_of(db.session.get_one(Project, site.project), drivers.git, user=site.owner)
        db.session.rollback()
        with memory_limit():
            head = site.repo.head()
            paths = {file.path for file in SandboxSite.at(source, head, {}).files()}
            files = CommitFiles(source.repository, head)
            assert "package.json" in files.names("")
            assert files.read("package.json") is None
    assert paths == {"content/other.md"}
