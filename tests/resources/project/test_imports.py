"""Tests of imports: clones of repositories that become projects."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from app.core.errors import Conflict, InvalidRequest, LimitReached
from app.core.limits import Limits
from app.database import transactions
from app.drivers.errors import UpstreamUnavailable
from app.extensions import db, drivers
from app.models.base import utcnow_ms
from app.models.organization import Membership, Organization
from app.models.project import ImportStatus, LocalRepository, Project, RepositoryImport
from app.models.user import User
from app.resources.project import imports, jobs
from config import Settings
from tests.support import factories
from tests.support.applications import application
from tests.support.databases import another_database
from tests.support.parallel import together
from tests.support.samples.gitrepo import GitRepo
from tests.support.servers.repositories import RepositoryServer, repository_server
from tests.support.world import Person, World

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RepositoryServer]:
    (tmp_path / "public").mkdir()
    with repository_server(tmp_path / "public") as started:
        yield started


@pytest.fixture
def cloning(store: str, tmp_path: Path) -> Iterator[World]:
    """An application that may clone from this machine."""
    with (
        another_database(store, tmp_path) as url,
        application(Settings.for_tests(tmp_path, DATABASE_URL=url, GIT_CLONE_HOSTS="127.0.0.1")) as made,
    ):
        yield World(made)


@pytest.fixture
def owner(cloning: World) -> Person:
    return cloning.person()


@pytest.fixture
def organization(cloning: World, owner: Person) -> str:
    return factories.organization(cloning, owner)


@pytest.fixture
def url(server: RepositoryServer, tmp_path: Path) -> str:
    return server.url(GitRepo(tmp_path / "public/docs.git", {"hugo.toml": b"", "content/a.md": b"A\n"}))


def start(world: World, owner: Person, organization: str, url: str, name: str = "docs") -> str:
    """Request an import and return its id."""
    with world.app.app_context():
        row = imports.request_import(
            db.session.get_one(Organization, organization),
            db.session.get_one(User, owner.id),
            url=url,
            name=name,
            project_name=name.title(),
            hosts=("127.0.0.1",),
            limits=Limits(),
        )
        db.session.commit()
        return row.id


def read(world: World, import_id: str) -> RepositoryImport:
    with world.app.app_context():
        row = db.session.get_one(RepositoryImport, import_id)
        db.session.expunge(row)
        return row


def names(world: World) -> list[str]:
    """Return the names of the local repositories with an organization."""
    with world.app.app_context():
        return [row.name.partition("/")[2] for row in db.session.query(LocalRepository)]


def test_parallel_requests_do_not_exceed_the_limit_of_open_imports(
    cloning: World, owner: Person, organization: str, url: str
) -> None:
    def request(number: int) -> bool:
        with cloning.app.app_context():
            try:
                with transactions.write_transaction():
                    imports.request_import(
                        db.session.get_one(Organization, organization),
                        db.session.get_one(User, owner.id),
                        url=url,
                        name=f"docs{number}",
                        project_name=f"Docs {number}",
                        hosts=("127.0.0.1",),
                        limits=Limits(),
                    )
            except Conflict:
                return False
            return True

    assert sum(together([partial(request, number) for number in range(8)])) == imports.MAX_OPEN


def test_import_creates_the_project_with_its_index(cloning: World, owner: Person, organization: str, url: str) -> None:
    import_id = start(cloning, owner, organization, url)
    cloning.work_off()
    row = read(cloning, import_id)
    assert (row.status, row.problem) == (ImportStatus.CONNECTED, None)
    project = owner.get(f"/project/{row.project_id}").ok()
    assert (project["project_name"], project["generator"], project["branch"]) == ("Docs", "hugo", "main")
    assert owner.get(f"/project-content/{row.project_id}").ok()["total"] == 2


def test_import_waits_while_a_worker_has_its_largest_number_of_long_runs(
    cloning: World, owner: Person, organization: str, url: str
) -> None:
    import_id = start(cloning, owner, organization, url)
    with jobs.long_runs.slot("org_1"), jobs.long_runs.slot("org_1"), jobs.long_runs.slot("org_2"):
        with transactions.reading_context(cloning.app):
            jobs.import_repository(import_id=import_id, git=drivers.git)
        with cloning.app.app_context():
            assert db.session.get_one(RepositoryImport, import_id).status == ImportStatus.WAITING
    with transactions.reading_context(cloning.app):
        jobs.import_repository(import_id=import_id, git=drivers.git)
    with cloning.app.app_context():
        assert db.session.get_one(RepositoryImport, import_id).status == ImportStatus.CONNECTED


def test_failed_clone_stores_the_reason_and_frees_the_name(
    cloning: World, owner: Person, organization: str, server: RepositoryServer
) -> None:
    import_id = start(cloning, owner, organization, f"http://{server.host}/none.git")
    assert names(cloning) == ["docs"]
    cloning.work_off()
    row = read(cloning, import_id)
    assert (row.status, row.problem, row.project_id) == (ImportStatus.FAILED, "CLONE_FAILED", None)
    assert names(cloning) == []


def test_failed_connection_removes_the_cloned_repository(
    cloning: World, owner: Person, organization: str, url: str
) -> None:
    import_id = start(cloning, owner, organization, url)
    with cloning.app.app_context():
        db.session.query(Membership).filter_by(user_id=owner.id).update({"role": "editor"})
        db.session.commit()
    cloning.work_off()
    row = read(cloning, import_id)
    assert (row.status, row.problem) == (ImportStatus.FAILED, "NOT_ALLOWED")
    assert (names(cloning), list(cloning.git_root.glob("*/docs.git"))) == ([], [])
    with cloning.app.app_context():
        assert db.session.query(Project).count() == 0


def test_temporary_failure_is_repeated_and_shown(
    cloning: World, owner: Person, organization: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_id = start(cloning, owner, organization, url)
    cloning.drop_jobs()

    def run_once() -> None:
        with cloning.app.app_context():
            jobs.import_repository(import_id=import_id, git=drivers.git)

    with monkeypatch.context() as without_git:
        without_git.setenv("PATH", str(tmp_path / "none"))
        with pytest.raises(UpstreamUnavailable):
            run_once()
    row = read(cloning, import_id)
    assert (row.status, row.problem) == (ImportStatus.WAITING, "UNAVAILABLE")
    assert (
        "The service tries again" in owner.client.get(f"/console/organizations/{organization}/imports/{import_id}").text
    )
    run_once()
    assert read(cloning, import_id).status == ImportStatus.CONNECTED


def test_import_beyond_the_limit_is_refused_before_the_clone(
    cloning: World, owner: Person, organization: str, url: str
) -> None:
    with cloning.app.app_context(), pytest.raises(LimitReached):
        imports.request_import(
            db.session.get_one(Organization, organization),
            db.session.get_one(User, owner.id),
            url=url,
            name="docs",
            project_name="Docs",
            hosts=("127.0.0.1",),
            limits=Limits(projects=0),
        )
    assert names(cloning) == []


def test_repeated_run_continues_after_the_clone(cloning: World, owner: Person, organization: str, url: str) -> None:
    import_id = start(cloning, owner, organization, url)
    with cloning.app.app_context():
        drivers.git.local.clone(f"{organization}/docs", url, watch=lambda _received: None)
    cloning.work_off()
    assert read(cloning, import_id).status == ImportStatus.CONNECTED


def test_deleted_organization_ends_its_imports(cloning: World, owner: Person, organization: str, url: str) -> None:
    start(cloning, owner, organization, url)
    owner.delete(f"/organization/{organization}").ok()
    cloning.work_off()
    assert [one for one in names(cloning) if one] == ["docs"]
    assert not list(cloning.git_root.glob("*/docs.git"))


def test_import_of_a_taken_name_is_refused(cloning: World, owner: Person, organization: str, url: str) -> None:
    start(cloning, owner, organization, url)
    with pytest.raises(Conflict) as refused:
        start(cloning, owner, organization, url)
    assert refused.value.code == "NAME_TAKEN"


def test_imports_of_an_organization_are_limited(cloning: World, owner: Person, organization: str, url: str) -> None:
    for number in range(imports.MAX_OPEN):
        start(cloning, owner, organization, url, f"docs{number}")
    with pytest.raises(Conflict) as refused:
        start(cloning, owner, organization, url, "more")
    assert refused.value.code == "IMPORTS_RUNNING"


@pytest.mark.parametrize("url", ["http://example.org/a", "file:///etc/passwd", "https://u:p@example.org/a"])
def test_import_of_another_url_is_refused(cloning: World, owner: Person, organization: str, url: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        start(cloning, owner, organization, url)
    assert refused.value.fields[0].path == "clone_url"


def test_cleanup_deletes_old_imports_and_ends_abandoned_ones(
    cloning: World, owner: Person, organization: str, url: str
) -> None:
    old, abandoned, new = (start(cloning, owner, organization, url, name) for name in ("old", "abandoned", "new"))
    cloning.drop_jobs()
    now = utcnow_ms()
    with cloning.app.app_context():
        for import_id, age in ((old, jobs.RETENTION), (abandoned, jobs.ABANDONED_AFTER)):
            at = now - age - timedelta(minutes=1)
            db.session.query(RepositoryImport).filter_by(id=import_id).update({"created_at": at, "updated_at": at})
        db.session.commit()
        jobs.clean_imports(git=drivers.git)
        rows = {row.id: row.status for row in db.session.query(RepositoryImport)}
    assert rows == {abandoned: ImportStatus.FAILED, new: ImportStatus.WAITING}
