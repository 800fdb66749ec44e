"""Clones and fetches with the `git` program."""

import http.client
import threading
import time

import pytest

from app.drivers.git.hosts import GitService
from app.git_http.middleware import ADVERTISEMENT
from tests.git_http.client import FILES, GitClient, Site
from tests.support.samples.gitrepo import AWKWARD


class TestClone:
    @pytest.mark.parametrize("version", ["0", "1", "2"])
    def test_clone_with_each_protocol_has_all_files(self, site: Site, git: GitClient, version: str) -> None:
        git.ok("-c", f"protocol.version={version}", "clone", "--quiet", site.url(site.token("read")), "site")
        assert {path: (git.folder / "site" / path).read_bytes() for path in FILES} == FILES
        assert git.ok("rev-parse", "HEAD", within="site") == site.head()

    def test_clone_of_unusual_paths_has_the_same_tree(self, site: Site, git: GitClient) -> None:
        site.repo.commit(AWKWARD)
        git.clone(site.url(site.token("read")), "--bare")
        assert git.ok("rev-parse", "main^{tree}", within="site") == site.repo.text("rev-parse", "main^{tree}")

    def test_shallow_clone_has_one_commit_and_can_be_deepened(self, site: Site, git: GitClient) -> None:
        site.repo.commit({"more.md": b"more\n"})
        git.clone(site.url(site.token("read")), "--depth=1")
        assert git.ok("rev-list", "--count", "HEAD", within="site") == "1"
        git.ok("fetch", "--quiet", "--unshallow", within="site")
        assert git.ok("rev-list", "--count", "HEAD", within="site") == "2"

    def test_partial_clone_fetches_a_file_when_it_is_read(self, site: Site, git: GitClient) -> None:
        git.clone(site.url(site.token("read")), "--filter=blob:none", "--no-checkout")
        missing = git.ok("rev-list", "--objects", "--missing=print", "HEAD", within="site")
        assert len([line for line in missing.splitlines() if line.startswith("?")]) == len(FILES)
        assert git.ok("show", "HEAD:README.md", within="site") == "# Read me"

    def test_address_without_the_suffix_is_the_same_repository(self, site: Site, git: GitClient) -> None:
        git.clone(site.url(site.token("read")).removesuffix(".git"))
        assert git.ok("rev-parse", "HEAD", within="site") == site.head()

    def test_repository_without_a_commit_can_be_cloned(self, site: Site, git: GitClient) -> None:
        site.repo.git("update-ref", "-d", "refs/heads/main")
        git.clone(site.url(site.token("read")))
        assert git.run("rev-parse", "HEAD", within="site").code != 0


@pytest.mark.one_database
class TestManyRefs:
    """The names of 50,000 tags take some megabytes, more than the buffers between Git and a client."""

    TAGS = 50_000

    @pytest.fixture
    def tagged(self, site: Site) -> Site:
        site.add_tags(self.TAGS)
        return site

    @pytest.mark.parametrize("version", ["0", "2"])
    def test_repository_with_many_tags_can_be_cloned(self, tagged: Site, git: GitClient, version: str) -> None:
        url = tagged.url(tagged.token("read"))
        git.ok("-c", f"protocol.version={version}", "clone", "--quiet", "--bare", url, "site")
        assert len(git.ok("tag", within="site").splitlines()) == self.TAGS

    @pytest.mark.parametrize("version", [0, 2])
    def test_slow_client_receives_all_names(self, tagged: Site, version: int) -> None:
        with tagged.listing(tagged.token("read"), version=version) as client:
            answer, names = http.client.HTTPResponse(client), bytearray()
            answer.begin()
            while piece := answer.read(16_384):
                names += piece
                time.sleep(0.002)
        assert (answer.status, names[-4:]) == (200, b"0000")
        assert names.count(b" refs/tags/") == self.TAGS


class TestFetch:
    def test_fetch_reads_a_later_save(self, site: Site, git: GitClient) -> None:
        git.clone(site.url(site.token("read")))
        body = {
            "message": "Save",
            "base_sha": site.head(),
            "files": [{"action": "create", "path": "new.md", "content": "new\n"}],
        }
        sha = site.owner.post(f"/project-content/{site.project}/commit", body).ok(201)["commit_sha"]
        git.ok("pull", "--quiet", "--ff-only", within="site")
        assert git.ok("rev-parse", "HEAD", within="site") == sha

    def test_fetch_with_many_known_commits_sends_a_compressed_body(self, site: Site, git: GitClient) -> None:
        git.clone(site.url(site.token("read")))
        site.repo.commit_all([({"a.md": str(number).encode()}, f"Edit {number}") for number in range(300)])
        for number in range(100):
            git.commit("site", {"local.md": str(number).encode()})
        traced = git.run("fetch", "origin", within="site", environment={"GIT_CURL_VERBOSE": "1"})
        assert traced.code == 0
        assert "Content-Encoding: gzip" in traced.messages
        assert git.ok("rev-parse", "origin/main", within="site") == site.head()


class TestBusy:
    """The server has three slots for requests to Git, of which a user can occupy two."""

    def test_user_above_the_share_receives_503_and_others_are_served(self, site: Site, git: GitClient) -> None:
        token, other = site.token("read"), Site(site.service)
        with site.unfinished_requests(2, token):
            refused = site.get(f"/git/{site.repository}.git{ADVERTISEMENT}?service=git-upload-pack", token=token)
            assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
            git.clone(other.url(other.token("read")), name="other")
        site.wait_for_no_process()
        git.clone(site.url(token))

    def test_client_waits_until_another_has_ended(self, site: Site, git: GitClient) -> None:
        token = site.token("read")
        clone = threading.Thread(target=git.clone, args=(site.url(token),))
        with site.unfinished_requests(2, token):
            clone.start()
            time.sleep(0.5)
        clone.join()
        assert git.ok("rev-parse", "HEAD", within="site") == site.head()

    @pytest.mark.slow
    @pytest.mark.one_database
    def test_body_without_bytes_ends(self, site: Site) -> None:
        with (
            site.unfinished_requests(1, site.token("read")),
            site.unfinished_requests(1, site.token(), service=GitService.RECEIVE),
        ):
            site.wait_for_no_process(within_s=60)


class TestDisconnect:
    def test_killed_client_leaves_no_process(self, site: Site, git: GitClient) -> None:
        site.repo.commit({"large.bin": site.noise(8 << 20)})
        with site.unread_clone(site.token("read")) as processes:
            assert processes()
        site.wait_for_no_process()

    def test_killed_pusher_changes_nothing_and_leaves_no_process(self, site: Site) -> None:
        before = site.head()
        with site.unfinished_requests(1, site.token(), service="git-receive-pack"):
            pass
        site.wait_for_no_process()
        assert site.head() == before
        assert not list(site.repo.folder.glob("objects/tmp_*"))
