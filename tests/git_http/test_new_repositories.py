"""The first hour of a repository: its default branch, and an existing history that replaces the first commit."""

import subprocess

import pytest
import sqlalchemy as sa

from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.resources.project_content.images import site_roots
from app.resources.project_content.index import indexing
from tests.git_http.client import ENVIRONMENT, GitClient, Site
from tests.support import factories
from tests.support.samples.gitrepo import GitRepo
from tests.support.servers.service import Service

COMMITS = 1_000


class NewSite(Site):
    """A project on a repository that the service created."""

    def __init__(self, service: Service) -> None:
        self.service, self.world = service, service.world
        self.owner = self.world.person()
        self.organization = factories.organization(self.world, self.owner)
        body = {"provider": "local", "org_id": self.organization, "name": "site"}
        self.repository = self.owner.post("/git-provider/repositories", body).ok(201)["full_name"]
        self.repo = GitRepo.existing(self.world.git_root / f"{self.repository}.git")
        self.project = self.owner.new_project(self.organization, self.repository)


class TestDefaultBranch:
    def test_head_is_the_working_branch_of_the_oldest_project(self, site: Site, git: GitClient) -> None:
        git.clone(site.url(site.token()))
        git.ok("push", "--quiet", "origin", "HEAD:refs/heads/site", "HEAD:refs/heads/staging", within="site")
        assert self.head(site, git) == "main"
        self.connect(site, site.project, "site")
        assert self.head(site, git) == "site"
        second = site.project_on("other")
        self.connect(site, second, "staging")
        assert self.head(site, git) == "site"
        site.owner.delete(f"/project/{site.project}").ok()
        assert self.head(site, git) == "staging"

    def test_clone_checks_out_the_branch_of_a_new_project(self, site: Site, git: GitClient) -> None:
        site.owner.delete(f"/project/{site.project}").ok()
        site.repo.git("branch", "site", "main")
        body = {"org_id": site.organization, "project_name": "New", "provider": "local", "branch": "site"}
        site.owner.post("/project/create", body | {"repository": site.repository}).ok(201)
        site.world.work_off()
        git.clone(site.url(site.token()))
        assert git.ok("branch", "--show-current", within="site") == "site"

    @staticmethod
    def connect(site: Site, project: str, branch: str) -> None:
        site.owner.patch(f"/project/git/{project}", {"branch": branch}).ok()

    @staticmethod
    def head(site: Site, git: GitClient) -> str:
        site.world.work_off()
        listed = git.ok("ls-remote", "--symref", site.url(site.token()), "HEAD")
        return listed.partition("\t")[0].removeprefix("ref: refs/heads/")


@pytest.fixture
def history(git: GitClient) -> str:
    """Return the folder of a repository with a long history, which is not related to that of the service."""
    git.ok("init", "--quiet", "--initial-branch=main", "old")
    lines = [
        f"commit refs/heads/main\nmark :{n}\ncommitter A <a@mail.example.org> {1_600_000_000 + n} +0000\n"
        f"data 2\nE{n % 10}\n"
        + (f"from :{n - 1}\n" if n > 1 else "")
        + f"M 100644 inline content/{n}.md\ndata 2\nT\n\n"
        for n in range(1, COMMITS + 1)
    ]
    command = ["git", "fast-import", "--quiet"]
    subprocess.run(command, cwd=git.folder / "old", env=ENVIRONMENT, input="".join(lines).encode(), check=True)
    git.ok("reset", "--quiet", "--hard", within="old")
    return "old"


class TestExistingHistory:
    def test_first_commit_of_the_service_gives_way_to_a_forced_push(
        self, service: Service, git: GitClient, history: str
    ) -> None:
        site = NewSite(service)
        ran = git.run("push", "--force", site.url(site.token()), "main", within=history)
        assert ran.code == 0, ran.messages
        assert site.head() == git.ok("rev-parse", "main", within=history)
        assert site.repo.text("rev-list", "--count", "main") == str(COMMITS)
        site.world.work_off()
        assert site.owner.get(f"/project-content/{site.project}").ok()["total"] == COMMITS

    def test_history_after_another_commit_is_refused_and_the_message_says_how(
        self, service: Service, git: GitClient, history: str
    ) -> None:
        site = NewSite(service)
        saved = site.repo.commit({"a.md": b"a"})
        ran = git.run("push", "--force", site.url(site.token()), "main", within=history)
        assert ran.code != 0
        assert "git pull --rebase=false --allow-unrelated-histories" in ran.messages
        assert site.head() == saved
        git.ok(
            "pull",
            "--rebase=false",
            "--no-edit",
            "--allow-unrelated-histories",
            site.url(site.token()),
            "main",
            within=history,
        )
        git.ok("push", site.url(site.token()), "main", within=history)

    def test_first_commit_with_another_branch_or_of_a_client_stays(
        self, site: Site, service: Service, git: GitClient, history: str
    ) -> None:
        other = NewSite(service)
        other.repo.git("branch", "draft", "main")
        for one in (site, other):
            ran = git.run("push", "--force", one.url(one.token()), "main", within=history)
            assert "cannot be rewritten" in ran.messages


class TestGenerator:
    MKDOCS, HUGO = "mkdocs.yml", "hugo.toml"

    def test_pushed_files_set_the_generator_and_the_folder_of_images(self, service: Service, git: GitClient) -> None:
        site = NewSite(service)
        git.clone(site.url(site.token()))
        for files, generator, folder in (
            ({"content/a.md": b"A"}, None, ""),
            ({self.HUGO: b"title = 'A'\n"}, "hugo", "static"),
            ({self.HUGO: None, self.MKDOCS: b"site_name: A\n"}, "mkdocs", ""),
        ):
            git.commit("site", files)
            git.ok("push", "--quiet", within="site")
            site.world.work_off()
            assert self.generator(site) == generator
            assert self.image_folder(site) == folder

    def test_files_that_were_pushed_before_the_first_index_set_the_generator(
        self, service: Service, git: GitClient
    ) -> None:
        site = NewSite(service)
        site.repo.commit({self.HUGO: b"title = 'A'\n"})
        site.world.work_off()
        assert self.generator(site) == "hugo"

    def test_generator_of_a_user_stays(self, service: Service, git: GitClient) -> None:
        site = NewSite(service)
        site.owner.patch(f"/project/generator/{site.project}", {"generator": "astro"}).ok()
        git.clone(site.url(site.token()))
        git.commit("site", {self.HUGO: b"title = 'A'\n"})
        git.ok("push", "--quiet", within="site")
        site.world.work_off()
        assert self.generator(site) == "astro"

    def test_saved_files_set_the_generator_and_files_of_another_branch_do_not(self, service: Service) -> None:
        site = NewSite(service)
        file = {"path": self.MKDOCS, "action": "create", "content": "site_name: A\n"}
        site.repo.git("branch", "other", "main")
        for branch, generator in (("other", None), ("main", "mkdocs")):
            body = {"message": "Add", "base_sha": site.head(branch), "branch": branch, "files": [file]}
            site.owner.post(f"/project-content/{site.project}/commit", body).ok(201)
            site.world.work_off()
            assert self.generator(site) == generator

    def test_commits_of_the_host_set_the_generator(self, service: Service) -> None:
        site = NewSite(service)
        site.world.work_off()
        site.repo.commit({self.HUGO: b"title = 'A'\n"})
        with site.world.app.app_context(), db.session.begin():
            index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()
            indexing.enqueue(index)
        site.world.work_off()
        assert self.generator(site) == "hugo"

    @staticmethod
    def generator(site: Site) -> object:
        return site.owner.get(f"/project/{site.project}").ok()["generator"]

    @staticmethod
    def image_folder(site: Site) -> str:
        with site.world.app.app_context():
            return site_roots(db.session.get_one(Project, site.project), None).media_folder("")
