"""Tests of comparisons of commits through the API, checked with `git diff`."""

import random
from typing import Any

import pytest

from tests.resources.project_content.conftest import POST, Site, make_site
from tests.resources.project_content.test_history import get
from tests.support.samples import renames
from tests.support.world import World

pytestmark = pytest.mark.one_database

IMAGES = {"a.png": renames.IMAGE + b"old", "content/a.md": POST}
NEW = renames.IMAGE + bytes(range(200))


def compare_file(site: Site, file: str, base: str, head: str | None = None) -> dict[str, Any]:
    """Return the only file of a comparison."""
    query = {"base": base, "file": file} | ({"head": head} if head else {})
    [found] = get(site, "compare", **query).ok()["files"]
    return dict(found)


class TestCompare:
    def test_files_equal_git_diff_numstat(self, world: World) -> None:
        site = make_site(world, renames.first_files(4), indexed=False)
        commits = renames.extend(site.repo, 4, 20)
        for _ in range(4):
            base, head = random.Random(4).sample(commits, 2)
            response = get(site, "compare", base=base, head=head)
            files = response.ok()["files"]
            values = {f["path"]: (f["previous_path"], f["additions"], f["deletions"]) for f in files}
            assert values == renames.numstat(site.repo, base, head)
            assert response.json["meta"] == {"next_cursor": None, "total": len(files)}
        assert (response.ok()["base_sha"], response.ok()["head_sha"]) == (base, head)

    def test_pages_contain_every_path_once_in_order(self, site: Site) -> None:
        base = site.repo.head()
        paths = [f"new/{'x' * 200}/{'y' * 200}/{'z' * 200}/{number}.md" for number in range(5)]
        site.repo.commit({path: path.encode() for path in paths})
        seen, query = [], {"base": base, "limit": 2}
        while query.get("cursor", "") is not None:
            response = get(site, "compare", **query)
            seen += [file["path"] for file in response.ok()["files"]]
            query["cursor"] = response.json["meta"]["next_cursor"]
        assert seen == paths

    def test_file_has_lines_words_and_front_matter(self, site: Site) -> None:
        base = site.repo.head()
        after = POST.replace(b"title: Hello", b"title: Hello again").replace(b"[a, b]", b"[a, c]")
        after = after.replace(b"draft: false\n", b"weight: 3\n").replace(b"Words.", b"Other words.")
        site.repo.commit({"content/posts/hello.md": after})
        comparison = compare_file(site, "content/posts/hello.md", base)
        assert (comparison["status"], comparison["additions"], comparison["deletions"]) == ("modified", 4, 4)
        assert comparison["front_matter"] == [
            {"pointer": "/title", "before": "Hello", "after": "Hello again", "missing": []},
            {"pointer": "/tags", "before": ["a", "b"], "after": ["a", "c"], "missing": []},
            {"pointer": "/draft", "before": False, "after": None, "missing": ["after"]},
            {"pointer": "/weight", "before": None, "after": 3, "missing": ["before"]},
        ]
        lines = [line for hunk in comparison["diff"] for line in hunk["lines"]]
        assert [line["type"] for line in lines].count("added") == 4
        title = next(line for line in lines if line["text"] == "title: Hello again")
        assert (title["old_line"], title["new_line"], title["ranges"]) == (None, 2, [[12, 18]])
        assert (comparison["before"]["size"], comparison["after"]["size"]) == (len(POST), len(after))
        assert (comparison["binary"], comparison["truncated"], comparison["before"]["url"]) == (False, False, None)

    def test_lines_of_a_file_equal_git_diff(self, world: World) -> None:
        site = make_site(world, renames.first_files(5), indexed=False)
        commits = renames.extend(site.repo, 5, 10)
        base, head = commits[-1], commits[0]
        signs = {"context": " ", "added": "+", "removed": "-"}
        for path, (previous, additions, _) in renames.numstat(site.repo, base, head).items():
            comparison = compare_file(site, path, base, head)
            if additions is None:
                assert comparison["binary"]
                continue
            expected = site.repo.git("diff", base, head, "--", path, *([previous] if previous else [])).decode()
            lines = [signs[line["type"]] + line["text"] for hunk in comparison["diff"] for line in hunk["lines"]]
            start = expected.find("\n@@ ")
            body = expected[start + 1 :].splitlines() if start >= 0 else []
            assert lines == [line for line in body if not line.startswith(("@@ ", "\\"))]

    def test_versions_of_an_image_have_urls_that_return_their_bytes(self, world: World) -> None:
        site = make_site(world, IMAGES)
        base = site.repo.head()
        site.repo.commit({"a.png": None, "b.png": NEW})
        removed, added = (compare_file(site, path, base) for path in ("a.png", "b.png"))
        assert (removed["status"], removed["binary"], removed["diff"], removed["after"]) == (
            "removed",
            True,
            None,
            None,
        )
        assert (added["before"], added["after"]["size"]) == (None, len(NEW))
        assert site.owner.get(added["after"]["url"]).response.data == NEW
        assert site.owner.get(removed["before"]["url"]).response.data == IMAGES["a.png"]

    def test_large_file_is_truncated(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({"large.txt": b"line\n" * 220_000, "long.txt": b"line\n" * 6_000})
        large, long = compare_file(site, "large.txt", base), compare_file(site, "long.txt", base)
        assert (large["additions"], large["diff"], large["truncated"]) == (220_000, None, True)
        assert (long["additions"], long["truncated"]) == (6_000, True)
        assert sum(len(hunk["lines"]) for hunk in long["diff"]) < 6_000

    def test_renamed_file_is_matched_by_both_paths_and_unchanged_file_is_omitted(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({"content/posts/hello.md": None, "content/moved.md": POST + b"more\n"})
        for path in ("content/moved.md", "content/posts/hello.md"):
            comparison = compare_file(site, path, base)
            assert (comparison["path"], comparison["previous_path"], comparison["status"]) == (
                "content/moved.md",
                "content/posts/hello.md",
                "renamed",
            )
        assert get(site, "compare", base=base, file="hugo.toml").ok()["files"] == []

    def test_unreadable_front_matter_is_null(self, site: Site) -> None:
        base = site.repo.head()
        site.repo.commit({"content/posts/hello.md": b"---\ntitle: [\n---\n"})
        assert compare_file(site, "content/posts/hello.md", base)["front_matter"] is None

    def test_values_of_a_data_file_are_compared(self, site: Site) -> None:
        path, base = "data/prices.yaml", site.repo.commit({"data/prices.yaml": b"- 1.10\n- 2\n"})
        site.repo.commit({path: b"- 1.20\n- 2\n"})
        changes = [{"pointer": "/items", "before": [1.1, 2], "after": [1.2, 2], "missing": []}]
        assert compare_file(site, path, base)["front_matter"] == changes
        removed = site.repo.commit({path: None})
        changes = [{"pointer": "/items", "before": [1.1, 2], "after": None, "missing": ["after"]}]
        assert compare_file(site, path, base, removed)["front_matter"] == changes
        site.repo.commit({path: b"a: [1\n"})
        assert compare_file(site, path, base)["front_matter"] is None

    def test_unreachable_commit_or_missing_file_returns_404(self, site: Site) -> None:
        start = site.repo.head()
        gone = site.repo.commit({"g.md": b"g\n"}, branch="gone", start=start)
        site.repo.git("update-ref", "-d", "refs/heads/gone")
        for query in (
            {"base": gone},
            {"base": start, "head": gone},
            {"base": "no/branch"},
            {"base": start, "file": "no/such.md"},
        ):
            get(site, "compare", **query).fails(404)

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ({}, "base"),
            ({"base": "a..b"}, "base"),
            ({"base": "main", "head": "--all"}, "head"),
            ({"base": "main", "file": "content/../x"}, "file"),
            ({"base": "main", "cursor": "rubbish"}, "cursor"),
        ],
    )
    def test_invalid_query_returns_400_with_path(self, site: Site, query: dict[str, str], field: str) -> None:
        get(site, "compare", **query).fails(400, None, field)
