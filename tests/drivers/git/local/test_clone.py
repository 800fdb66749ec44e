"""Tests of clones from URLs, against a loopback server."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.urls import parse_clone_url
from app.drivers.errors import UpstreamRejected
from app.drivers.git.errors import RepositoryExists
from app.drivers.git.local.creation import clone_repository, pinned
from app.drivers.git.local.provider import LocalGit
from app.drivers.git.port import Person
from tests.support.samples.gitrepo import GitRepo
from tests.support.servers.repositories import RepositoryServer, repository_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RepositoryServer]:
    (tmp_path / "public").mkdir()
    with repository_server(tmp_path / "public") as started:
        yield started


@pytest.fixture
def source(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "public/docs.git", {"a.md": b"a\n"}, branch="trunk")


@pytest.fixture
def local(tmp_path: Path, server: RepositoryServer) -> Iterator[LocalGit]:
    provider = LocalGit(tmp_path / "git", bot=Person("Bot", "bot@mail.example.org"), clone_hosts=[server.host])
    yield provider
    provider.close()


def ignore(_received: int) -> None:
    pass


def test_clone_copies_the_branches_with_their_history(
    local: LocalGit, server: RepositoryServer, source: GitRepo, tmp_path: Path
) -> None:
    source.commit({"b.md": b"b\n"}, branch="trunk")
    work = source.commit({"c.md": b"c\n"}, branch="work/one", start=source.head("trunk"))
    source.git("tag", "v1", source.head("trunk"))
    sizes: list[int] = []
    cloned = local.clone("team/docs", server.url(source), watch=sizes.append)
    target = GitRepo.existing(tmp_path / "git/team/docs.git")
    assert cloned.default_branch == "trunk"
    assert (target.head("trunk"), target.head("work/one")) == (source.head("trunk"), work)
    assert target.text("for-each-ref", "--format=%(refname)") == "refs/heads/trunk\nrefs/heads/work/one"
    assert "127.0.0.1" not in (target.folder / "config").read_text()
    assert sizes
    assert sizes[-1] > 0
    target.check()
    with pytest.raises(RepositoryExists):
        local.clone("team/docs", server.url(source), watch=ignore)


@pytest.mark.parametrize(
    ("path", "code"),
    [("none.git", "CLONE_FAILED"), ("moved/docs.git", "CLONE_FAILED"), ("empty.git", "REPOSITORY_EMPTY")],
)
def test_clone_of_an_unusable_repository_leaves_nothing(
    local: LocalGit, server: RepositoryServer, source: GitRepo, tmp_path: Path, path: str, code: str
) -> None:
    server.url(source)
    server.url(GitRepo(tmp_path / "public/empty.git"))
    with pytest.raises(UpstreamRejected) as rejected:
        local.clone("team/docs", f"http://{server.host}/{path}", watch=ignore)
    assert rejected.value.code == code
    assert not (tmp_path / "git/team/docs.git").exists()
    assert list((tmp_path / "git/.new").iterdir()) == []


def test_clone_of_a_large_repository_is_ended(server: RepositoryServer, source: GitRepo, tmp_path: Path) -> None:
    root = tmp_path / "git"
    root.mkdir()
    with pytest.raises(UpstreamRejected, match="too large"):
        clone_repository(
            root, root / "a.git", server.url(source), hosts=[server.host], watch=ignore, max_bytes=100
        )  # fmt: skip
    assert not (root / "a.git").exists()


def test_error_of_the_watcher_ends_the_clone(local: LocalGit, server: RepositoryServer, source: GitRepo) -> None:
    def stop(_received: int) -> None:
        raise UpstreamRejected("The import was deleted")

    with pytest.raises(UpstreamRejected, match="deleted"):
        local.clone("team/docs", server.url(source), watch=stop)


class TestAddresses:
    """The host of a URL must have public addresses, which Git then uses."""

    def test_host_that_the_operator_does_not_list_is_not_contacted(
        self, server: RepositoryServer, source: GitRepo, tmp_path: Path
    ) -> None:
        local = LocalGit(tmp_path / "git", bot=Person("Bot", "bot@mail.example.org"))
        url = server.url(source)
        for address in (url, url.replace("http:", "https:"), url.replace("http://127.0.0.1", "https://localhost")):
            with pytest.raises(UpstreamRejected) as rejected:
                local.clone("team/docs", address, watch=ignore)
            assert rejected.value.code == "INVALID_URL"
        assert server.paths == []
        local.close()

    @pytest.mark.parametrize("answers", [["10.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::ffff:10.0.0.1"], []])
    def test_name_with_a_private_address_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: list[str]
    ) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", (one, 443)) for one in answers])
        with pytest.raises(UpstreamRejected) as rejected:
            clone_repository(
                tmp_path, tmp_path / "a.git", "https://docs.example.org/a", hosts=(), watch=ignore
            )  # fmt: skip
        assert rejected.value.code == "INVALID_URL"

    def test_name_is_pinned_to_its_checked_addresses(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("1.1.1.1", 443))])
        source = parse_clone_url("https://Docs.example.org/a", ())
        assert source is not None
        assert pinned(source) == ("http.curloptResolve=docs.example.org:443:1.1.1.1",)

    def test_git_uses_a_pinned_address(self, server: RepositoryServer, source: GitRepo) -> None:
        port = server.host.partition(":")[2]
        url = server.url(source).replace("127.0.0.1", "docs.invalid")
        option = f"http.curloptResolve=docs.invalid:{port}:127.0.0.1"
        assert source.head("trunk").encode() in source.git("-c", option, "ls-remote", url)
