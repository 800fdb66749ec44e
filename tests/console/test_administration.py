"""Pages of platform admins: users, background jobs and content indexes."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.jobs import Job, JobCall, PermanentFailure
from app.drivers.jobs.port import JobRun
from app.extensions import db
from app.models.project_content import ContentIndex, IndexStatus
from config import Settings
from tests.console.conftest import ConsoleScene
from tests.console.test_organizations import submit
from tests.drivers.jobs.contract.suite import running_worker, until
from tests.support.applications import application
from tests.support.databases import another_database
from tests.support.world import Person, World

USERS, JOBS, INDEXES = (f"/console/admin/{name}" for name in ("users", "jobs", "indexes"))


def text(person: Person, url: str) -> str:
    """Return the text of a page."""
    response = person.client.get(url)
    assert response.status_code == 200
    return response.text


def following(page: str) -> str:
    """Return the query of the next page of a list."""
    match = re.search(r'href="(\?[^"]+)">Load more', page)
    assert match is not None
    return match[1].replace("&amp;", "&")


def pages(person: Person, url: str) -> str:
    """Return the texts of all pages of a list. The database contains the rows of other tests, too."""
    page = text(person, url)
    texts = [page]
    while "Load more" in page:
        page = text(person, url.partition("?")[0] + following(page))
        texts.append(page)
    return "".join(texts)


class TestNavigation:
    def test_links_are_shown_to_platform_admins_only(self, world: World) -> None:
        admin, other = world.person(admin=True), world.person()
        assert f'href="{USERS}"' in text(admin, "/console")
        assert "/console/admin" not in text(other, "/console")
        assert admin.client.get("/console/admin").location == USERS
        for url in (JOBS, INDEXES):
            assert f'href="{url}"' in text(admin, USERS)


class TestUsers:
    def test_search_lists_the_users_with_their_state(self, world: World) -> None:
        admin, person = world.person(admin=True), world.person(verified=False)
        page = text(admin, f"{USERS}?q={person.email.upper()}")
        assert person.email in page
        assert admin.email not in page
        assert ">unverified</span>" in page
        assert ">platform administrator</span>" in text(admin, f"{USERS}?q={admin.email}")
        assert "No user has this e-mail address." in text(admin, f"{USERS}?q={person.email[:4]}%25")

    def test_pages_list_each_user_once(self, world: World) -> None:
        admin = world.person(admin=True)
        emails = {world.person(email=f"page{number}@paging.example.org").email for number in range(101)}
        first = text(admin, f"{USERS}?q=@paging.example.org")
        second = text(admin, USERS + following(first))
        listed = [re.findall(r">(page\d+@paging\.example\.org)<", page) for page in (first, second)]
        assert [len(part) for part in listed] == [100, 1]
        assert {*listed[0], *listed[1]} == emails
        assert "Load more" not in second

    def test_unknown_cursor_is_refused(self, world: World) -> None:
        assert world.person(admin=True).client.get(f"{USERS}?cursor=x").status_code == 400


class TestJobs:
    @pytest.fixture
    def quiet(self, store: str, tmp_path: Path) -> Iterator[Flask]:
        """An application with an empty queue."""
        with (
            another_database(store, tmp_path) as url,
            application(Settings.for_tests(tmp_path, DATABASE_URL=url)) as made,
        ):
            yield made

    def test_failed_job_is_listed_and_retried_once(self, quiet: Flask) -> None:
        world, engine = World(quiet), quiet.extensions["jobs"]
        admin = world.person(admin=True)
        assert "No job has failed permanently." in text(admin, JOBS)
        with quiet.app_context(), db.engine.begin() as connection:
            job_id = engine.defer(connection, JobCall("admin.hopeless", {"id": "secret_1"}))
        declared = {"admin.hopeless": Job("admin.hopeless", print, retries=0)}
        with quiet.app_context(), running_worker(engine, _fail, declared):
            until(lambda: "admin.hopeless" in text(admin, JOBS))
        page = text(admin, JOBS)
        assert "PermanentFailure: &lt;the repository is not available&gt;" in page
        assert "secret_1" not in page
        assert submit(admin, f"{JOBS}/retry", job_id=job_id).location == f"{JOBS}?done=retried"
        assert "admin.hopeless" not in text(admin, JOBS)
        assert "<dt>Waiting</dt><dd>1" in text(admin, JOBS)
        assert submit(admin, f"{JOBS}/retry", job_id=job_id).status_code == 404
        assert submit(world.person(), f"{JOBS}/retry", job_id=job_id).status_code == 403

    @pytest.mark.parametrize("job_id", ["", "x", "-1", "²", "9" * 19, "9" * 5000])
    def test_retry_of_an_unknown_job_is_refused(self, world: World, job_id: str) -> None:
        response = submit(world.person(admin=True), f"{JOBS}/retry", job_id=job_id)
        assert response.status_code == 404
        assert "<h1" in response.text


def _fail(_call: JobRun) -> None:
    raise PermanentFailure("<the repository is not available>")


class TestIndexes:
    def test_failed_and_outdated_indexes_are_listed_with_their_problem(self, console: ConsoleScene) -> None:
        admin, project = console.people["platform_admin"], console.ids["project_id"]
        assert isinstance(admin, Person)
        assert project not in pages(admin, INDEXES)
        assert project in pages(admin, f"{INDEXES}?status=ready")
        for status, shown in ((IndexStatus.STALE, ">outdated</span>"), (IndexStatus.FAILED, ">failed</span>")):
            with console.app.app_context():
                changed = sa.update(ContentIndex).where(ContentIndex.project_id == project)
                db.session.execute(changed.values(status=status, problem="The branch <main> does not exist"))
                db.session.commit()
            page = pages(admin, INDEXES)
            assert project in page
            assert shown in page
            assert "The branch &lt;main&gt; does not exist" in page
            assert project in pages(admin, f"{INDEXES}?status={status}")
        assert project not in pages(admin, f"{INDEXES}?status=stale")
        assert admin.client.get(f"{INDEXES}?status=other").status_code == 400
