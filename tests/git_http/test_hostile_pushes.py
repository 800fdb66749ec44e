"""Small pushes whose content is large: each is refused with a sentence, and the refs stay as they are."""

import resource

import psutil
import pytest

from app.core.limits import PushLimits
from app.git_http.pre_receive import REF_NAME
from tests.git_http.client import Site
from tests.git_http.packs import NOTHING, Pack, push

pytestmark = pytest.mark.one_database

NAMES = [f"{number:03}" for number in range(1_000)]
FILE = "100644"


def refused(site: Site, pack: Pack, commit: str, ref: str = "refs/heads/new") -> str:
    """Push a commit to a new ref, which must fail, and return the messages."""
    before = site.refs()
    reply = push(site, site.token(), [(NOTHING, commit, ref)], pack)
    assert reply.status == 200
    assert site.refs() == before
    site.wait_for_no_process()
    return reply.text


def accepted(site: Site, pack: Pack, commit: str, ref: str = "refs/heads/new") -> None:
    """Push a commit to a new ref."""
    reply = push(site, site.token(), [(NOTHING, commit, ref)], pack)
    assert f"ok {ref}" in reply.text, reply.text


class TestLimits:
    @pytest.mark.parametrize("program", ["git-receive-pack", "git-upload-pack"])
    def test_all_processes_of_a_request_have_a_limit_of_memory(self, site: Site, program: str) -> None:
        with site.unfinished_requests(1, site.token(), service=program):
            limits = [psutil.Process(pid).rlimit(resource.RLIMIT_DATA) for pid in site.processes()]
        assert set(limits) == {(PushLimits.process_bytes, PushLimits.process_bytes)}


class TestObjects:
    def test_large_file_is_refused_with_its_path(self, site: Site) -> None:
        pack = Pack()
        large = pack.blob(bytes(PushLimits.blob_bytes + 1))
        commit = pack.commit(pack.tree({"posts": ("40000", pack.tree({"a.md": (FILE, large)}))}))
        assert "'posts/a.md': A file must have at most 100 MiB, also in earlier commits" in refused(site, pack, commit)

    def test_delta_that_expands_beyond_the_memory_is_refused(self, site: Site) -> None:
        pack = Pack()
        pack.expanding_delta(128)
        commit = pack.commit(pack.tree({"a.md": (FILE, pack.blob(b"a"))}))
        assert "Out of memory" in refused(site, pack, commit)

    @pytest.mark.parametrize("is_tag", [False, True], ids=["commit", "tag"])
    def test_long_message_is_refused(self, site: Site, is_tag: bool) -> None:
        pack, text = Pack(), "a" * PushLimits.message_bytes
        commit = pack.commit(pack.tree({"a.md": (FILE, pack.blob(b"a"))}), message="a" if is_tag else text)
        name, ref = (pack.tag(commit, message=text), "refs/tags/v1") if is_tag else (commit, "refs/heads/new")
        assert f"{name}: The message of a commit or tag must have at most 64 KiB" in refused(site, pack, name, ref)

    def test_large_folder_is_refused(self, site: Site) -> None:
        pack = Pack()
        names = (f"{number:0200}" for number in range(40_000))
        tree = pack.folder(names, pack.blob(b"a"), mode=FILE)
        assert f"{tree}: A folder must have at most 8 MiB of names" in refused(site, pack, pack.commit(tree))


class TestTrees:
    @pytest.mark.parametrize("depth", [2, 3])
    def test_tree_that_repeats_itself_is_refused(self, site: Site, depth: int) -> None:
        pack = Pack()
        tree = pack.folder(NAMES, pack.blob(b"a"), mode=FILE)
        for _ in range(depth - 1):
            tree = pack.folder(NAMES, tree)
        assert "can add or change at most 400,000 files and folders" in refused(site, pack, pack.commit(tree))

    @pytest.mark.parametrize("mode", ["40755", "0040000", "120777", "42"])
    def test_folder_or_link_cannot_hide_behind_an_uncommon_mode(self, site: Site, mode: str) -> None:
        """Git accepts these modes with a warning."""
        pack = Pack()
        sha = pack.blob(b"/etc/passwd") if mode == "120777" else pack.tree({"a.md": (FILE, pack.blob(b"a"))})
        commit = pack.commit(pack.tree({"a": (mode, sha)}))
        assert "A folder has an entry with a mode that Git does not write" in refused(site, pack, commit)

    def test_commits_of_a_push_share_one_budget(self, site: Site) -> None:
        pack = Pack()
        tree = pack.folder(NAMES, pack.folder(NAMES[:150], pack.blob(b"a"), mode=FILE))
        commits = [pack.commit(pack.tree({f"d{number}": ("40000", tree)})) for number in range(3)]
        accepted(site, pack, commits[0])
        assert "at most 400,000 files and folders" in refused(site, pack, pack.commit(tree, *commits), "refs/heads/b")

    def test_folder_that_repeats_itself_and_did_before_is_not_counted(self, site: Site) -> None:
        pack, later = Pack(), Pack()
        tree = pack.folder(NAMES, pack.folder(NAMES[:350], pack.blob(b"a"), mode=FILE))
        first = pack.commit(pack.tree({"a": ("40000", tree)}))
        accepted(site, pack, first)
        second = later.commit(later.tree({"a": ("40000", tree), "b.md": (FILE, later.blob(b"b"))}), first)
        reply = push(site, site.token(), [(first, second, "refs/heads/new")], later)
        assert "ok refs/heads/new" in reply.text

    def test_deep_folders_are_refused_by_the_length_of_their_path(self, site: Site) -> None:
        pack = Pack()
        tree = pack.tree({"a.md": (FILE, pack.blob(b"a"))})
        for _ in range(3_000):
            tree = pack.folder(["a"], tree)
        assert "The path must have 1 to 1,024 bytes" in refused(site, pack, pack.commit(tree))


class TestRefs:
    def test_too_many_updates_are_refused_before_any_process(self, site: Site) -> None:
        head = site.head()
        updates = [(NOTHING, str(head), f"refs/heads/n{number}") for number in range(PushLimits.updates + 1)]
        before = site.refs()
        reply = push(site, site.token(), updates, Pack())
        assert "A push can change at most 1,000 branches and tags" in reply.text
        assert site.refs() == before

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("a\u202eb", "a\\u202eb"),
            ("a\u2066b", "a\\u2066b"),
            ("a\u0085b", "a\\x85b"),
            ("b/" + "/".join(["a" * 84] * 3), "..."),
        ],
    )
    @pytest.mark.parametrize("kind", ["heads", "tags"])
    def test_name_with_hidden_characters_or_too_long_is_refused(
        self, site: Site, kind: str, name: str, shown: str
    ) -> None:
        message = refused(site, Pack(), str(site.head()), f"refs/{kind}/{name}")
        assert f"{shown}: {REF_NAME}" in message

    def test_hidden_name_of_an_existing_branch_can_be_deleted(self, site: Site) -> None:
        name = "refs/heads/a\u202eb"
        site.repo.git("update-ref", name, str(site.head()))
        reply = push(site, site.token(), [(str(site.head()), NOTHING, name)])
        assert f"ok {name}" in reply.text
        assert name not in site.refs()
