"""The Git LFS client against a server that stores no LFS objects: it shows the sentence of the server."""

import hashlib

import pytest

from tests.git_http.client import GitClient, Site
from tests.support.programs import required_program

SENTENCE = "The server does not store Git LFS objects. Set lfs.url in .lfsconfig to a server that stores them"
IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(2_000)
POINTER = (
    f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(IMAGE).hexdigest()}\nsize {len(IMAGE)}\n"
).encode()
ATTRIBUTES = b"*.png filter=lfs diff=lfs merge=lfs -text\n"


@pytest.fixture
def lfs(git: GitClient) -> dict[str, str]:
    """Return the environment of a user who has installed Git LFS."""
    required_program("git-lfs")
    config = git.folder / "gitconfig"
    environment = {"GIT_CONFIG_GLOBAL": str(config), "HOME": str(git.folder)}
    git.ok("lfs", "install", "--skip-repo", environment=environment)
    return environment


class TestLfsClient:
    def test_push_of_an_object_shows_the_sentence(self, site: Site, git: GitClient, lfs: dict[str, str]) -> None:
        git.ok("clone", "--quiet", site.url(site.token()), "site", environment=lfs)
        folder = git.folder / "site"
        git.ok("lfs", "install", "--local", within="site", environment=lfs)
        folder.joinpath(".gitattributes").write_bytes(ATTRIBUTES)
        folder.joinpath("pier.png").write_bytes(IMAGE)
        git.ok("add", "--all", within="site", environment=lfs)
        git.ok("commit", "--quiet", "--message", "Image", within="site", environment=lfs)
        refused = git.run("push", within="site", environment=lfs)
        assert refused.code != 0
        assert SENTENCE in refused.messages

    def test_clone_of_a_pointer_shows_the_sentence(self, site: Site, git: GitClient, lfs: dict[str, str]) -> None:
        site.repo.commit({".gitattributes": ATTRIBUTES, "pier.png": POINTER})
        refused = git.run("clone", site.url(site.token()), "site", environment=lfs)
        assert SENTENCE in refused.messages

    @pytest.mark.parametrize("path", ["info/lfs", "info/lfs/objects/batch", "info/lfs/locks/verify"])
    def test_every_url_of_lfs_is_not_implemented(self, site: Site, path: str) -> None:
        reply = site.send("POST", f"/git/{site.repository}.git/{path}", b"{}", token=site.token())
        assert (reply.status, reply.headers["Content-Type"]) == (501, "application/vnd.git-lfs+json")
        assert SENTENCE in reply.text
