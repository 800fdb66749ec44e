"""Pushes with the `git` program: their effects, and the refusals that their user reads."""

from pathlib import Path
from typing import Any

import pytest

from app.core.permissions import Role
from tests.git_http.client import GitClient, Site
from tests.git_http.races import race
from tests.support.factories import limit
from tests.support.samples.gitrepo import SUBMODULE, SYMLINK, GitRepo

OTHER = "5a1e" * 10


def refused(git: GitClient, *arguments: str, within: str = "site") -> str:
    """Push, which must fail, and return the messages."""
    ran = git.run("push", *arguments, within=within)
    assert ran.code != 0
    assert "/tmp" not in ran.messages.replace(str(git.folder), "")
    return ran.messages


@pytest.fixture
def cloned(site: Site, git: GitClient) -> GitClient:
    """Return a client with a clone in the folder `site`."""
    git.clone(site.url(site.token()))
    return git


class TestEffects:
    def test_push_is_indexed_and_logged_with_the_owner_of_the_token(self, site: Site, cloned: GitClient) -> None:
        site.log()
        sha = cloned.commit("site", {"content/new.md": b"new\n", "README.md": b"# Other\n", "content/post.md": None})
        cloned.ok("push", "--quiet", within="site")
        assert site.head() == sha
        entries = {entry["file"]: entry for entry in site.log()}
        assert {file: entry["action"] for file, entry in entries.items()} == {
            "content/new.md": "create", "README.md": "update", "content/post.md": "delete",
        }  # fmt: skip
        for entry in entries.values():
            assert (entry["source"], entry["user_id"], entry["commit_sha"]) == ("push", site.owner.id, sha)
            assert entry["token"]["name"] == "Deploy"
        tree = site.owner.get(f"/project-content/{site.project}").ok()
        assert (tree["commit_sha"], tree["status"]) == (sha, "ready")

    def test_push_that_the_index_has_found_before_receives_its_user(self, site: Site, cloned: GitClient) -> None:
        site.log()
        cloned.commit("site", {"a.md": b"a\n"})
        cloned.ok("push", "--quiet", within="site")
        site.owner.post(f"/project-content/{site.project}/reindex", {})
        [entry] = site.log()
        assert (entry["source"], entry["user_id"]) == ("push", site.owner.id)

    def test_pusher_is_an_author_of_a_change_set(self, site: Site, git: GitClient) -> None:
        person = site.member(Role.EDITOR)
        made = site.owner.post(f"/project/{site.project}/change-sets", {"title": "Words"}).ok(201)
        git.clone(site.url(site.token("read", "write", person=person)), "--branch", made["branch"])
        git.commit("site", {"a.md": b"a\n"})  # Names another user.
        git.ok("push", "--quiet", within="site")
        site.owner.post(f"/change-set/{made['id']}/submit", {}).ok()
        person.post(f"/change-set/{made['id']}/reviews", {"verdict": "approve"}).fails(403, "OWN_REVIEW")

    def test_service_account_is_named_in_the_log(self, site: Site, git: GitClient) -> None:
        site.log()
        git.clone(site.url(site.token("read", "publish", organization=site.organization)))
        git.commit("site", {"a.md": b"a\n"})
        git.ok("push", "--quiet", within="site")
        [entry] = site.log()
        assert (entry["source"], entry["user_name"]) == ("push", "Deploy")

    def test_branches_tags_options_and_deletions_are_accepted(self, site: Site, cloned: GitClient) -> None:
        cloned.commit("site", {"a.md": b"a\n"})
        cloned.ok("tag", "--annotate", "v1", "--message", "One", within="site")
        cloned.ok("push", "-o", "ci.skip", "origin", "main:feature/a", "v1", within="site")
        assert site.repo.text("tag", "--list") == "v1"
        site.owner.get(f"/project-content/{site.project}?ref=feature/a").ok()
        cloned.ok("commit", "--amend", "--quiet", "--message", "Other", within="site")
        cloned.ok("push", "--force", "origin", "main:feature/a", within="site")
        assert site.head("feature/a") == cloned.ok("rev-parse", "main", within="site")
        cloned.ok("push", "origin", ":feature/a", ":v1", within="site")
        assert site.head("feature/a") is None
        site.world.work_off()
        site.owner.get(f"/project-content/{site.project}?ref=feature/a").fails(404)

    def test_large_push_is_stored_as_a_pack(self, site: Site, cloned: GitClient) -> None:
        sha = cloned.commit("site", {f"n/{number}.md": str(number).encode() for number in range(500)})
        cloned.ok("push", "--quiet", within="site")
        assert site.head() == sha
        site.repo.check()


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("origin", ":main"), "refs/heads/main: This is the working branch of a project. It cannot be deleted"),
            (("--force", "origin", "main"), "refs/heads/main: This is the working branch of a project. Its commits"),
            (("origin", "main:refs/other/a"), "refs/other/a: Only branches and tags can be pushed"),
            (("origin", "main:refs/replace/a"), "refs/replace/a: Only branches and tags can be pushed"),
            (("origin", "main:refs/heads/refs/a"), "refs/heads/refs/a: The name is HEAD, starts with - or refs/"),
            (("origin", "main^{tree}:refs/tags/tree"), "Branches and tags must name a commit"),
            (("origin", "main:refs/heads/new", ":main"), "It cannot be deleted"),
        ],
    )
    def test_update_is_refused_with_a_sentence(
        self, site: Site, cloned: GitClient, arguments: tuple[str, ...], sentence: str
    ) -> None:
        site.repo.git("config", "receive.denyDeleteCurrent", "ignore")
        before = site.refs()
        cloned.ok("commit", "--amend", "--quiet", "--message", "Other", within="site")
        assert sentence in refused(cloned, *arguments)
        assert site.refs() == before

    @pytest.mark.parametrize(
        ("scopes", "branch", "needed"),
        [(("read", "write"), "main", "publish"), (("read", "publish"), "feature", "write")],
    )
    def test_scope_depends_on_the_branch(
        self, site: Site, git: GitClient, scopes: tuple[str, ...], branch: str, needed: str
    ) -> None:
        git.clone(site.url(site.token(*scopes)))
        git.commit("site", {"a.md": b"a\n"})
        messages = refused(git, "origin", f"main:{branch}")
        assert f"remote: refs/heads/{branch}: The API token needs the scope {needed}" in messages
        git.ok("push", "origin", f"main:{'main' if branch == 'feature' else 'feature'}", within="site")

    def test_push_from_a_shallow_clone_of_another_repository_names_the_next_step(
        self, site: Site, cloned: GitClient, tmp_path: Path
    ) -> None:
        other = GitRepo(tmp_path / "other.git", {"a.md": b"a\n"})
        other.commit({"a.md": b"b\n"})
        cloned.clone(f"file://{other.folder}", "--depth=1", name="other")
        messages = refused(cloned, site.url(site.token()), "main:other", within="other")
        assert "If your clone is shallow, run: git fetch --unshallow" in messages
        cloned.ok("fetch", "--quiet", "--unshallow", within="other")
        cloned.ok("push", "--quiet", site.url(site.token()), "main:other", within="other")

    def test_stale_push_is_refused_by_git(self, site: Site, cloned: GitClient) -> None:
        site.repo.commit({"b.md": b"b\n"})
        cloned.commit("site", {"a.md": b"a\n"})
        assert "rejected" in refused(cloned)

    def test_working_branch_of_a_second_project_is_protected(self, site: Site, git: GitClient) -> None:
        site.project_on("second")
        git.clone(site.url(site.token("read", "write")))
        git.commit("site", {"a.md": b"a\n"})
        git.ok("push", "origin", "main:third", within="site")
        assert "needs the scope publish" in refused(git, "origin", "main:second")

    @pytest.mark.parametrize("is_own", [True, False], ids=["project", "second project"])
    def test_branch_of_change_sets_is_refused_with_the_code(self, site: Site, cloned: GitClient, is_own: bool) -> None:
        project, branch = (site.project, "main") if is_own else (site.project_on("second"), "second")
        site.owner.patch(f"/project/{project}", {"require_change_sets": True}).ok()
        cloned.commit("site", {"a.md": b"a\n"})
        assert f"remote: refs/heads/{branch}: CHANGE_SET_REQUIRED: " in refused(cloned, "origin", f"main:{branch}")
        cloned.ok("push", "origin", "main:feature", within="site")

    @pytest.mark.parametrize("is_removed", [True, False], ids=["removed", "limited"])
    def test_push_of_a_former_member_is_refused(self, site: Site, git: GitClient, is_removed: bool) -> None:
        person = site.member(Role.EDITOR)
        git.clone(site.url(site.token(person=person)))
        git.commit("site", {"a.md": b"a\n"})
        if is_removed:
            site.owner.patch(f"/organization/remove-member/{site.organization}", {"member_id": person.id}).ok()
        else:
            limit(site.world, site.organization, person)
        assert "The repository does not exist" in refused(git)

    def test_pack_above_the_limit_is_refused_with_a_sentence(self, site: Site, cloned: GitClient) -> None:
        cloned.commit("site", {"large.bin": site.noise(3 << 20)})
        messages = refused(cloned)
        assert "remote: fatal: pack exceeds maximum allowed size" in messages
        site.wait_for_no_process()
        assert not list(site.repo.folder.glob("objects/tmp_*"))
        cloned.ok("reset", "--quiet", "--hard", "origin/main", within="site")
        cloned.commit("site", {"small.bin": site.noise(1 << 20)})
        cloned.ok("push", "--quiet", within="site")


class TestContent:
    @pytest.mark.parametrize(
        ("path", "content"),
        [
            ("links/file", (SYMLINK, b"../README.md")),
            ("links/folder", (SYMLINK, b"./a/../../content")),
            ("links/broken", (SYMLINK, b"nowhere")),
            ("vendor/theme", (SUBMODULE, OTHER)),
        ],
    )
    def test_inner_links_and_submodules_are_accepted(self, site: Site, git: GitClient, path: str, content: Any) -> None:
        sha = site.push_tree(git, [{path: content}])
        assert site.head() == sha

    @pytest.mark.parametrize(
        ("path", "content", "sentence"),
        [
            ("etc", (SYMLINK, b"/etc/passwd"), "'etc': The symbolic link must lead to a path of the repository"),
            ("a/b", (SYMLINK, b"../../c"), "'a/b': The symbolic link must lead to a path of the repository"),
            ("a/b", (SYMLINK, b"x" * 5000), "'a/b': The symbolic link must lead to a path of the repository"),
            ("a\\b.md", b"a", "'a\\\\b.md': The path must not contain a backslash"),
            ("a\x1b[31m.md", b"a", "'a\\x1b[31m.md': The path must not contain control"),
            ("a/" + "b" * 300, b"a", "A segment of the path must have at most 255 bytes"),
            ("/".join(["a" * 200] * 6), b"a", "The path must have 1 to 1,024 bytes"),
        ],
    )
    @pytest.mark.parametrize("is_hidden", [False, True], ids=["head", "earlier commit"])
    def test_hostile_path_is_refused_with_a_sentence(
        self, site: Site, git: GitClient, path: str, content: Any, sentence: str, is_hidden: bool
    ) -> None:
        before, commits = site.refs(), [{path: content}, *([{path: None}] if is_hidden else [])]
        assert sentence in site.push_tree(git, commits, is_refused=True)
        assert site.refs() == before

    @pytest.mark.parametrize("path", [".git/config", "a/.GIT/hooks/x", "a/git~1/x"])
    def test_path_that_git_refuses_is_refused(self, site: Site, git: GitClient, path: str) -> None:
        before = site.refs()
        messages = site.push_tree(git, [{path: b"a"}], is_refused=True)
        assert "remote: error: " in messages
        assert site.refs() == before

    @pytest.mark.parametrize(
        ("path", "other"),
        [
            ("content/POST.md", "content/post.md"),
            ("Content/other.md", "content"),
            ("CONTENT", "content"),
            ("readme.MD", "README.md"),
        ],
    )
    def test_name_that_differs_in_case_only_is_refused_with_the_other_one(
        self, site: Site, git: GitClient, path: str, other: str
    ) -> None:
        before, first = site.refs(), path if "/" not in path or other != "content" else "Content"
        messages = site.push_tree(git, [{path: b"a"}, {"later.md": b"a"}], is_refused=True)
        assert f"'{first}': '{other}' exists. A name cannot differ from it in case or accents only" in messages
        assert site.refs() == before

    def test_renamed_case_and_removed_equal_names_are_accepted(self, site: Site, git: GitClient) -> None:
        names = {"content/POST.md": b"a", "content/post.md": None}
        assert site.push_tree(git, [names, {"readme.md": b"a"}, {"readme.md": None}]) == site.head()

    def test_old_equal_names_do_not_block_pushes(self, site: Site, git: GitClient) -> None:
        site.repo.commit({"content/POST.md": b"a"})
        assert site.push_tree(git, [{"content/new.md": b"a"}]) == site.head()

    def test_link_that_only_a_merge_adds_is_refused(self, site: Site, git: GitClient) -> None:
        side = site.repo.commit({"side.md": b"side\n"}, branch="side")
        messages = site.push_tree(git, [{"etc": (SYMLINK, b"/etc/passwd")}], merge=side, is_refused=True)
        assert "remote: 'etc': The symbolic link" in messages

    def test_old_fault_of_the_repository_does_not_block_pushes(self, site: Site, git: GitClient) -> None:
        site.repo.commit({"etc": (SYMLINK, b"/etc/passwd")})
        assert site.push_tree(git, [{"a.md": b"a"}]) == site.head()


class TestRaces:
    def test_racing_pushes_and_saves_lose_no_commit(self, site: Site, git: GitClient) -> None:
        assert race(site, git, savers=2, pushers=2, edits=3) == []
