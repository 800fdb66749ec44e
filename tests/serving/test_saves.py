"""Saves of each size class against a real gunicorn with gevent workers, on both databases."""

import base64
import io
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
import requests

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

    def save(self, files: list[dict[str, str]]) -> str:
        body = {"message": "Save", "base_sha": self.repo.head(), "files": files}
        data, headers = orjson.dumps(body), {"Content-Type": "application/json"}
        response = self.client.post(self.url("commit"), data=data, headers=headers, timeout=120)
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


def created(prefix: str, kind: str, size: int, count: int) -> dict[str, tuple[dict[str, str], bytes]]:
    """Return the body item and the bytes of each file."""
    file_bytes = (size if kind == "text" else size * 3 // 4) // count
    contents = {f"{prefix}/{number}": content_of(kind, number, file_bytes) for number in range(count)}
    return {
        path: ({"path": path, "action": "create", **encoded(kind, content)}, content)
        for path, content in contents.items()
    }


def stored_contents(repo: GitRepo, commit: str, paths: Iterable[str]) -> Iterator[bytes]:
    """Yield the content of each path. One process of Git reads all paths."""
    names = "".join(f"{commit}:{path}\n" for path in paths).encode()
    stream = io.BytesIO(repo.git("cat-file", "--batch", data=names))
    while head := stream.readline():
        yield stream.read(int(head.split(b" blob ")[1]))
        stream.read(1)


def test_save_of_each_size_and_encoding_is_in_git_byte_for_byte(site: Site) -> None:
    cases = [(kind, size, count) for kind in ("text", "binary") for size in SIZES for count in (1, MAX_FILES)]
    for kind, size, count in cases:
        files = created(f"{kind}-{size}-{count}", kind, size, count)
        sha = site.save([item for item, _ in files.values()])
        assert site.repo.head() == sha
        for (_, content), stored in zip(files.values(), stored_contents(site.repo, sha, files), strict=True):
            assert stored == content
    site.repo.check()


def test_front_matter_edit_of_large_file_changes_only_the_key(site: Site) -> None:
    content = FRONT_MATTER + content_of("text", 1, MIB)
    site.save([{"path": "large.md", "action": "create", **encoded("text", content)}])
    body: dict[str, Any] = {"file": "large.md", "base_sha": site.repo.head(), "set": {"title": "New"}}
    response = site.client.patch(site.url("front-matter"), json=body, timeout=60)
    assert response.status_code == 200, response.text[:500]
    assert site.repo.show("large.md") == content.replace(b"title: Old", b"title: New", 1)
