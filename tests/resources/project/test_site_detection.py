"""Tests of the detection of the site kind through the API, on repositories of every size."""

import pytest
from flask import Flask

from app.drivers.git.port import TreeEntry
from app.resources.project.site_detection import CommitFiles
from tests.support.factories import organization
from tests.support.git_hosts import Hosts, connect_github, connect_gitlab, login_of
from tests.support.samples.gitrepo import Content
from tests.support.world import World

pytestmark = pytest.mark.one_database

MAX_CALLS = 10
NESTED = [f"section-{number % 400}/page-{number}.md" for number in range(40_000)]
FLAT = [f"page-{number}.md" for number in range(2_000)]


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    return hosted[0]


class TestLargeRepository:
    @pytest.mark.parametrize("provider", ["github", "gitlab"])
    @pytest.mark.parametrize("paths", [NESTED, FLAT], ids=["nested", "flat"])
    def test_create_on_a_large_repository_makes_at_most_ten_calls(
        self, world: World, hosts: Hosts, provider: str, paths: list[str]
    ) -> None:
        me = world.person()
        files: dict[str, Content] = dict.fromkeys(paths, b"text\n")
        files |= {"config/settings.yml": b"", "package.json": b"{}", "docs/conf.py": b"", "docs/index.rst": b""}
        if provider == "github":
            repository = hosts.on_github(login_of(me), files=files).name
            connect_github(me, hosts, hosts.installation_of(repository))
        else:
            repository = hosts.on_gitlab(login_of(me), files=files).name
            connect_gitlab(me, hosts)
        org, host = organization(world, me), getattr(hosts, provider)
        host.journal.clear()
        body = {"org_id": org, "project_name": "Large", "repository": repository, "branch": "main"}
        project = me.post("/project/create", body | {"provider": provider}).ok(201)
        calls = [f"{call.method} {call.path}" for call in host.journal]
        assert len(calls) <= MAX_CALLS, calls
        assert project["generator"] == "sphinx"
        assert project["index"]["status"] == "queued"
        # The polls of later tests would index a connected project.
        me.delete(f"/project/{project['project_id']}").ok()


class FolderListing:
    """A repository that lists endless folders."""

    def __init__(self) -> None:
        self.listed: list[tuple[str, int]] = []

    def list_folder(self, commit: str, path: str = "", *, limit: int) -> list[TreeEntry]:
        self.listed.append((path, limit))
        prefix = f"{path}/" if path else ""
        return [TreeEntry(f"{prefix}folder-{number}", "tree", "040000", "", None) for number in range(limit)]


class TestCommitFiles:
    def test_names_beyond_the_limit_of_reads_is_empty(self) -> None:
        git = FolderListing()
        files = CommitFiles(git, "c" * 40, reads=2)  # type: ignore[arg-type]  # one method is enough
        sizes = [len(files.names(folder)) for folder in ("", "a/", "a/", "b/", "c/")]
        assert sizes == [300, 100, 100, 100, 0]
        assert git.listed == [("", 300), ("a", 100), ("b", 100)]

    def test_names_after_the_deadline_is_empty(self) -> None:
        git = FolderListing()
        files = CommitFiles(git, "c" * 40, deadline_s=0.0)  # type: ignore[arg-type]  # as above
        assert [len(files.names(folder)) for folder in ("", "a/")] == [300, 0]
