"""Tests of the history of branches and files through the API, checked with `git log`."""

from typing import Any

import pytest

from tests.resources.project_content.conftest import POST, Site, make_site
from tests.support.samples import renames
from tests.support.world import Answer, World


def get(site: Site, what: str, **query: Any) -> Answer:
    return site.owner.get(site.path(f"/{what}"), query_string=query)


def pages(site: Site, **query: Any) -> list[dict[str, Any]]:
    """Return the commits of all pages."""
    items: list[dict[str, Any]] = []
    while True:
        response = get(site, "history", **query)
        items += response.ok()
        query["cursor"] = response.json["meta"]["next_cursor"]
        if query["cursor"] is None:
            return items


@pytest.fixture
def old(world: World) -> Site:
    """Return a site with many commits."""
    site = make_site(world, renames.first_files(3), indexed=False)
    renames.extend(site.repo, 3, 20)
    return site


class TestHistory:
    def test_pages_of_a_file_equal_git_log_follow(self, old: Site) -> None:
        path = next(path for path in renames.all_paths(old.repo) if path.startswith("moved/"))
        expected = old.repo.text("log", "--follow", "--format=%H", "main", "--", path).split()
        assert len(expected) > 1
        commits = pages(old, file=path, limit=1)
        assert [commit["sha"] for commit in commits] == expected
        assert commits[0]["path"] == path
        assert commits[-1]["path"] != path
        assert get(old, "history", file=path).json["meta"] == {"next_cursor": None, "renames_followed": True}

    def test_added_commit_does_not_move_the_pages_of_the_branch(self, old: Site) -> None:
        expected = old.repo.commits()
        first = get(old, "history", limit=5)
        old.repo.commit({"new.md": b"new\n"})
        rest = pages(old, limit=5, cursor=first.json["meta"]["next_cursor"])
        assert [commit["sha"] for commit in first.ok() + rest] == expected

    def test_commit_contains_author_co_authors_date_and_user(self, site: Site) -> None:
        site.repo.commit({"a.md": b"a\n"}, "Push\n\nCo-authored-by: Grace <grace@mail.example.org>")
        site.commit({"path": "a.md", "action": "update", "content": "b\n"}, message="Save").ok(201)
        saved, pushed = get(site, "history", file="a.md").ok()
        assert saved["user_id"] == site.owner.id
        assert saved["author"] == {"name": "Galley Bot", "email": "bot@galley.example.org"}
        assert [person["email"] for person in saved["co_authors"]] == [site.owner.email]
        assert saved["message"].startswith("Save\n")
        assert pushed == {
            "sha": pushed["sha"],
            "message": "Push\n\nCo-authored-by: Grace <grace@mail.example.org>",
            "author": {"name": "Ada Author", "email": "ada@mail.example.org"},
            "co_authors": [{"name": "Grace", "email": "grace@mail.example.org"}],
            "user_id": None,
            "date": "2023-11-14T22:13:20.000Z",
            "path": "a.md",
        }

    def test_ref_is_a_branch_or_a_commit(self, old: Site) -> None:
        commits = old.repo.commits()
        work = old.repo.commit({"w.md": b"w\n"}, branch="work/one", start=commits[5])
        assert [c["sha"] for c in pages(old, ref="work/one")] == [work, *commits[5:]]
        assert [c["sha"] for c in pages(old, ref=commits[7])] == commits[7:]

    def test_deleted_file_has_a_history(self, site: Site) -> None:
        site.repo.commit({"hugo.toml": None}, "Delete")
        assert [c["message"].strip() for c in pages(site, file="hugo.toml")] == ["Delete", "Add files"]

    @pytest.mark.one_database
    def test_unreachable_commit_or_unknown_branch_or_file_returns_404(self, site: Site) -> None:
        start = site.repo.head()
        gone = site.repo.commit({"g.md": b"g\n"}, branch="gone", start=start)
        site.repo.git("update-ref", "-d", "refs/heads/gone")
        for query in ({"ref": gone}, {"ref": "dead" * 10}, {"ref": "no/branch"}, {"file": "no/such.md"}):
            get(site, "history", **query).fails(404)

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        "query",
        [{"file": "../a"}, {"ref": "HEAD~1"}, {"limit": 0}, {"cursor": "rubbish"}, {"cursor": "aGlzdG9yeTp4OjE"}],
    )
    def test_invalid_query_returns_400_with_path(self, site: Site, query: dict[str, Any]) -> None:
        get(site, "history", **query).fails(400, None, next(iter(query)))

    def test_disconnected_project_returns_409(self, site: Site) -> None:
        site.owner.patch(f"/project/git/{site.project}", {"repository": None, "provider": None})
        site.repo.folder.rename(site.repo.folder.with_suffix(".away"))
        assert get(site, "history").status in (409, 422)


class TestRef:
    def test_raw_and_file_return_a_past_commit(self, site: Site) -> None:
        first = site.repo.head()
        site.repo.commit({"content/about.md": None, "content/posts/hello.md": b"# Other\n"})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        for path in ("content/about.md", "content/posts/hello.md"):
            response = get(site, "raw", file=path, ref=first)
            assert response.response.data == site.repo.show(path, first)
            tag = response.headers["ETag"]
            again = site.owner.get(
                site.path("/raw"), query_string={"file": path, "ref": first}, headers={"If-None-Match": tag}
            )
            assert again.status == 304
        result = get(site, "file", file="content/posts/hello.md", ref=first).ok()
        assert (result["title"], result["size"], result["commit_sha"]) == ("Hello", len(POST), first)
        assert (result["last_commit"]["sha"], result["indexed_at"]) == (first, None)
        assert result.keys() == site.file("content/posts/hello.md").ok().keys()

    @pytest.mark.one_database
    def test_unreachable_commit_or_missing_file_returns_404(self, site: Site) -> None:
        first = site.repo.head()
        gone = site.repo.commit({"g.md": b"g\n"}, branch="gone", start=first)
        site.repo.git("update-ref", "-d", "refs/heads/gone")
        blob = site.repo.text("rev-parse", "main:hugo.toml")
        for what in ("raw", "file"):
            for ref in (gone, "dead" * 10, blob):
                get(site, what, file="hugo.toml", ref=ref).fails(404)
            for path in ("no/such.md", "content", "hugo.toml/below"):
                get(site, what, file=path, ref=first).fails(404)
            get(site, what, file="content/../hugo.toml", ref=first).fails(400, None, "file")
