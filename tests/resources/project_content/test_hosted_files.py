"""Tests of files on Git hosts: size limits and failures of the host."""

from dataclasses import dataclass

import pytest
from flask import Flask

from app.database import transactions
from app.extensions import db, drivers
from app.models.project import Project
from app.resources.project_content import jobs
from app.resources.project_content.index import indexes, indexing
from app.resources.project_content.source import source_of
from app.resources.project_content.versions.comparison import MAX_VERSION_BYTES, read_versions
from tests.support.doubles.server import Fault, Reply
from tests.support.factories import organization
from tests.support.git_hosts import Hosts, OnGitHub, OnGitLab, connect_github, connect_gitlab, login_of, new_project
from tests.support.samples.gitrepo import Content
from tests.support.world import Answer, Person, World

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

MIB = 1024 * 1024
LARGE, HUGE = b"large\n" * (2 * MIB), b"h" * (25 * MIB + 1)
SMALL = b"---\ntitle: Small\n---\nwords\n"
MEDIUM = b"m" * (MAX_VERSION_BYTES + 1)
FILES: dict[str, Content] = {"small.md": SMALL, "medium.txt": MEDIUM, "large.txt": LARGE, "huge.txt": HUGE}
BLOBS = "(git/blobs|repository/blobs)/"


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    """The application whose Git hosts are doubles."""
    return hosted[0]


@pytest.fixture
def hosts(hosted: tuple[Flask, Hosts]) -> Hosts:
    """The doubles of the Git hosts."""
    return hosted[1]


@dataclass
class Site:
    """The project of a user on a repository of a host."""

    owner: Person
    project: str
    repository: OnGitHub | OnGitLab

    def get(self, what: str, **query: str) -> Answer:
        return self.owner.get(f"/project-content/{self.project}/{what}", query_string=query)


def make_site(world: World, hosts: Hosts, provider: str, files: dict[str, Content] = FILES) -> Site:
    me = world.person()
    repository: OnGitHub | OnGitLab
    if provider == "github":
        repository = hosts.on_github(login_of(me), files=files)
        connect_github(me, hosts, repository.installation)
    else:
        repository = hosts.on_gitlab(login_of(me), files=files)
        connect_gitlab(me, hosts)
    project = new_project(me, organization(world, me), provider, repository.name)
    world.work_off()
    return Site(me, project, repository)


def index_one_blob(site: Site, world: World) -> None:
    """Index the changes of the branch and the text of one new blob. The run that reads the others is delayed."""
    with world.app.app_context():
        transactions.start_reading()
        project = db.session.get_one(Project, site.project)
        index = indexes.find(site.project, "main")
        assert index is not None
        indexing.update_index(index, source_of(project, drivers.git), lambda _done, _total: None)
        world.drop_jobs()
        jobs.describe_branch(index_id=index.id, git=drivers.git, progress=lambda _done, _total: None, max_blobs=1)
        assert world.app.extensions["jobs"].counts(db.session.connection()).waiting == 1
        db.session.rollback()


@pytest.fixture(scope="module", params=["github", "gitlab"])
def large_site(hosted: tuple[Flask, Hosts], request: pytest.FixtureRequest) -> Site:
    """A project with large files that tests only read."""
    return make_site(World(hosted[0]), hosted[1], request.param)


class TestLargeFiles:
    def test_file_of_25_mib_is_returned_and_a_larger_file_returns_413(self, large_site: Site) -> None:
        assert large_site.get("raw", file="large.txt").response.data == LARGE
        large_site.get("raw", file="huge.txt").fails(413, "TOO_LARGE")

    def test_size_of_a_small_file_is_returned_by_repeated_reads(self, large_site: Site) -> None:
        assert [large_site.get("file", file="small.md").ok()["size"] for _ in range(2)] == [len(SMALL)] * 2

    def test_metadata_of_a_large_file_is_derived_from_its_name(self, large_site: Site) -> None:
        for path in ("large.txt", "huge.txt"):
            told = large_site.get("file", file=path).ok()
            assert (told["mime"], told["encoding"], told["lines"]) == ("text/plain", None, None)

    def test_large_file_does_not_block_the_search_of_other_files(self, large_site: Site) -> None:
        assert [hit["path"] for hit in large_site.get("search", q="words").ok()] == ["small.md"]

    def test_read_versions_large_file_has_no_content(self, app: Flask, large_site: Site) -> None:
        with transactions.reading_context(app):
            source = source_of(db.session.get_one(Project, large_site.project), drivers.git)
            head = source.repository.head(source.branch)
            paths = ("small.md", "medium.txt", "huge.txt", "missing.md")
            assert read_versions(source, [(head, path) for path in paths]) == [SMALL, None, None, None]


@pytest.mark.parametrize("provider", ["github", "gitlab"])
class TestRaw:
    @pytest.mark.parametrize(("status", "told"), [(500, 502), (503, 503), (404, 404)])
    def test_failing_host_returns_an_error_status_before_the_body(
        self, world: World, hosts: Hosts, provider: str, status: int, told: int
    ) -> None:
        site = make_site(world, hosts, provider, {"a.png": b"a"})
        at = hosts.github if provider == "github" else hosts.gitlab
        at.faults.append(Fault(BLOBS, times=9, reply=Reply(status, {"message": "no"}, {"Retry-After": "99"})))
        try:
            site.get("raw", file="a.png").fails(told)
        finally:
            at.faults.clear()

    def test_matching_etag_returns_304_without_a_host_call(self, world: World, hosts: Hosts, provider: str) -> None:
        site = make_site(world, hosts, provider, {"a.png": b"a"})
        tag = site.get("raw", file="a.png").headers["ETag"]
        at = hosts.github if provider == "github" else hosts.gitlab
        at.journal.clear()
        again = site.owner.get(
            f"/project-content/{site.project}/raw", query_string={"file": "a.png"}, headers={"If-None-Match": tag}
        )
        assert again.status == 304
        assert at.calls(BLOBS) == []


class TestTextIndexing:
    @pytest.mark.parametrize("provider", ["github", "gitlab"])
    def test_delayed_indexing_of_a_branch_does_not_block_other_branches(
        self, world: World, hosts: Hosts, provider: str
    ) -> None:
        site = make_site(world, hosts, provider, {"a.md": b"apple\n"})
        site.repository.git.commit({"b.md": b"banana\n", "c.md": b"cherry\n"})
        index_one_blob(site, world)
        site.repository.git.commit({"a.md": b"date\n"}, branch="other")
        site.get("search", q="date", ref="other").ok()
        world.work_off()
        assert [hit["path"] for hit in site.get("search", q="date", ref="other").ok()] == ["a.md"]
        assert [hit["path"] for hit in site.get("search", q="banana").ok()] == ["b.md"]
        assert site.get("search", q="cherry").ok() == []


@pytest.mark.parametrize("provider", ["github", "gitlab"])
def test_merge_on_a_host_saves_both_changes_and_refuses_unknown_bases(
    world: World, hosts: Hosts, provider: str
) -> None:
    text = "---\ntitle: Old\ndraft: true\n---\n\nOne two three four.\n"
    site = make_site(world, hosts, provider, {"a.md": text.encode()})
    tree = site.owner.get(f"/project-content/{site.project}").ok()
    base, blob = tree["commit_sha"], tree["files"][0]["sha"]

    def save(content: str, **more: str) -> Answer:
        file = {"path": "a.md", "action": "update", "content": content} | more
        body = {"message": "Edit", "base_sha": base, "on_conflict": "merge", "files": [file]}
        return site.owner.again().post(f"/project-content/{site.project}/commit", body)

    save(text.replace("Old", "New").replace("four", "4")).ok(201)
    for content, more in ((text.replace("true", "false"), {}), (text.replace("One", "1"), {"base_blob_sha": blob})):
        assert [merged["path"] for merged in save(content, **more).ok(201)["merged"]] == ["a.md"]
    assert site.get("raw", file="a.md").response.data == b"---\ntitle: New\ndraft: false\n---\n\n1 two three 4.\n"
    error = save(text.replace("Old", "Mine")).fails(409, "CONFLICT", "a.md")
    assert [(one["pointer"], one["base"], one["theirs"]) for one in error["result"]["conflicts"]] == [
        ("/title", "Old", "New")
    ]
    save(text.replace("Old", "Mine"), base_blob_sha="1" * 40).fails(409, "BASE_GONE", "a.md")
    base = "1" * 40
    save(text.replace("Old", "Mine")).fails(409, "BASE_GONE", "a.md")
