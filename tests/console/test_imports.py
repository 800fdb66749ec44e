"""Connection of a repository from a clone URL and from an archive, with plain forms."""

import io
import os
import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from werkzeug.test import TestResponse

from app.drivers.git.local.creation import MARKER
from app.extensions import db, drivers
from app.models.project import ImportStatus, LocalRepository, RepositoryImport
from app.resources.git_provider.jobs import remove_unclaimed
from config import Settings
from tests.console.conftest import ConsoleScene
from tests.console.test_organizations import submit
from tests.core.test_archives import FILES, tarred, zipped
from tests.support import factories
from tests.support.applications import application
from tests.support.databases import another_database
from tests.support.parallel import together
from tests.support.samples.gitrepo import GitRepo
from tests.support.servers.repositories import repository_server
from tests.support.world import Person, World

ORIGIN = {"Origin": "http://127.0.0.1:8000"}


def upload(person: Person, organization: str, name: str, data: bytes, **fields: Any) -> TestResponse:
    """Send the form for an archive."""
    url = f"/console/organizations/{organization}/connect/archive"
    with person.app.app_context():
        return person.client.post(url, data=fields | {"archive": (io.BytesIO(data), name)}, headers=ORIGIN)


@pytest.mark.one_database
class TestClone:
    @pytest.fixture
    def cloning(self, store: str, tmp_path: Path) -> Iterator[World]:
        """An application that may clone from this machine."""
        with (
            another_database(store, tmp_path) as url,
            application(Settings.for_tests(tmp_path, DATABASE_URL=url, GIT_CLONE_HOSTS="127.0.0.1")) as made,
        ):
            yield World(made)

    def test_clone_shows_its_progress_and_leads_to_the_project(self, cloning: World, tmp_path: Path) -> None:
        owner = cloning.person()
        base = f"/console/organizations/{owner.new_organization()}"
        repo = GitRepo(tmp_path / "public/Docs.git", {"content/a.md": b"A\n"})
        with repository_server(tmp_path / "public") as server:
            url = server.url(repo)
            started = submit(owner, f"{base}/connect/clone", clone_url=url, clone_name="")
            assert started.status_code == 303
            waiting = owner.client.get(started.location)
            assert waiting.headers["Refresh"] == "3"
            assert "The clone starts soon." in waiting.text
            assert url in waiting.text
            assert started.location in owner.client.get(f"{base}/connect").text
            assert started.location in owner.client.get(base).text
            cloning.work_off()
        done = owner.client.get(started.location)
        assert (done.status_code, "Refresh" in done.headers) == (303, False)
        project = owner.client.get(done.location).text
        assert "Docs" in project
        assert "Repository connected" in project
        assert owner.client.get(started.location.replace("imp_0", "imp_1")).status_code == 404

    def test_failed_clone_shows_the_reason(self, cloning: World, tmp_path: Path) -> None:
        owner = cloning.person()
        base = f"/console/organizations/{owner.new_organization()}"
        (tmp_path / "public").mkdir()
        with repository_server(tmp_path / "public") as server:
            started = submit(owner, f"{base}/connect/clone", clone_url=f"http://{server.host}/a", clone_name="Docs")
            cloning.work_off()
        shown = owner.client.get(started.location)
        assert "There is no public repository at this URL, or Git finds faults in it" in shown.text
        assert "Refresh" not in shown.headers
        assert f'{base}/connect?provider=local#clone"' in shown.text

    def test_running_clone_shows_the_received_bytes(self, console: ConsoleScene) -> None:
        with console.app.app_context():
            row = RepositoryImport(
                organization_id=console.ids["org_id"],
                user_id=console.site.owner.id,
                repository="a/b",
                project_name="Docs",
                url="https://example.org/docs",
                status=ImportStatus.RUNNING,
                received_bytes=3 << 20,
            )
            db.session.add(row)
            db.session.commit()
            url = f"/console/organizations/{console.ids['org_id']}/imports/{row.id}"
        assert "3.0 MB received" in console.site.owner.client.get(url).text
        stranger: Any = console.people["owner_other"]
        assert stranger.client.get(url).status_code == 403

    @pytest.mark.parametrize("url", ["", "http://127.0.0.1/a", "https://u:p@example.org/a", "git@example.org:a/b"])
    def test_other_url_is_refused_at_the_field(self, console: ConsoleScene, url: str) -> None:
        path = f"/console/organizations/{console.ids['org_id']}/connect/clone"
        refused = submit(console.site.owner, path, clone_url=url, clone_name="Docs")
        assert refused.status_code == 400
        assert 'id="clone_url-error"' in refused.text
        assert 'value="Docs"' in refused.text


@pytest.mark.one_database
class TestArchive:
    @pytest.mark.parametrize(("name", "pack"), [("Our site.zip", zipped), ("Our site.tar.gz", tarred)])
    def test_archive_becomes_a_project(self, console: ConsoleScene, name: str, pack: Any) -> None:
        organization, owner = console.ids["org_id"], console.site.owner
        done = upload(owner, organization, name, pack(FILES))
        assert done.location.endswith("?done=connected")
        assert "<title>Our site" in owner.client.get(done.location).text
        repo = GitRepo.existing(console.site.world.git_root / organization / "our-site.git")
        assert {path: repo.show(path) for path in repo.entries()} == FILES

    def test_entered_name_is_used_and_a_taken_one_is_refused(self, console: ConsoleScene) -> None:
        organization, owner = console.ids["org_id"], console.site.owner
        assert upload(owner, organization, "a.zip", zipped(FILES), archive_name="Docs").status_code == 303
        listed = owner.client.get(f"/console/organizations/{organization}/connect?provider=local").text
        assert re.search(
            r'<span class="mono">docs</span> <span class="[^"]*">connected</span> <a [^>]*>Docs</a>', listed
        )
        assert f"{organization}/docs" not in owner.client.get("/console").text
        again = upload(owner, organization, "b.zip", zipped(FILES), archive_name="Docs")
        assert again.status_code == 409
        assert "There is already a project of this name in the organization" in again.text
        assert 'value="Docs"' in again.text

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"no archive", "The file is not a zip or tar.gz archive"),
            (zipped({"../up.md": b"x"}), "../up.md"),
            (zipped({"a": b"/etc/passwd"}, 0o120777), "links and devices are not accepted"),
        ],
    )
    def test_hostile_archive_is_refused_at_the_field(self, console: ConsoleScene, data: bytes, message: str) -> None:
        organization = console.ids["org_id"]
        refused = upload(console.site.owner, organization, "a.zip", data)
        assert refused.status_code == 400
        assert 'id="archive-error"' in refused.text
        assert message in refused.text
        assert not list((console.site.world.git_root / organization).glob("*"))

    def test_form_without_a_file_is_refused_at_the_field(self, console: ConsoleScene) -> None:
        refused = upload(console.site.owner, console.ids["org_id"], "", b"")
        assert refused.status_code == 400
        assert 'id="archive-error"' in refused.text


class TestLimit:
    @pytest.fixture
    def limited(self, store: str, tmp_path: Path) -> Iterator[World]:
        """An application whose users may own two projects."""
        with (
            another_database(store, tmp_path) as url,
            application(Settings.for_tests(tmp_path, DATABASE_URL=url, LIMIT_PROJECTS=2)) as made,
        ):
            yield World(made)

    def test_refused_archive_leaves_neither_repository_nor_name(self, limited: World) -> None:
        owner = limited.person()
        organization = owner.new_organization()
        outcomes = [upload(owner, organization, f"{n}.zip", zipped(FILES)).status_code for n in range(5)]
        assert outcomes == [303, 303, 403, 403, 403]
        assert sorted(path.name for path in (limited.git_root / organization).iterdir()) == ["0.git", "1.git"]
        assert names_of(limited) == [f"{organization}/0", f"{organization}/1"]

    def test_archive_with_the_name_of_a_project_creates_no_repository(self, limited: World) -> None:
        owner = limited.person()
        organization = owner.new_organization()
        name, _ = factories.repository(limited, FILES)
        owner.new_project(organization, name, project_name="Docs")
        assert upload(owner, organization, "a.zip", zipped(FILES), archive_name="Docs").status_code == 409
        assert not (limited.git_root / organization).exists()

    def test_parallel_archives_at_the_limit_create_one_project(self, limited: World) -> None:
        owner = limited.person()
        organization = owner.new_organization()
        assert upload(owner, organization, "first.zip", zipped(FILES)).status_code == 303
        people = [owner.again() for _ in range(6)]

        def send(number: int) -> int:
            return upload(people[number], organization, f"{number}.zip", zipped(FILES)).status_code

        outcomes = together([partial(send, number) for number in range(6)])
        assert sorted(outcomes) == [303, *[403] * 5]
        assert len(list((limited.git_root / organization).iterdir())) == 2
        assert len(names_of(limited)) == 2

    def test_repository_of_a_killed_request_is_removed_after_an_hour(self, limited: World) -> None:
        owner = limited.person()
        organization = owner.new_organization()
        assert upload(owner, organization, "kept.zip", zipped(FILES)).status_code == 303
        with limited.app.app_context():
            for name in ("killed", "recent"):
                drivers.git.local.create(f"{organization}/{name}", is_claimed=False)
            drivers.git.local.create(f"{organization}/operator")
            for name in ("kept", "killed"):
                os.utime(limited.git_root / organization / f"{name}.git" / MARKER, (time.time() - 7_200,) * 2)
            for _ in range(2):
                remove_unclaimed(git=drivers.git)
        names = sorted(path.name for path in (limited.git_root / organization).iterdir())
        assert names == ["kept.git", "operator.git", "recent.git"]
        assert not (limited.git_root / organization / "kept.git" / MARKER).exists()


def names_of(world: World) -> list[str]:
    with world.app.app_context():
        return sorted(db.session.scalars(sa.select(LocalRepository.name)))
