"""Tests of structured edits through the API, checked with Git."""

from typing import Any

import pytest

from tests.resources.project_content.conftest import POST, Site

pytestmark = pytest.mark.one_database

FILE = "content/posts/hello.md"


def edit(site: Site, **body: Any) -> Any:
    whole = {"file": FILE, "base_sha": site.repo.head()} | body
    return site.owner.patch(site.path("/front-matter"), whole)


class TestEditFrontMatter:
    def test_set_changes_one_line_in_one_logged_commit(self, site: Site) -> None:
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

    def test_edit_without_a_change_creates_no_commit(self, site: Site) -> None:
        before = site.repo.head()
        values = site.file(FILE).ok()["front_matter"]
        assert edit(site, set=values).ok() == {"commit_sha": before, "branch": "main", "files": [], "url": None}
        assert site.repo.head() == before

    def test_file_changed_since_the_base_returns_409(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({FILE: b"theirs\n"})
        edit(site, base_sha=base, set={"draft": True}).fails(409, "CONFLICT", FILE)
        assert site.repo.show(FILE) == b"theirs\n"

    def test_edit_without_effect_on_an_old_base_returns_409(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({"other.md": b"# Other\n"})
        same = {"title": "Hello"}
        assert edit(site, base_sha=base, set=same).ok(200)["commit_sha"] == site.repo.head()
        head = site.repo.commit({FILE: b"---\ntitle: Other\n---\n"})
        error = edit(site, base_sha=base, set=same).fails(409, "CONFLICT", FILE)
        assert error["result"] == {"head_sha": head, "paths": [FILE]}
        site.repo.commit({FILE: None})
        edit(site, base_sha=base, set=same).fails(409, "CONFLICT", FILE)

    def test_change_of_another_file_since_the_base_is_accepted(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({"content/about.md": b"theirs\n"})
        edit(site, base_sha=base, set={"draft": True}).ok()

    def test_unknown_base_or_other_blob_returns_409(self, site: Site) -> None:
        edit(site, base_sha="0" * 40, set={"a": 1}).fails(409, "CONFLICT", FILE)
        edit(site, base_blob_sha="0" * 40, set={"a": 1}).fails(409, "CONFLICT", FILE)

    def test_edit_that_cannot_be_isolated_returns_422_with_the_reason(self, site: Site) -> None:
        site.repo.commit({FILE: b"---\na: &x 1\nb: *x\n---\n", "bad.md": b"---\na: [\n---\n", "page.css": b"a {}\n"})
        for file in (FILE, "bad.md", "page.css"):
            assert edit(site, file=file, set={"a": 2}).fails(422, "CANNOT_KEEP")["message"]

    def test_missing_file_returns_404(self, site: Site) -> None:
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
    def test_invalid_body_returns_400_with_path(self, site: Site, body: dict[str, Any], path: str) -> None:
        edit(site, **body).fails(400, None, path)
