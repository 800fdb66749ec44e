"""Tests of saves that merge with the branch, and of the preview, checked with Git."""

import secrets
from functools import partial
from typing import Any

import pytest
from flask import Flask

from app.access.caller import caller_of
from app.database import transactions
from app.drivers.git.port import Action, FileChange
from app.extensions import db, drivers
from app.models.project import Project
from app.models.user import Actor
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.saving.commit_builder import NoChange, Saved
from app.resources.project_content.saving.commits import create_merged_commit
from app.resources.project_content.saving.merging import MergePlanner, MergeRequest
from app.resources.project_content.saving.refusals import MergeRefused
from app.resources.project_content.saving.renames import MAX_BYTES
from app.resources.project_content.source import source_of
from tests.resources.project_content.conftest import POST, Site, make_site
from tests.support.parallel import patiently, together
from tests.support.world import Answer, World

FILE, OTHER = "content/posts/hello.md", "content/about.md"
MINE = POST.replace(b"Hello\ntags", b"Mine\ntags").replace(b"Words.", b"My words.")
THEIRS = POST.replace(b"[a, b]", b"[b, c]").replace(b"# Hello", b"# Theirs").replace(b"## Details", b"## More")


def update(path: str, content: bytes, **more: Any) -> dict[str, Any]:
    return {"path": path, "action": "update", "content": content.decode()} | more


def merge(site: Site, *files: dict[str, Any], **more: Any) -> Any:
    return site.commit(*files, **({"on_conflict": "merge"} | more))


def preview(site: Site, *files: dict[str, Any], **more: Any) -> Any:
    return site.owner.post(site.path("/merge-preview"), {"files": list(files)} | more)


@pytest.mark.one_database
class TestCommit:
    def test_fields_and_blocks_of_both_sides_are_saved_as_one_commit(self, site: Site) -> None:
        base = site.repo.head()
        head = site.repo.commit({FILE: THEIRS})
        made = merge(site, update(FILE, MINE), base=base).ok(201)
        expected = THEIRS.replace(b"title: Hello", b"title: Mine").replace(b"Words.", b"My words.")
        assert site.repo.show(FILE) == expected
        assert made["merged"] == [{"path": FILE, "fields": ["/title"]}]
        assert site.repo.text("rev-parse", f"{made['commit_sha']}^") == head
        site.world.work_off()
        assert site.file(FILE).ok()["front_matter"]["tags"] == ["b", "c"]
        assert site.blobs() == site.oracle()

    def test_base_blob_is_a_base_without_a_base_commit(self, site: Site) -> None:
        blob = site.oracle()[FILE][1]
        site.repo.commit({FILE: THEIRS})
        body = {"message": "Edit", "on_conflict": "merge", "files": [update(FILE, MINE, base_blob_sha=blob)]}
        body["files"].append({"path": "new.md", "action": "create", "content": "x"})
        made = site.owner.post(site.path("/commit"), body).ok(201)
        assert [file["path"] for file in made["files"]] == [FILE, "new.md"]

    def test_refused_save_names_the_files_that_a_merge_would_save(self, site: Site) -> None:
        base, about = site.repo.head(), b"# About\n\nUs.\n"
        head = site.repo.commit({FILE: THEIRS, OTHER: b"# Theirs\n"})
        files = [update(FILE, MINE), update(OTHER, about), update("hugo.toml", b'title = "Large"\n')]
        error = site.commit(*files, base=base).fails(409, "CONFLICT", FILE, OTHER)
        assert error["result"] == {"head_sha": head, "paths": [OTHER, FILE], "mergeable": [FILE]}
        assert site.repo.head() == head
        deleted = {"path": FILE, "action": "delete"}
        assert site.commit(deleted, base=base).fails(409, "CONFLICT", FILE)["result"]["mergeable"] == []
        merge(site, files[0], base=base).ok(201)

    def test_conflict_of_a_file_refuses_the_others(self, site: Site) -> None:
        base = site.repo.head()
        head = site.repo.commit({FILE: THEIRS.replace(b"title: Hello", b"title: Theirs"), OTHER: b"# About\n\nThem.\n"})
        files = [update(FILE, MINE), update(OTHER, b"# Our\n\nUs.\n"), update("hugo.toml", b'title = "Large"\n')]
        error = merge(site, *files, base=base).fails(409, "CONFLICT", FILE)
        assert error["result"] == {
            "head_sha": head,
            "paths": [FILE],
            "mergeable": [OTHER],
            "conflicts": [
                {
                    "path": FILE,
                    "kind": "value",
                    "pointer": "/title",
                    "base": "Hello",
                    "mine": "Mine",
                    "theirs": "Theirs",
                    "missing": [],
                    "truncated": False,
                }
            ],
        }
        assert site.repo.head() == head

    def test_conflicts_are_cut_and_name_missing_sides(self, site: Site) -> None:
        base = site.repo.head()
        removed = POST.replace(b"draft: false\n", b"")
        site.repo.commit({FILE: removed.replace(b"Words.", b"T" * 20_000), "hugo.toml": None})
        mine = POST.replace(b"false", b"true").replace(b"Words.", b"Mine.")
        error = merge(site, update(FILE, mine), update("hugo.toml", b"a = 1\n"), base=base).fails(409, "CONFLICT", FILE)
        value, block, deleted = error["result"]["conflicts"]
        assert (value["pointer"], value["theirs"], value["missing"]) == ("/draft", None, ["theirs"])
        assert (block["block"], len(block["theirs"]), block["truncated"]) == (1, 16 * 1024, True)
        assert (deleted["kind"], deleted["mine"], deleted["missing"]) == ("edit_delete", "a = 1\n", ["theirs"])

    @pytest.mark.parametrize(
        ("file", "theirs", "kind"),
        [
            ({"path": FILE, "action": "delete"}, {FILE: THEIRS}, "edit_delete"),
            ({"path": "new.md", "action": "create", "content": "x"}, {"new.md": b"y"}, "add_add"),
            ({"path": "new.md", "action": "create", "content": "x"}, {"new.md/a.md": b"y"}, "file_folder"),
            ({"path": "new/a.md", "action": "create", "content": "x"}, {"new": b"y"}, "file_folder"),
            ({"path": "b.md", "action": "move", "previous_path": FILE}, {FILE: None, "c.md": THEIRS}, "rename_edit"),
            ({"path": "b.md", "action": "move", "previous_path": FILE}, {FILE: None}, "rename_edit"),
            (update(FILE, MINE), {FILE: None}, "edit_delete"),
            ({"path": FILE, "action": "delete"}, {FILE: None, "c.md": THEIRS}, "edit_delete"),
            (update(FILE, MINE), {FILE: ("120000", b"../about.md")}, "binary"),
            (update(FILE, MINE), {FILE: b"\0"}, "binary"),
        ],
    )
    def test_changes_of_whole_files_are_conflicts(
        self, site: Site, file: dict[str, Any], theirs: dict[str, Any], kind: str
    ) -> None:
        base = site.repo.head()
        head = site.repo.commit(theirs)
        error = merge(site, file, base=base).fails(409, "CONFLICT")
        assert [conflict["kind"] for conflict in error["result"]["conflicts"]] == [kind]
        assert site.repo.head() == head

    def test_save_that_the_branch_contains_returns_200_without_a_commit(self, site: Site) -> None:
        base = site.repo.head()
        head = site.repo.commit({FILE: MINE, OTHER: None, "new.md": b"x"})
        files = [
            update(FILE, MINE),
            {"path": OTHER, "action": "delete"},
            {"path": "new.md", "action": "create", "content": "x"},
        ]
        made = merge(site, *files, base=base).ok(200)
        assert made == {"commit_sha": head, "branch": "main", "files": [], "url": None, "merged": []}

    def test_files_that_did_not_change_are_saved_as_without_a_merge(self, site: Site) -> None:
        files = [
            update(FILE, MINE),
            {"path": "moved.md", "action": "move", "previous_path": OTHER},
            {"path": "hugo.toml", "action": "delete"},
        ]
        made = merge(site, *files).ok(201)
        assert made["merged"] == []
        assert site.repo.show(FILE) == MINE
        assert set(site.oracle()) == {FILE, "moved.md", "bin/run.sh"}

    def test_merge_keeps_the_executable_bit(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({"bin/run.sh": ("100755", b"#!/bin/sh\nset -e\n\n# end\n")})
        base = site.repo.head()
        site.repo.commit({"bin/run.sh": ("100755", b"#!/bin/sh\nset -e\n\n# END\n")})
        merge(site, update("bin/run.sh", b"#!/bin/bash\nset -e\n\n# end\n"), base=base).ok(201)
        assert site.repo.show("bin/run.sh") == b"#!/bin/bash\nset -e\n\n# END\n"
        assert site.oracle()["bin/run.sh"][0] == "100755"

    def test_symbolic_link_is_not_edited(self, site: Site) -> None:
        site.repo.commit({"link.md": ("120000", b"content/about.md")})
        merge(site, update("link.md", b"x")).fails(422, "CANNOT_KEEP")

    def test_base_that_is_no_ancestor_is_used_and_not_shown(self, site: Site) -> None:
        first = site.repo.head()
        base = site.repo.commit({FILE: POST.replace(b"Words.", b"Secret.")})
        site.repo.git("update-ref", "refs/heads/main", first)
        site.repo.commit({FILE: THEIRS})
        made = merge(site, update(FILE, MINE.replace(b"My words.", b"Secret.")), base=base).ok(201)
        assert made["merged"][0]["fields"] == ["/title"]
        error = merge(site, update(FILE, MINE.replace(b"Mine", b"Other")), base=base).fails(409, "CONFLICT", FILE)
        assert [(one["base"], one["truncated"]) for one in error["result"]["conflicts"]] == [(None, True)] * 2

    def test_missing_base_returns_400_and_unknown_base_409(self, site: Site) -> None:
        site.repo.commit({FILE: THEIRS})
        body = {"message": "Edit", "on_conflict": "merge", "files": [update(FILE, MINE)]}
        site.owner.post(site.path("/commit"), body).fails(400, "BASE_REQUIRED", FILE)
        site.owner.post(site.path("/commit"), body | {"on_conflict": "refuse"}).fails(400, None, "base_sha")
        site.owner.post(site.path("/commit"), body | {"on_conflict": "mine"}).fails(400, None, "on_conflict")
        merge(site, update(FILE, MINE), base="0" * 40).fails(409, "BASE_GONE", FILE)
        merge(site, update(FILE, MINE, base_blob_sha="0" * 40)).fails(409, "BASE_GONE", FILE)

    def test_merged_files_are_validated_against_the_schema(self, site: Site) -> None:
        schema = b"collections:\n- name: posts\n  folder: content/posts\n  fields:\n  - {name: tags, type: list, maximum: 3}\n"
        site.commit({"path": ".galley.yml", "action": "create", "content": schema.decode()}).ok(201)
        site.world.work_off()
        base = site.repo.head()
        site.repo.commit({FILE: POST.replace(b"[a, b]", b"[a, b, c]")})
        mine = POST.replace(b"[a, b]", b"[a, b, d]")
        files = [update(OTHER, b"# New\n"), update(FILE, mine)]
        error = merge(site, *files, base=base, validate=True).fails(400, "VALIDATION_FAILED", "files.1/tags")
        assert error["result"]["invalid"][0]["pointer"] == "/tags"
        merge(site, *files, base=base).ok(201)

    def test_repeated_request_returns_the_first_commit(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: THEIRS})
        body = {"message": "Edit", "base_sha": base, "on_conflict": "merge", "files": [update(FILE, MINE)]}
        key = {"Idempotency-Key": "merge-once"}
        first = site.owner.post(site.path("/commit"), body, headers=key).ok(201)
        assert site.owner.post(site.path("/commit"), body, headers=key).ok(201) == first


@pytest.mark.one_database
class TestRenames:
    EXPECTED = THEIRS.replace(b"title: Hello", b"title: Mine").replace(b"Words.", b"My words.")

    def test_edit_follows_the_rename_of_the_branch(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: None, "content/posts/welcome.md": POST})
        made = merge(site, update(FILE, MINE), base=base).ok(201)
        assert [file["path"] for file in made["files"]] == ["content/posts/welcome.md"]
        assert site.repo.show("content/posts/welcome.md") == MINE
        assert FILE not in site.oracle()

    @pytest.mark.parametrize("folder", ["content/posts", "content/new"])
    def test_edit_is_merged_with_a_renamed_and_changed_file(self, site: Site, folder: str) -> None:
        base, path = site.repo.head(), f"{folder}/welcome.md"
        site.repo.commit({FILE: None, path: THEIRS, "other.md": b"Another text.\n"})
        made = merge(site, update(FILE, MINE), base=base).ok(201)
        assert made["merged"] == [{"path": path, "fields": ["/title"]}]
        assert site.repo.show(path) == self.EXPECTED

    def test_move_is_merged_with_an_edit_of_the_branch(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: THEIRS})
        merge(site, {"path": "b.md", "action": "move", "previous_path": FILE, "content": MINE.decode()}, base=base).ok(
            201
        )
        assert site.repo.show("b.md") == self.EXPECTED
        assert FILE not in site.oracle()

    def test_removal_and_addition_of_one_file_are_a_move(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: THEIRS})
        files = [{"path": FILE, "action": "delete"}, {"path": "b.md", "action": "create", "content": MINE.decode()}]
        merge(site, *files, base=base).ok(201)
        assert site.repo.show("b.md") == self.EXPECTED
        assert FILE not in site.oracle()

    def test_equal_rename_of_both_sides_is_merged(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: None, "b.md": THEIRS})
        files = [{"path": FILE, "action": "delete"}, {"path": "b.md", "action": "create", "content": MINE.decode()}]
        merge(site, *files, base=base).ok(201)
        assert site.repo.show("b.md") == self.EXPECTED

    def test_deletion_follows_a_rename_without_a_change(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: None, "b.md": POST})
        merge(site, {"path": FILE, "action": "delete"}, base=base).ok(201)
        assert {FILE, "b.md"}.isdisjoint(site.oracle())

    def test_file_of_other_content_is_no_rename(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: None, "b.md": b"# Other\n\nNothing in common.\n"})
        error = merge(site, update(FILE, MINE), base=base).fails(409, "CONFLICT", FILE)
        assert error["result"]["conflicts"][0]["kind"] == "edit_delete"

    def test_longer_file_with_a_change_is_no_rename(self, site: Site) -> None:
        text = POST + b"A line.\n" * (MAX_BYTES // 8)
        base = site.repo.commit({FILE: text})
        site.repo.commit({FILE: None, "b.md": text + b"More.\n"})
        error = merge(site, update(FILE, MINE + text), base=base).fails(409, "CONFLICT", FILE)
        assert error["result"]["conflicts"][0]["kind"] == "edit_delete"

    def test_conflict_of_a_renamed_file_names_its_present_path(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: None, "b.md": THEIRS.replace(b"title: Hello", b"title: Theirs")})
        error = merge(site, update(FILE, MINE), base=base).fails(409, "CONFLICT", "b.md")
        [conflict] = error["result"]["conflicts"]
        assert (conflict["path"], conflict["pointer"], conflict["base"]) == ("b.md", "/title", "Hello")


@pytest.mark.one_database
class TestFrontMatter:
    def test_keys_are_set_in_the_present_file(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: THEIRS})
        body = {"file": FILE, "base_sha": base, "set": {"title": "Mine"}, "on_conflict": "merge"}
        made = site.owner.patch(site.path("/front-matter"), body).ok(200)
        assert made["merged"] == [{"path": FILE, "fields": ["/title"]}]
        assert site.repo.show(FILE) == THEIRS.replace(b"title: Hello", b"title: Mine")

    def test_conflict_of_a_key_returns_409_and_an_edit_without_effect_200(self, site: Site) -> None:
        blob = site.oracle()[FILE][1]
        head = site.repo.commit({FILE: POST.replace(b"title: Hello", b"title: Theirs")})
        body = {"file": FILE, "base_blob_sha": blob, "set": {"title": "Mine"}, "on_conflict": "merge"}
        error = site.owner.patch(site.path("/front-matter"), body).fails(409, "CONFLICT", FILE)
        assert [one["pointer"] for one in error["result"]["conflicts"]] == ["/title"]
        for title in ("Theirs", "Hello"):
            made = site.owner.patch(site.path("/front-matter"), body | {"set": {"title": title}}).ok(200)
            assert (made["commit_sha"], made["files"], made["merged"]) == (head, [], [])

    def test_missing_base_and_file_are_refused(self, site: Site) -> None:
        body = {"file": FILE, "set": {"title": "Mine"}, "on_conflict": "merge"}
        site.owner.patch(site.path("/front-matter"), body).fails(400, "BASE_REQUIRED", FILE)
        site.owner.patch(site.path("/front-matter"), body | {"base_sha": "0" * 40}).fails(409, "BASE_GONE", FILE)
        other = {"file": "none.md", "base_sha": site.repo.head()}
        site.owner.patch(site.path("/front-matter"), body | other).fails(404)


@pytest.mark.one_database
class TestPreview:
    def test_preview_returns_merged_files_and_writes_nothing(self, site: Site) -> None:
        base = site.repo.head()
        head = site.repo.commit({FILE: THEIRS, OTHER: b"# About\n\nThem.\n"})
        files = [
            update(FILE, MINE),
            update(OTHER, b"# About\n\nWe.\n"),
            {"path": "hugo.toml", "action": "delete"},
            {"path": "run.sh", "action": "move", "previous_path": "bin/run.sh"},
            {"path": "a.bin", "action": "create", "content": "/wA=", "encoding": "base64"},
        ]
        made = preview(site, *files, base_sha=base).ok(200)
        assert made["mergeable"] == [FILE]
        assert [(one["path"], one["kind"], one["block"]) for one in made["conflicts"]] == [(OTHER, "block", 1)]
        assert [(file["path"], file["content"] is None, file["encoding"]) for file in made["files"]] == [
            (FILE, False, "utf-8"),
            ("hugo.toml", True, "utf-8"),
            ("bin/run.sh", True, "utf-8"),
            ("run.sh", False, "utf-8"),
            ("a.bin", False, "base64"),
        ]
        assert site.repo.head() == head

    def test_preview_requires_a_base(self, site: Site) -> None:
        preview(site, update(FILE, MINE)).fails(400, "BASE_REQUIRED", FILE)
        preview(site, update(FILE, MINE), base_sha="0" * 40).fails(409, "BASE_GONE", FILE)


WRITERS = 12
PRICES = (
    ("p.md", "---\nprice: %s\n---\n\nText\n"),
    ("toml.md", "+++\nprice = %s\n+++\n\nText\n"),
    ("json.md", '{"price": %s}\n\nText\n'),
    ("data.yaml", "price: %s\n"),
    ("data.toml", "price = %s\n"),
    ("data.json", '{"price": %s}\n'),
)


@pytest.mark.one_database
@pytest.mark.parametrize(("path", "text"), PRICES, ids=[path for path, _ in PRICES])
@pytest.mark.parametrize(("mine", "theirs"), [("2.50", "12e4"), ("2.5", "true"), ("7", "1.75")])
def test_conflict_of_decimal_numbers_contains_both(site: Site, path: str, text: str, mine: str, theirs: str) -> None:
    base = site.repo.commit({path: (text % "1.50").encode()})
    site.repo.commit({path: (text % theirs).encode()})
    file = update(path, (text % mine).encode())
    saved = merge(site, file, base=base).fails(409, "CONFLICT", path)["result"]["conflicts"]
    assert preview(site, file, base_sha=base).ok(200)["conflicts"] == saved
    sides = [[conflict[side] for side in ("base", "mine", "theirs")] for conflict in saved]
    assert sides == [[1.5, float(mine), True if theirs == "true" else float(theirs)]]


@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_parallel_merges_of_one_file_lose_no_change(world: World) -> None:
    words = [f"word{number}" for number in range(WRITERS)]
    base = "---\n" + "".join(f"key{n}: old\n" for n in range(WRITERS)) + "---\n\n" + "\n\n".join(words) + "\n"
    site = make_site(world, {FILE: base.encode()})
    blob, start = site.oracle()[FILE][1], site.repo.head()

    def save(number: int) -> Answer:
        mine = base.replace(f"key{number}: old", f"key{number}: new").replace(f"word{number}\n", f"word{number} new\n")
        file = update(FILE, mine.encode(), base_blob_sha=blob)
        body = {"message": f"Edit {number}", "on_conflict": "merge", "files": [file]}
        answer: Answer = site.owner.again().post(site.path("/commit"), body)
        return answer

    answers = together([patiently(partial(save, number)) for number in range(WRITERS)])
    assert [answer.status for answer in answers] == [201] * WRITERS
    contested = together([patiently(partial(save_title, site, base, blob)) for _ in range(4)])
    assert sorted(answer.status for answer in contested) == [201, 409, 409, 409]
    result = site.repo.show(FILE).decode()
    assert [f"key{n}: new" in result for n in range(WRITERS)] == [True] * WRITERS
    assert [f"{word} new\n" in result for word in words] == [True] * WRITERS
    assert site.repo.text("rev-list", "--count", f"{start}..main") == str(WRITERS + 1)
    assert len(site.owner.get(f"/project-log/{site.project}").ok()["logs"]) == WRITERS + 1
    site.world.work_off()
    assert site.blobs() == site.oracle()


def save_title(site: Site, base: str, blob: str) -> Answer:
    mine = base.replace("---\n", f"---\ntitle: {secrets.token_hex(4)}\n", 1)
    file = update(FILE, mine.encode(), base_blob_sha=blob)
    body = {"message": "Title", "on_conflict": "merge", "files": [file]}
    answer: Answer = site.owner.again().post(site.path("/commit"), body)
    return answer


@pytest.mark.one_database
def test_conflict_of_lists_contains_their_decimal_numbers(site: Site) -> None:
    def text(*rates: str) -> bytes:
        return f"---\nrates: [{', '.join(rates)}]\nsizes: {{low: {rates[0]}}}\n---\n".encode()

    base = site.repo.commit({"p.md": text("0.50", "1.50")})
    site.repo.commit({"p.md": text("0.75", "1.50")})
    conflicts = merge(site, update("p.md", text("0.25", "1.50")), base=base).fails(409, "CONFLICT", "p.md")["result"]
    sides = [(conflict["mine"], conflict["theirs"]) for conflict in conflicts["conflicts"]]
    assert sides == [([0.25, 1.5], [0.75, 1.5]), (0.25, 0.75)]


@pytest.mark.one_database
def test_retry_finds_the_merge_of_an_interrupted_attempt(site: Site, app: Flask) -> None:
    base = site.repo.head()
    site.repo.commit({FILE: THEIRS})
    edit = FileEdit(FileChange(FILE, Action.UPDATE, MINE))
    with app.app_context():
        transactions.start_reading()
        project, [caller, _] = db.session.get_one(Project, site.project), caller_of(site.owner.token)
        source = source_of(project, drivers.git)

        def save(*, is_retry: bool) -> Saved | NoChange:
            planner = MergePlanner(source, MergeRequest(base, [edit], "Edit"))
            return create_merged_commit(project.id, source, planner, by=Actor(caller.id, is_retry=is_retry))

        first = save(is_retry=False)
        site.repo.commit({FILE: POST.replace(b"title: Hello", b"title: Later")})
        retried = save(is_retry=True)
        with pytest.raises(MergeRefused):
            save(is_retry=False)
        db.session.rollback()
    assert isinstance(first, Saved)
    assert isinstance(retried, Saved)
    assert (retried.commit.sha, retried.merged) == (first.commit.sha, first.merged)
