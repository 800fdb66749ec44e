"""Structured edits through the API, with plain git as the witness."""

from typing import Any

import pytest

from tests.resources.project_content.conftest import POST, Site

FILE = "content/posts/hello.md"


def edit(site: Site, **body: Any) -> Any:
    whole = {"file": FILE, "base_sha": site.repo.head()} | body
    return site.owner.patch(site.path("/front-matter"), whole)


class TestEditFrontMatter:
    def test_set_key_changes_its_line_only_in_one_logged_commit(self, site: Site) -> None:
        before = site.repo.head()
        made = edit(site, set={"draft": True}, message="Hide").ok()
        assert made["commit_sha"] == site.repo.head()
        assert site.repo.text("rev-list", "--count", f"{before}..main") == "1"
        assert site.repo.show(FILE) == POST.replace(b"draft: false", b"draft: true")
        assert site.blobs() == site.oracle()
        [entry] = site.owner.get(f"/project-log/{site.project}").ok()["logs"]
        assert (entry["file"], entry["action"], entry["source"]) == (FILE, "update", "commit")

    def test_keys_are_removed_and_added(self, site: Site) -> None:
        edit(site, set={"weight": 3}, unset=["tags"]).ok()
        assert site.repo.show(FILE) == POST.replace(b"tags: [a, b]\n", b"").replace(b"false\n", b"false\nweight: 3\n")

    def test_edit_without_a_change_makes_no_commit(self, site: Site) -> None:
        before = site.repo.head()
        values = site.file(FILE).ok()["front_matter"]
        assert edit(site, set=values).ok() == {"commit_sha": before, "branch": "main", "files": [], "url": None}
        assert site.repo.head() == before

    def test_file_changed_since_the_base_is_a_conflict(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: b"theirs\n"})
        edit(site, base_sha=base, set={"draft": True}).fails(409, "CONFLICT", FILE)
        assert site.repo.show(FILE) == b"theirs\n"

    def test_other_file_changed_since_the_base_is_no_conflict(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({"content/about.md": b"theirs\n"})
        edit(site, base_sha=base, set={"draft": True}).ok()

    def test_base_that_is_unknown_or_another_blob_is_a_conflict(self, site: Site) -> None:
        edit(site, base_sha="0" * 40, set={"a": 1}).fails(409, "CONFLICT", FILE)
        edit(site, base_blob_sha="0" * 40, set={"a": 1}).fails(409, "CONFLICT", FILE)

    def test_edit_that_cannot_be_isolated_is_422_with_the_reason(self, site: Site) -> None:
        site.repo.commit({FILE: b"---\na: &x 1\nb: *x\n---\n", "bad.md": b"---\na: [\n---\n", "page.css": b"a {}\n"})
        for file in (FILE, "bad.md", "page.css"):
            assert edit(site, file=file, set={"a": 2}).fails(422, "CANNOT_KEEP")["message"]

    def test_missing_file_is_not_found(self, site: Site) -> None:
        edit(site, file="nope.md", set={"a": 1}).fails(404)

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({"set": {"a": 1}, "file": "../x"}, "file"),
            ({"set": {"a": 1}, "base_sha": "x"}, "base_sha"),
            ({}, "set"),
            ({"set": [1]}, "set"),
            ({"set": {"a": 1}, "unset": ["a"]}, "unset"),
            ({"set": {"x" * 201: 1}}, f"set.{'x' * 201}"),
        ],
    )
    def test_commit_with_an_invalid_body_is_400_naming_the_path(
        self, site: Site, body: dict[str, Any], path: str
    ) -> None:
        edit(site, **body).fails(400, None, path)
