"""Tests of the site writer. Hostile trees of `git mktree` write nothing outside of their folder."""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.site_files import write_site
from app.drivers.sandbox.port import EXECUTABLE, SYMLINK, SiteFile

FILE, LINK, FOLDER = b"100644", b"120000", b"40000"


class Repository:
    """A bare repository that stores trees without validation."""

    def __init__(self, path: Path) -> None:
        self.path = path
        subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)

    def git(self, *arguments: str, data: bytes = b"") -> bytes:
        command = ["git", "-C", str(self.path), *arguments]
        return subprocess.run(command, input=data, check=True, capture_output=True).stdout

    def blob(self, content: bytes) -> bytes:
        return self.git("hash-object", "-w", "--stdin", data=content).strip()

    def tree(self, entries: list[tuple[bytes, bytes, bytes]]) -> bytes:
        """Store entries (mode, name, object id) in this order and without a check."""
        data = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(sha.decode()) for mode, name, sha in entries)
        return self.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", data=data).strip()

    def mktree(self, entries: list[tuple[bytes, bytes, bytes]]) -> bytes:
        kinds = {FOLDER: b"tree"}
        rows = [
            mode.rjust(6, b"0") + b" " + kinds.get(mode, b"blob") + b" " + sha + b"\t" + name
            for mode, name, sha in entries
        ]
        return self.git("mktree", "-z", data=b"\0".join(rows) + b"\0").strip()

    def files(self, tree: bytes) -> list[SiteFile]:
        """Return the entries as the local Git driver lists them."""
        files = []
        for row in self.git("ls-tree", "-r", "-z", tree.decode()).split(b"\0")[:-1]:
            head, _, path = row.partition(b"\t")
            mode, _, sha = head.split(b" ")
            files.append(SiteFile(os.fsdecode(path), mode.decode(), self.git("cat-file", "blob", sha.decode())))
        return files


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Folder that no tree may change. The site is written below its sibling."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_bytes(b"untouched")
    return folder


def state_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def hostile_trees(repository: Repository, outside: Path) -> Iterator[bytes]:
    """Yield 200 trees: duplicates, links above entries, `..`, `.git`, absolute and colliding names, mixed at random."""
    content = repository.blob(b"evil")
    link = repository.blob(str(outside).encode())
    dots = repository.blob(b"../../outside")
    below = repository.mktree([(FILE, b"file", content), (FILE, b"new", content)])
    deep = repository.mktree([(FOLDER, b"outside", below)])
    atoms: list[list[tuple[bytes, bytes, bytes]]] = [
        [(LINK, b"x", link), (FOLDER, b"x", below)],
        [(FOLDER, b"x", below), (LINK, b"x", link)],
        [(LINK, b"x", dots), (FOLDER, b"x", below)],
        [(LINK, b"X", link), (FOLDER, b"x", below)],
        [(LINK, b"caf\xc3\xa9", link), (FOLDER, b"cafe\xcc\x81", below)],
        [(LINK, b"\xe2\x84\xaa", link), (FOLDER, b"k", below)],
        [(FOLDER, b"..", deep)],
        [(FOLDER, b"..", repository.mktree([(FOLDER, b"..", deep)]))],
        [(FOLDER, b".git", below)],
        [(FOLDER, b".GiT", below)],
        [(FOLDER, b"git~1", below)],
        [(FOLDER, b".g\xe2\x80\x8cit", below)],
        [(FILE, b"/etc/galley-evil", content)],
        [(FILE, str(outside).encode() + b"/new", content)],
        [(FILE, b"../../outside/new", content)],
        [(FILE, b".", content)],
        [(FILE, b"", content)],
        [(FILE, b"a\\..\\b", content)],
        [(FILE, b"x", content), (FILE, b"x", content)],
        [(LINK, b"x", link), (FILE, b"x", content)],
        [(LINK, b"x", repository.blob(b"a\0b"))],
        [(LINK, b"x", link), (LINK, b"x", dots), (FOLDER, b"x", below)],
        [(LINK, b"node_modules", link)],
        [(FILE, b"\xff\xfe", content)],
    ]
    generator = random.Random(17)
    for number in range(200):
        chosen = (
            atoms[number]
            if number < len(atoms)
            else [entry for atom in generator.sample(atoms, generator.randint(2, 4)) for entry in atom]
        )
        entries = [*chosen, (FILE, b"index.html", content)]
        generator.shuffle(entries)
        tree = repository.tree(entries)
        yield repository.tree([(FOLDER, b"nested", tree)]) if number % 3 == 2 else tree


def test_write_site_hostile_trees_write_nothing_outside(tmp_path: Path, outside: Path) -> None:
    repository = Repository(tmp_path / "hostile.git")
    before, refused = state_of(outside), 0
    for number, tree in enumerate(hostile_trees(repository, outside)):
        folder = tmp_path / f"site-{number}"
        folder.mkdir()
        try:
            write_site(folder, repository.files(tree), user=None, max_bytes=10**6, folders=["node_modules"])
        except (UpstreamRejected, subprocess.CalledProcessError):  # Git refuses some of the trees itself.
            refused += 1
        assert state_of(outside) == before
    assert refused == 200
    assert not Path("/etc/galley-evil").exists()
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"site", "outside", "hostile.git"}


@pytest.mark.parametrize(
    "paths",
    [
        ["a", "a"],
        ["a", "a/b"],
        ["a/b", "a"],
        ["Straße", "STRASSE"],
        ["caf\u00e9/a", "cafe\u0301/b"],
        ["a/../b"],
        ["/a"],
        ["a//b"],
        [".git/config"],
        ["a\0b"],
        ["a/" * 300 + "b" * 500],
    ],
)
def test_write_site_invalid_or_colliding_paths_are_refused(tmp_path: Path, paths: list[str]) -> None:
    files = [SiteFile(path, "100644", b"") for path in paths]
    with pytest.raises(UpstreamRejected):
        write_site(tmp_path, files, user=None, max_bytes=1000, folders=[])


def test_write_site_existing_link_is_not_followed(tmp_path: Path, outside: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "x").symlink_to(outside)
    for file in (SiteFile("x/new", "100644", b""), SiteFile("x", "100644", b"")):
        with pytest.raises(UpstreamRejected):
            write_site(folder, [file], user=None, max_bytes=1000, folders=[])
    assert [path.name for path in outside.iterdir()] == ["file"]


def test_write_site_valid_tree_keeps_content_modes_and_links(tmp_path: Path) -> None:
    files = [
        SiteFile("a/b/c", "100644", b"c"),
        SiteFile("a/run", EXECUTABLE, b"run"),
        SiteFile("link", SYMLINK, b"a/b"),
    ]
    write_site(tmp_path, files, user=None, max_bytes=1000, folders=["a/node_modules"])
    assert (tmp_path / "a/b/c").read_bytes() == b"c"
    assert (tmp_path / "a/run").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "link").readlink() == Path("a/b")
    assert (tmp_path / "a/node_modules").is_dir()
