"""Saves of each size class against a real gunicorn with gevent workers, on both databases."""

import base64
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
import requests

from app.drivers.git.object_ids import blob_sha
from tests.support.databases import postgresql_database
from tests.support.samples.contents import content_of
from tests.support.samples.gitrepo import GitRepo
from tests.support.servers.service import Service

KIB, MIB = 1 << 10, 1 << 20
# A body has at most 25 MiB. The largest class leaves 1 MiB for escaped line breaks and the JSON around the contents.
SIZES = [10 * KIB, 70 * KIB, MIB, 24 * MIB]
MAX_FILES = 300
FRONT_MATTER = b"---\ntitle: Old\ntags: [a, b]\n---\n"


@dataclass
class Site:
    """A project on a local repository, with a client that the owner uses."""

    service: Service
    client: requests.Session
    project_id: str
    repo: GitRepo

    def url(self, path: str) -> str:
        return f"{self.service.url}/api/v1/project-content/{self.project_id}/{path}"

    def save(self, *files: dict[str, str]) -> str:
        return self.send(orjson.dumps({"message": "Save", "base_sha": self.repo.head(), "files": files}))

    def send(self, body: bytes) -> str:
        """Send the JSON body of a save and return the commit."""
        headers = {"Content-Type": "application/json"}
        response = self.client.post(self.url("commit"), data=body, headers=headers, timeout=120)
        assert response.status_code == 201, response.text[:500]
        return str(response.json()["result"]["commit_sha"])


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("saves")
    if request.param == "sqlite":
        with Service(home, workers=1) as service:
            yield service
        return
    with postgresql_database() as url, Service(home, workers=1, DATABASE_URL=url) as service:
        yield service


@pytest.fixture
def site(service: Service) -> Site:
    name = f"team/{secrets.token_hex(4)}"
    repo = GitRepo(service.world.git_root / f"{name}.git", {"a.md": b"a"})
    owner = service.world.person(admin=True)
    project_id = owner.new_project(owner.new_organization(), name)
    return Site(service, service.client(owner), project_id, repo)


def encoded(kind: str, content: bytes) -> dict[str, str]:
    if kind == "text":
        return {"content": content.decode(), "encoding": "utf-8"}
    return {"content": base64.b64encode(content).decode(), "encoding": "base64"}


def body_of(prefix: str, kind: str, size: int, count: int, base_sha: str) -> tuple[bytes, dict[str, str]]:
    """Return the JSON body of a save with `count` new files, and the Git hash of each file."""
    file_bytes = (size if kind == "text" else size * 3 // 4) // count
    items, hashes = [], {}
    for number in range(count):
        path, content = f"{prefix}/{number}", content_of(kind, number, file_bytes)
        items.append({"path": path, "action": "create", **encoded(kind, content)})
        hashes[path] = blob_sha(content)
    return orjson.dumps({"message": "Save", "base_sha": base_sha, "files": items}), hashes


def test_save_of_each_size_and_encoding_is_in_git_byte_for_byte(site: Site) -> None:
    cases = [(kind, size, count) for kind in ("text", "binary") for size in SIZES for count in (1, MAX_FILES)]
    for kind, size, count in cases:
        body, hashes = body_of(f"{kind}-{size}-{count}", kind, size, count, site.repo.head())
        sha = site.send(body)
        assert site.repo.head() == sha
        stored = {path: entry[2] for path, entry in site.repo.entries(sha).items()}
        assert {path: stored[path] for path in hashes} == hashes
    site.repo.check()


def test_front_matter_edit_of_large_file_changes_only_the_key(site: Site) -> None:
    content = FRONT_MATTER + content_of("text", 1, MIB)
    site.save({"path": "large.md", "action": "create", **encoded("text", content)})
    body: dict[str, Any] = {"file": "large.md", "base_sha": site.repo.head(), "set": {"title": "New"}}
    response = site.client.patch(site.url("front-matter"), json=body, timeout=60)
    assert response.status_code == 200, response.text[:500]
    assert site.repo.show("large.md") == content.replace(b"title: Old", b"title: New", 1)
