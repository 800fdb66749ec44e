"""Tests of the restore of past versions through the API, checked with Git."""

from itertools import pairwise
from typing import Any

import pytest

from tests.resources.project_content.conftest import FILES, POST, Site, make_site
from tests.support.restores import race_restores
from tests.support.samples.gitrepo import SUBMODULE, SYMLINK
from tests.support.world import Answer, World

pytestmark = pytest.mark.slow

HELLO = "content/posts/hello.md"


def restore(site: Site, commit: str, *, base: str | None = None, **path: str) -> Answer:
    body = {"commit_sha": commit, "base_sha": base or site.repo.head(), **path}
    return site.owner.again().post(site.path("/restore"), body)


class TestRestoreFile:
    def test_changed_file_is_restored_in_one_commit(self, site: Site) -> None:
        first = site.repo.head()
        base = site.repo.commit({HELLO: b"# Other\n", "content/about.md": b"# Mine\n"})
        created = restore(site, first, file=HELLO).ok(201)
        assert (created["commit_sha"], created["branch"]) == (site.repo.head(), "main")
        assert site.repo.text("rev-list", "--parents", "-1", "main").split()[1:] == [base]
        assert (site.repo.show(HELLO), site.repo.show("content/about.md")) == (POST, b"# Mine\n")
        assert site.repo.text("log", "-1", "--format=%s") == f"Restore {HELLO} from {first[:7]}"
        [logged] = site.owner.get(f"/project-log/{site.project}").ok()["logs"]
        assert (logged["file"], logged["action"], logged["source"]) == (HELLO, "update", "commit")

    def test_deleted_file_is_created_again(self, site: Site) -> None:
        first = site.repo.head()
        site.repo.commit({HELLO: None})
        created = restore(site, first, file=HELLO, message="Bring it back").ok(201)
        assert created["files"] == [{"path": HELLO, "sha": site.repo.text("rev-parse", f"{first}:{HELLO}")}]
        assert site.repo.show(HELLO) == POST
        assert site.repo.text("log", "-1", "--format=%s") == "Bring it back"

    def test_deleted_executable_file_is_executable_again(self, site: Site) -> None:
        first = site.repo.head()
        site.repo.commit({"bin/run.sh": None})
        restore(site, first, file="bin/run.sh").ok(201)
        assert site.repo.entries()["bin/run.sh"] == site.repo.entries(first)["bin/run.sh"]

    def test_changed_mode_is_restored_with_equal_bytes(self, site: Site) -> None:
        first = site.repo.head()
        site.repo.commit({"bin/run.sh": ("100644", b"#!/bin/sh\n"), HELLO: ("100755", POST)})
        for path in ("bin/run.sh", HELLO):
            restore(site, first, file=path).ok(201)
            assert site.repo.entries()[path] == site.repo.entries(first)[path]
        site.world.work_off()
        assert site.blobs() == site.oracle()

    def test_renamed_file_is_restored_under_its_current_path(self, site: Site) -> None:
        first = site.repo.head()
        site.repo.commit({HELLO: None, "content/moved.md": POST + b"more\n"})
        restore(site, first, file="content/moved.md").ok(201)
        assert site.repo.show("content/moved.md") == POST
        assert HELLO not in site.repo.entries()

    def test_version_of_each_earlier_path_in_the_history_is_restored(self, site: Site) -> None:
        """The first and last versions have no line in common, so only the history connects them."""
        lines = [f"line {number}\n" for number in range(40)]
        names = ["n0.md", "n1.md", "n2.md", "n3.md"]
        versions = ["".join(lines)]
        site.repo.commit({names[0]: versions[0].encode()})
        for step, (old, new) in enumerate(pairwise(names), 1):
            lines[(step - 1) * 15 : step * 15] = [f"other {step} {number}\n" for number in range(15)]
            versions.append("".join(lines))
            site.repo.commit({old: None, new: versions[-1].encode()})
        site.repo.commit({names[0]: b"# Another file of an earlier name\n"})
        last = names[-1]
        history = site.owner.get(site.path("/history"), query_string={"file": last}).ok()
        assert [entry["path"] for entry in history] == names[::-1]
        for entry, version in zip(history[1:], versions[-2::-1], strict=True):
            restore(site, entry["sha"], file=last).ok(201)
            assert site.repo.show(last).decode() == version

    def test_file_of_another_branch_is_restored(self, site: Site) -> None:
        first = site.repo.head()
        work = site.repo.commit({HELLO: b"# Work\n"}, branch="work/one", start=first)
        restore(site, first, base=work, file=HELLO, branch="work/one").ok(201)
        assert site.repo.show(HELLO, "work/one") == POST
        assert site.repo.head() == first

    def test_equal_file_creates_no_commit(self, site: Site) -> None:
        first = site.repo.head()
        assert restore(site, first, file=HELLO).ok(200)["files"] == []
        assert site.repo.head() == first

    def test_file_changed_since_the_base_returns_409(self, site: Site) -> None:
        first = site.repo.head()
        base = site.repo.commit({HELLO: b"# Second\n"})
        head = site.repo.commit({HELLO: b"# Third\n"})
        error = restore(site, first, base=base, file=HELLO).fails(409, "CONFLICT", HELLO)
        assert error["result"] == {"head_sha": head, "paths": [HELLO], "mergeable": []}
        assert site.repo.head() == head

    def test_restore_without_effect_on_an_old_base_returns_409(self, site: Site) -> None:
        base = site.repo.head()
        head = site.repo.commit({HELLO: b"# Third\n"})
        for path, faults in (({"file": HELLO}, HELLO), ({"folder": "content"}, HELLO)):
            error = restore(site, base, base=base, **path).fails(409, "CONFLICT", faults)
            assert error["result"] == {"head_sha": head, "paths": [HELLO]}

    def test_restore_without_effect_on_a_base_outside_of_the_branch_returns_409(self, site: Site) -> None:
        first = site.repo.head()
        base = site.repo.commit({"a.md": b"a\n"})
        site.repo.git("branch", "other", base)
        site.repo.git("update-ref", "refs/heads/main", first)
        restore(site, base, base=base, file=HELLO).fails(409, "CONFLICT", HELLO)

    def test_restore_without_effect_returns_the_head(self, site: Site) -> None:
        base = site.repo.head()
        head = site.repo.commit({"hugo.toml": b"x = 1\n"})
        assert restore(site, base, base=base, file=HELLO).ok(200)["commit_sha"] == head
        assert restore(site, base, base=base, folder="content").ok(200)["commit_sha"] == head

    def test_change_of_another_file_since_the_base_remains(self, site: Site) -> None:
        first = site.repo.head()
        base = site.repo.commit({HELLO: b"# Second\n"})
        site.repo.commit({"content/about.md": b"# Later\n"})
        restore(site, first, base=base, file=HELLO).ok(201)
        assert (site.repo.show(HELLO), site.repo.show("content/about.md")) == (POST, b"# Later\n")

    @pytest.mark.one_database
    def test_unreachable_commit_or_missing_path_returns_404(self, site: Site) -> None:
        first = site.repo.head()
        gone = site.repo.commit({"g.md": b"g\n"}, branch="gone", start=first)
        site.repo.git("update-ref", "-d", "refs/heads/gone")
        for path in ({"file": "g.md"}, {"file": HELLO}):
            restore(site, gone, **path).fails(404)
        for path in ({"file": "no/such.md"}, {"file": "content"}, {"folder": "no"}, {"folder": HELLO}):
            restore(site, first, **path).fails(404)
        assert site.repo.head() == first

    def test_unknown_base_returns_409(self, site: Site) -> None:
        restore(site, site.repo.head(), base="dead" * 10, file=HELLO).fails(409, "CONFLICT", HELLO)

    @pytest.mark.one_database
    def test_link_or_submodule_returns_422(self, world: World) -> None:
        site = make_site(world, {"link": (SYMLINK, b"a.md"), "sub": (SUBMODULE, "5a1e" * 10), "a.md": b"a\n"})
        first = site.repo.head()
        base = site.repo.commit({"link": None, "sub": None})
        for path in ("link", "sub"):
            restore(site, first, file=path).fails(422, "CANNOT_RESTORE")
        assert site.repo.head() == base

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "file"),
            ({"file": "a.md", "folder": "a"}, "file"),
            ({"file": "content/../a.md"}, "file"),
            ({"folder": "/"}, "folder"),
            ({"file": "a.md", "commit_sha": "main"}, "commit_sha"),
            ({"file": "a.md", "base_sha": "HEAD"}, "base_sha"),
        ],
    )
    def test_invalid_body_returns_400_with_path(self, site: Site, body: dict[str, Any], field: str) -> None:
        shas = {"commit_sha": site.repo.head(), "base_sha": site.repo.head()}
        site.owner.post(site.path("/restore"), shas | body).fails(400, None, field)


class TestRestoreFolder:
    def test_folder_is_restored_without_a_change_of_other_files(self, site: Site) -> None:
        first = site.repo.head()
        site.repo.commit(
            {HELLO: None, "content/about.md": b"# Other\n", "content/new.md": b"new\n", "hugo.toml": b"x = 1\n"}
        )
        restore(site, first, folder="content").ok(201)
        expected = {path: data for path, data in site.repo.entries(first).items() if path.startswith("content/")}
        entries = {path: data for path, data in site.repo.entries().items() if path.startswith("content/")}
        assert entries == expected
        assert site.repo.show("hugo.toml") == b"x = 1\n"

    def test_deleted_folder_is_created_again(self, site: Site) -> None:
        first = site.repo.head()
        site.repo.commit(dict.fromkeys(FILES))
        restore(site, first, folder="content").ok(201)
        assert set(site.repo.entries()) == {path for path in FILES if path.startswith("content/")}

    def test_folder_above_the_file_limit_returns_413(self, world: World) -> None:
        site = make_site(world, {f"many/{number}.md": b"x\n" for number in range(301)}, indexed=False)
        first = site.repo.head()
        site.repo.commit({f"many/{number}.md": b"y\n" for number in range(301)})
        restore(site, first, folder="many").fails(413)


@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_parallel_restores_and_commits_are_logged_once(world: World) -> None:
    race_restores(make_site(world, FILES), writers=8)
