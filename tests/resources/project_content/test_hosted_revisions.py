"""Tests of history, comparison and restore on Git hosts: the responses equal those of a local repository."""

from typing import Any

import pytest
from flask import Flask

from tests.resources.project_content.conftest import Site, make_site
from tests.resources.project_content.test_hosted_files import make_site as make_hosted
from tests.support.doubles.server import Fault, Reply
from tests.support.git_hosts import Hosts
from tests.support.samples import renames
from tests.support.samples.gitrepo import EXECUTABLE, Content
from tests.support.world import Person, World

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

TEXT = b"---\ntitle: One\n---\n" + b"".join(b"line %d\n" % number for number in range(30))
FILES: dict[str, Content] = {"a.md": TEXT, "content/b.md": b"b\n", "content/c.png": renames.IMAGE + b"1"}
STEPS: list[tuple[dict[str, Content], str]] = [
    ({"a.md": TEXT.replace(b"One", b"Two")}, "Edit a"),
    ({"a.md": None, "moved.md": TEXT.replace(b"One", b"Two")}, "Move a"),
    ({"content/c.png": renames.IMAGE + b"2", "content/b.md": None}, "Change the folder"),
]


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    """The application whose Git hosts are doubles."""
    return hosted[0]


@pytest.fixture
def hosts(hosted: tuple[Flask, Hosts]) -> Hosts:
    """The doubles of the Git hosts."""
    return hosted[1]


class Reader:
    """Reader of one project. It replaces the project id in the responses."""

    def __init__(self, person: Person, project: str) -> None:
        self.person, self.project = person, project

    def get(self, what: str, **query: Any) -> Any:
        response = self.person.get(f"/project-content/{self.project}/{what}", query_string=query)
        return _replace_project_id(response.json, self.project)

    def restore(self, **body: Any) -> Any:
        response = self.person.again().post(f"/project-content/{self.project}/restore", body)
        return response.status, (response.json.get("result") or {}).get("files")


def _replace_project_id(data: Any, project: str) -> Any:
    if isinstance(data, dict):
        return {key: _replace_project_id(value, project) for key, value in data.items()}
    if isinstance(data, list):
        return [_replace_project_id(value, project) for value in data]
    return data.replace(project, "PROJECT") if isinstance(data, str) else data


def local_reader(world: World) -> tuple[Reader, list[str]]:
    site: Site = make_site(world, FILES, indexed=False)
    site.repo.commit_all(STEPS)
    return Reader(site.owner, site.project), site.repo.commits()


@pytest.mark.parametrize("provider", ["github", "gitlab"])
class TestSameResponses:
    def test_responses_of_a_hosted_repository_equal_those_of_a_local_one(
        self, world: World, hosts: Hosts, provider: str
    ) -> None:
        local, commits = local_reader(world)
        site = make_hosted(world, hosts, provider, FILES)
        site.repository.git.commit_all(STEPS)
        assert site.repository.git.commits() == commits
        hosted = Reader(site.owner, site.project)
        first, head = commits[-1], commits[0]
        for query in (
            {},
            {"limit": 2},
            {"ref": first},
            {"file": "content/b.md"},
            {"file": "no.md"},
            {"ref": "dead" * 10},
        ):
            expected, found = (reader.get("history", **query) for reader in (local, hosted))
            if "meta" in expected:
                assert (expected["meta"].pop("renames_followed"), found["meta"].pop("renames_followed")) == (
                    True,
                    False,
                )
            assert found == expected, query
        compared = [{"file": path} for path in ("moved.md", "a.md", "content/b.md", "content/c.png", "no.md")]
        for query in ({}, {"limit": 1}, *compared, {"head": first}, {"head": "dead" * 10}):
            expected, found = (reader.get("compare", **{"base": first, **query}) for reader in (local, hosted))
            assert found == expected, query
        for reader in (local, hosted):
            assert reader.get("raw", file="a.md", ref="dead" * 10)["statusCode"] == 404
        expected, found = (reader.get("file", file="a.md", ref=first) for reader in (local, hosted))
        assert found == expected
        for path in ({"file": "content/b.md"}, {"file": "moved.md"}, {"file": "no.md"}, {"folder": "no"}):
            body = {"commit_sha": first, "base_sha": head, **path}
            assert hosted.restore(**body) == local.restore(**body), path
        assert site.repository.git.show("moved.md") == TEXT
        assert site.repository.git.show("content/b.md") == b"b\n"

    def test_restored_executable_file_keeps_its_mode(self, world: World, hosts: Hosts, provider: str) -> None:
        site = make_hosted(world, hosts, provider, {"run.sh": (EXECUTABLE, b"a\n"), "b.sh": (EXECUTABLE, b"b\n")})
        first = site.repository.git.head()
        site.repository.git.commit({"run.sh": None, "b.sh": ("100644", b"b\n")})
        hosted = Reader(site.owner, site.project)
        for path in ("run.sh", "b.sh"):
            base = site.repository.git.head()
            assert hosted.restore(commit_sha=first, base_sha=base, file=path)[0] == 201
        assert site.repository.git.entries() == site.repository.git.entries(first)

    def test_throttled_host_returns_503_with_retry_after(self, world: World, hosts: Hosts, provider: str) -> None:
        site = make_hosted(world, hosts, provider, FILES)
        double = hosts.github if provider == "github" else hosts.gitlab
        head = site.repository.git.head()
        double.faults.append(
            Fault("GET .*/(commits|compare)", times=9, reply=Reply(429, b"later", {"Retry-After": "45"}))
        )
        try:
            response = site.get("history", ref=head)
            response.fails(503)
            assert response.headers["Retry-After"] == "45"
        finally:
            double.faults.clear()
