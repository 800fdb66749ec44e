"""Tests of reads and saves of files through the API, checked with Git."""

import base64
import gzip
import json
import threading
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support.samples.gitrepo import AWKWARD
from tests.support.world import World


def put(path: str, content: str = "new\n", action: str = "create", **more: Any) -> dict[str, Any]:
    return {"path": path, "action": action, "content": content} | more


def move(path: str, origin: str = "hugo.toml") -> dict[str, Any]:
    return {"path": path, "action": "move", "previous_path": origin}


class TestTree:
    def test_tree_equals_the_tree_of_git(self, world: World) -> None:
        site = make_site(world, AWKWARD)
        tree = site.tree()
        assert (tree["commit_sha"], tree["status"], tree["branch"]) == (site.repo.head(), "ready", "main")
        assert site.blobs() == site.oracle()
        assert tree["total"] == len(site.oracle())
        assert [f["type"] for f in tree["files"] if f["path"] == "vendor/theme"] == ["commit"]

    def test_etag_is_the_commit_and_matches_in_both_forms(self, unchanged_site: Site) -> None:
        tag = unchanged_site.owner.get(unchanged_site.path()).headers["ETag"]
        assert tag == f'"{unchanged_site.repo.head()}"'
        for form in (tag, tag[:-1] + '-gzip"'):
            assert unchanged_site.owner.get(unchanged_site.path(), headers={"If-None-Match": form}).status == 304

    @pytest.mark.parametrize("asked", ["gzip;q=0", "gzip;q=0.0, identity", "br;q=0, gzip;q=0, zstd;q=0"])
    def test_gzip_excluded_by_the_caller_is_not_used(self, world: World, asked: str) -> None:
        site = make_site(world, {f"content/{number}.md": b"x" for number in range(30)})
        for query in ({}, {"limit": 50}):
            response = site.owner.get(site.path(), query_string=query, headers={"Accept-Encoding": asked})
            assert "Content-Encoding" not in response.headers
            assert response.ok()["total"] == 30

    def test_compressed_tree_equals_the_plain_tree(self, unchanged_site: Site) -> None:
        plain = unchanged_site.owner.get(unchanged_site.path())
        packed = unchanged_site.owner.get(unchanged_site.path(), headers={"Accept-Encoding": "gzip"})
        assert packed.headers["Content-Encoding"] == "gzip"
        assert packed.headers["ETag"] == f'"{unchanged_site.repo.head()}-gzip"'
        assert json.loads(gzip.decompress(packed.response.data)) == plain.json

    def test_tree_of_a_folder_contains_only_its_files(self, world: World) -> None:
        site = make_site(world, {"a/x.md": b"1", "a/b/y.md": b"2", "a.md": b"3", "a0.md": b"4", "ab/z.md": b"5"})
        assert set(site.blobs(path="a")) == {"a/x.md", "a/b/y.md"}
        assert site.tree(path="a")["total"] == 2

    def test_pages_contain_every_file_once(self, unchanged_site: Site) -> None:
        seen, query = [], {"limit": 2}
        while True:
            response = unchanged_site.owner.get(unchanged_site.path(), query_string=query)
            seen += [f["path"] for f in response.ok()["files"]]
            if response.json["meta"]["next_cursor"] is None:
                break
            query["cursor"] = response.json["meta"]["next_cursor"]
        assert seen == sorted(FILES)

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        "query", [{"limit": "x"}, {"limit": 0}, {"cursor": "rubbish", "limit": 5}, {"path": "../a"}]
    )
    def test_invalid_query_returns_400_with_path(self, unchanged_site: Site, query: dict[str, Any]) -> None:
        unchanged_site.owner.get(unchanged_site.path(), query_string=query).fails(400, None, next(iter(query)))

    def test_empty_query_parameter_is_ignored(self, unchanged_site: Site) -> None:
        empty = dict.fromkeys(("path", "ref", "limit", "cursor"), "")
        assert unchanged_site.tree(**empty) == unchanged_site.tree()
        unchanged_site.owner.get(
            unchanged_site.path("/search"), query_string={"q": "about", "type": "", "limit": ""}
        ).ok()
        unchanged_site.owner.get(
            f"/project-log/{unchanged_site.project}", query_string={"limit": "", "action": "", "file": ""}
        ).ok()

    def test_tree_before_the_first_index_is_queued_and_empty(self, world: World) -> None:
        site = make_site(world, FILES, indexed=False)
        tree = site.tree()
        assert (tree["status"], tree["commit_sha"], tree["files"]) == ("queued", None, [])
        world.work_off()

    def test_first_read_of_another_branch_creates_its_index(self, site: Site) -> None:
        site.repo.commit({"draft.md": b"# Draft\n"}, branch="work/one", start=site.repo.head())
        assert site.tree(ref="work/one")["status"] == "queued"
        site.world.work_off()
        assert "draft.md" in site.blobs(ref="work/one")
        assert "draft.md" not in site.blobs()

    @pytest.mark.one_database
    @pytest.mark.parametrize(("ref", "status"), [("nope", 404), ("--all", 400), ("a..b", 400), ("HEAD~1", 400)])
    def test_invalid_branch_returns_400_and_unknown_branch_404(
        self, unchanged_site: Site, ref: str, status: int
    ) -> None:
        unchanged_site.owner.get(unchanged_site.path(), query_string={"ref": ref}).fails(status)

    @pytest.mark.one_database
    def test_branch_of_an_unavailable_repository_returns_422(self, site: Site) -> None:
        site.repo.folder.rename(site.repo.folder.with_suffix(".away"))
        site.owner.get(site.path(), query_string={"ref": "work"}).fails(422, "REPO_UNAVAILABLE")


class TestFile:
    def test_metadata_of_markdown_contains_front_matter_headings_and_links(self, unchanged_site: Site) -> None:
        result = unchanged_site.file("content/posts/hello.md").ok()
        assert result["front_matter"] == {"title": "Hello", "tags": ["a", "b"], "draft": False}
        assert result["title"] == "Hello"
        assert [h["text"] for h in result["headings"]] == ["Hello", "Details"]
        assert "https://example.com/" in str(result["links"])
        assert (result["name"], result["extension"], result["mime"]) == ("hello.md", "md", "text/markdown")
        assert result["lines"] == FILES["content/posts/hello.md"].count(b"\n")

    def test_metadata_contains_the_last_commit_of_the_file(self, site: Site) -> None:
        first = site.repo.head()
        site.repo.commit({"content/about.md": b"# About us\n"}, "Pushed")
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        assert site.file("content/about.md").ok()["last_commit"]["sha"] == site.repo.head()
        assert site.file("content/posts/hello.md").ok()["last_commit"]["sha"] == first

    def test_second_read_of_metadata_returns_the_same(self, unchanged_site: Site) -> None:
        assert unchanged_site.file("content/about.md").ok() == unchanged_site.file("content/about.md").ok()

    @pytest.mark.one_database
    @pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a//b", ".git/config", "a\nb", "", "x" * 1025, "dir/"])
    def test_invalid_path_returns_400_with_path(self, unchanged_site: Site, path: str) -> None:
        unchanged_site.file(path).fails(400, None, "file")

    @pytest.mark.one_database
    def test_missing_or_repeated_parameter_returns_400(self, unchanged_site: Site) -> None:
        unchanged_site.owner.get(unchanged_site.path("/file")).fails(400, None, "file")
        unchanged_site.owner.get(unchanged_site.path("/file?file=a&file=b")).fails(400, None, "file")

    @pytest.mark.one_database
    def test_unknown_path_returns_404(self, unchanged_site: Site) -> None:
        unchanged_site.file("no/such.md").fails(404)


class TestUnindexed:
    @pytest.mark.parametrize("ref", ["main", "fresh"])
    @pytest.mark.parametrize("indexed", [True, False])
    def test_file_that_the_index_does_not_know_yet_is_read_from_git(
        self, world: World, ref: str, indexed: bool
    ) -> None:
        site = make_site(world, FILES, indexed=indexed)
        head = site.repo.commit({"content/new.md": b"---\ntitle: New\n---\n"}, "Pushed", branch=ref)
        named = {"file": "content/new.md", "ref": ref}
        for query in (named, {"file": "content/new.md"}) if ref == "main" else (named,):
            shown = site.owner.get(site.path("/file"), query_string=query).ok()
            assert (shown["title"], shown["commit_sha"], shown["indexed_at"]) == ("New", head, None)
            raw = site.owner.get(site.path("/raw"), query_string=query)
            assert raw.response.data == b"---\ntitle: New\n---\n"
        site.owner.get(site.path("/file"), query_string=named | {"file": "no.md"}).fails(404)
        site.owner.get(site.path("/raw"), query_string=named | {"file": "no.md"}).fails(404)
        site.world.work_off()
        assert site.owner.get(site.path("/file"), query_string=named).ok()["indexed_at"] is not None


class TestRaw:
    def test_raw_read_returns_the_bytes_of_git(self, world: World) -> None:
        site = make_site(world, AWKWARD | {"large.bin": bytes(range(256)) * 12_000})
        for path in ("large.bin", "empty.txt", "binary.dat", "unicode/日本語.md", "percent%2Fslash.md", "links/to-run"):
            response = site.owner.get(site.path("/raw"), query_string={"file": path})
            assert response.response.data == site.repo.git("cat-file", "blob", f"main:{path}")
            assert response.headers["ETag"] == f'"{site.oracle()[path][1]}"'
            assert "sandbox" in response.headers["Content-Security-Policy"]

    def test_content_type_of_utf_8_contains_the_charset(self, world: World) -> None:
        payload = {
            "a.md": ("é\n".encode(), "text/markdown; charset=utf-8"),
            "empty.txt": (b"", "text/plain; charset=utf-8"),
            "latin.md": (b"caf\xe9\n", "text/markdown"),
            "wide.txt": ("é".encode("utf-16"), "text/plain"),
            "long.txt": (b"long\n" * 300_000, "text/plain"),
            "nearly.txt": (b"long\n" * 200_000 + "é".encode(), "text/plain; charset=utf-8"),
            "a.json": (b"{}", "application/json"),
        }
        site = make_site(world, {path: data for path, (data, _) in payload.items()})
        for path, (data, kind) in payload.items():
            response = site.owner.get(site.path("/raw"), query_string={"file": path})
            assert (response.headers["Content-Type"], response.response.data) == (kind, data), path

    def test_raw_read_with_matching_etag_returns_304(self, unchanged_site: Site) -> None:
        tag = unchanged_site.owner.get(unchanged_site.path("/raw?file=hugo.toml")).headers["ETag"]
        assert (
            unchanged_site.owner.get(unchanged_site.path("/raw?file=hugo.toml"), headers={"If-None-Match": tag}).status
            == 304
        )

    @pytest.mark.one_database
    def test_raw_read_of_a_submodule_returns_404(self, world: World) -> None:
        make_site(world, AWKWARD).owner.get("/healthz")
        site = make_site(world, AWKWARD)
        site.owner.get(site.path("/raw?file=vendor/theme")).fails(404)


class TestCommit:
    def test_commit_of_several_files_is_one_commit_in_git_index_and_log(self, site: Site) -> None:
        before = site.repo.head()
        created = site.commit(
            put("content/new.md", "# New\n"),
            put("content/about.md", "# Changed\n", "update"),
            {"path": "hugo.toml", "action": "delete"},
            {"path": "run.sh", "action": "move", "previous_path": "bin/run.sh"},
        ).ok(201)
        assert created["commit_sha"] == site.repo.head()
        assert site.repo.text("rev-list", "--count", f"{before}..main") == "1"
        assert site.blobs() == site.oracle()
        assert set(site.blobs()) == {"content/new.md", "content/about.md", "content/posts/hello.md", "run.sh"}
        assert site.blobs()["run.sh"][0] == "100755"
        log = site.owner.get(f"/project-log/{site.project}").ok()["logs"]
        assert {(e["file"], e["action"], e["source"]) for e in log} == {
            ("content/new.md", "create", "commit"),
            ("content/about.md", "update", "commit"),
            ("hugo.toml", "delete", "commit"),
            ("run.sh", "rename", "commit"),
        }
        site.world.work_off()
        assert site.blobs() == site.oracle()
        assert len(site.owner.get(f"/project-log/{site.project}").ok()["logs"]) == 4

    def test_commit_author_is_the_bot_and_the_user_is_co_author(self, site: Site) -> None:
        site.commit(put("a.md"), message="Subject\n\nSigned-off-by: X <x@x.org>", description="Why").ok(201)
        text = site.repo.text("log", "-1", "--format=%an <%ae>%n%B")
        assert text.startswith("Galley Bot <bot@galley.example.org>\nSubject")
        assert "Why" in text
        assert text.rstrip().endswith(f"<{site.owner.email}>")
        assert "X <x@x.org>" not in text

    def test_commit_author_person_sets_the_user_as_author_and_the_bot_as_committer(
        self, site: Site, app: Flask, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings = app.config["SETTINGS"]
        git = replace(settings.git, commit_author="person")
        monkeypatch.setitem(app.config, "SETTINGS", replace(settings, git=git))
        site.commit(put("a.md"), message="Subject\n\nCo-authored-by: X <x@x.org>\nSigned-off-by: Y <y@y.org>").ok(201)
        author, committer, *message = site.repo.text("log", "-1", "--format=%ae%n%ce%n%B").splitlines()
        assert (author, committer) == (site.owner.email, "bot@galley.example.org")
        assert message == ["Subject"]

    def test_commit_author_person_with_impersonate_sets_only_the_bot(
        self, site: Site, app: Flask, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings = app.config["SETTINGS"]
        git = replace(settings.git, commit_author="person")
        monkeypatch.setitem(app.config, "SETTINGS", replace(settings, git=git))
        site.owner.patch(f"/user-preference/impersonate/{site.owner.id}", {"impersonate": True}).ok()
        site.commit(put("a.md"), message="Subject").ok(201)
        text = site.repo.text("log", "-1", "--format=%ae%n%ce%n%B")
        assert text.splitlines() == ["bot@galley.example.org", "bot@galley.example.org", "Subject"]

    def test_base64_content_is_written_as_bytes(self, site: Site) -> None:
        data = bytes(range(256))
        site.commit(put("b.bin", base64.b64encode(data).decode(), encoding="base64")).ok(201)
        assert site.repo.git("cat-file", "blob", "main:b.bin") == data

    def test_path_changed_since_the_base_returns_409_with_path(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({"content/about.md": b"theirs\n"}, "Theirs")
        response = site.commit(put("content/about.md", "mine", "update"), put("free.md"), base=base)
        error = response.fails(409, "CONFLICT", "content/about.md")
        assert error["result"] == {"head_sha": site.repo.head(), "paths": ["content/about.md"], "mergeable": []}
        assert site.repo.text("log", "-1", "--format=%s") == "Theirs"

    def test_change_of_other_paths_since_the_base_is_accepted(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({"content/about.md": b"theirs\n"}, "Theirs")
        site.commit(put("content/posts/hello.md", "mine", "update"), base=base).ok(201)
        assert site.repo.git("cat-file", "blob", "main:content/about.md") == b"theirs\n"

    @pytest.mark.parametrize(
        ("edit", "path"),
        [
            (put("content/about.md"), "content/about.md"),
            (put("nope.md", action="update"), "nope.md"),
            ({"path": "nope.md", "action": "delete"}, "nope.md"),
            ({"path": "b.md", "action": "move", "previous_path": "nope.md"}, "nope.md"),
            (put("content/about.md", action="update", base_blob_sha="a" * 40), "content/about.md"),
            (put("content"), "content"),
            (put("hugo.toml/below.md"), "hugo.toml/below.md"),
        ],
        ids=[
            "create-existing",
            "update-missing",
            "delete-missing",
            "move-missing",
            "other-blob",
            "folder",
            "below-file",
        ],
    )
    def test_action_that_conflicts_with_the_tree_returns_409(
        self, unchanged_site: Site, edit: dict[str, Any], path: str
    ) -> None:
        before = unchanged_site.repo.head()
        unchanged_site.commit(edit).fails(409, "CONFLICT", path)
        assert unchanged_site.repo.head() == before

    @pytest.mark.one_database
    def test_commit_on_unknown_branch_returns_422(self, unchanged_site: Site) -> None:
        unchanged_site.commit(put("new.md"), branch="nope").fails(422, "REPO_UNAVAILABLE")

    def test_base_outside_the_branch_returns_409(self, site: Site) -> None:
        stray = site.repo.commit({"x.md": b"x"}, branch="other", start=site.repo.head())
        site.commit(put("content/about.md", "x", "update"), base=stray).fails(409, "CONFLICT", "content/about.md")
        site.commit(put("content/about.md", "x", "update"), base="0" * 40).fails(409, "CONFLICT")

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"message": ""}, "message"),
            ({"base_sha": "x"}, "base_sha"),
            ({"files": []}, "files"),
            ({"branch": "a..b"}, "branch"),
            ({"files": [put("../x")]}, "files.0.path"),
            ({"files": [put("a"), {"path": "b", "action": "create"}]}, "files.1.content"),
            ({"files": [put("a"), put("a")]}, "files.1.path"),
            ({"files": [put("a", "%%%", encoding="base64")]}, "files.0.content"),
            ({"files": [put("a", action="explode")]}, "files.0.action"),
            ({"files": [{"path": "a", "action": "move"}]}, "files.0.previous_path"),
            ({"files": [move("b"), put("hugo.toml", action="update")]}, "files.1.path"),
            ({"files": [move("b"), {"path": "hugo.toml", "action": "delete"}]}, "files.1.path"),
            ({"files": [move("b"), move("c")]}, "files.1.previous_path"),
            ({"files": [put("hugo.toml", action="update"), move("b")]}, "files.1.previous_path"),
        ],
    )
    def test_invalid_body_returns_400_with_path(self, unchanged_site: Site, change: dict[str, Any], path: str) -> None:
        body = {"message": "m", "base_sha": unchanged_site.repo.head(), "files": [put("a")]} | change
        unchanged_site.owner.post(unchanged_site.path("/commit"), body).fails(400, None, path)

    def test_commit_exchanges_two_files(self, site: Site) -> None:
        about = "content/about.md"
        site.commit(move(about), move("hugo.toml", about)).ok(201)
        assert site.repo.show("hugo.toml") == FILES[about]
        site.commit(move("b.toml"), put("hugo.toml")).ok(201)
        assert site.repo.show("hugo.toml") == b"new\n"

    def test_commit_of_an_equal_or_present_name_has_the_reason_as_its_message(self, unchanged_site: Site) -> None:
        for path, reason in (("Content/new.md", "“content” exists"), ("content/about.md", "already exists")):
            refused = unchanged_site.commit(put(path)).fails(409, "CONFLICT", path)
            assert reason in refused["message"]

    def test_commit_above_the_file_limit_returns_413(self, unchanged_site: Site) -> None:
        unchanged_site.commit(*[put(f"f{n}") for n in range(301)]).fails(413)

    def test_commit_with_repeated_idempotency_key_is_created_once(self, site: Site) -> None:
        key, base = {"Idempotency-Key": "save-1"}, site.repo.head()
        body = {"message": "m", "base_sha": base, "files": [put("once.md")]}
        first = site.owner.post(site.path("/commit"), body, headers=key).ok(201)
        again = site.owner.post(site.path("/commit"), body, headers=key)
        assert again.ok(201) == first
        assert again.headers["Idempotency-Replayed"] == "true"
        assert site.repo.text("rev-list", "--count", f"{base}..main") == "1"

    def test_parallel_commits_of_different_files_succeed_and_of_one_file_once(self, site: Site) -> None:
        base = site.repo.head()
        answers: dict[str, Any] = {}

        def save(name: str, edit: dict[str, Any]) -> None:
            answers[name] = site.commit(edit, base=base)

        mine = [(f"own-{n}", put(f"own-{n}.md")) for n in range(8)]
        same = [(f"same-{n}", put("content/about.md", f"{n}\n", "update")) for n in range(6)]
        threads = [threading.Thread(target=save, args=pair) for pair in mine + same]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [answers[name].status for name, _ in mine] == [201] * 8
        assert sorted(answers[name].status for name, _ in same) == [201] + [409] * 5
        shas = {a.json["result"]["commit_sha"] for a in answers.values() if a.status == 201}
        log = site.repo.text("log", "--format=%H", f"{base}..main").split()
        assert len(log) == 9
        assert set(log) == shas
        site.repo.git("fsck", "--strict", "--no-dangling")
        site.world.work_off()
        assert site.blobs() == site.oracle()


class TestReindex:
    def test_reindex_without_a_repository_returns_409(self, site: Site) -> None:
        site.owner.patch(f"/project/git/{site.project}", {"repository": ""}).ok()
        site.owner.post(site.path("/reindex"), {}).fails(409, "DISCONNECTED")


class TestPushes:
    def test_read_after_a_push_returns_a_stale_tree_and_enqueues_the_update(self, site: Site) -> None:
        before, old = site.blobs(), site.repo.head()
        site.repo.commit({"content/new.md": b"# New\n"}, "Pushed")
        stale = site.tree()
        assert (stale["status"], stale["commit_sha"]) == ("stale", old)
        assert {f["path"] for f in stale["files"]} == set(before)
        assert site.tree(limit=1)["status"] == "stale"
        site.world.work_off()
        assert (site.tree()["status"], site.blobs()) == ("ready", site.oracle())

    def test_push_is_indexed_and_logged(self, site: Site) -> None:
        site.repo.commit({"content/new.md": b"# New\n", "hugo.toml": None, "content/about.md": b"x\n"}, "Pushed")
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        assert site.blobs() == site.oracle()
        log = site.owner.get(f"/project-log/{site.project}").ok()["logs"]
        assert {(e["file"], e["action"], e["source"], e["user_name"]) for e in log} == {
            ("content/new.md", "create", "push", "Ada Author"),
            ("hugo.toml", "delete", "push", "Ada Author"),
            ("content/about.md", "update", "push", "Ada Author"),
        }

    def test_rewritten_branch_is_indexed(self, site: Site) -> None:
        first = site.repo.head()
        site.repo.commit({"x.md": b"x"})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        site.repo.git("update-ref", "refs/heads/main", first)
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        assert site.tree()["commit_sha"] == first
        assert site.blobs() == site.oracle()


class TestHiddenCharacters:
    @pytest.mark.parametrize("name", ["work\u202e", "\u2066work", "work\u200e/x", "work\x85"])
    def test_names_of_branches_with_hidden_characters_are_refused(self, unchanged_site: Site, name: str) -> None:
        owner, project = unchanged_site.owner, f"/project/{unchanged_site.project}"
        heads = unchanged_site.repo.text("for-each-ref")
        owner.post(f"{project}/branches", {"branch": name, "from": "main"}).fails(400, "VALIDATION_FAILED", "branch")
        owner.patch(project, {"change_set_prefix": name}).fails(400, "VALIDATION_FAILED", "change_set_prefix")
        unchanged_site.commit(put("x.md"), branch=name).fails(400, "VALIDATION_FAILED", "branch")
        assert unchanged_site.repo.text("for-each-ref") == heads
