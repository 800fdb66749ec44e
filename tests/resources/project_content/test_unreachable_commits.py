"""Tests of object ids that a client sends: an object that no branch contains is never read.

A branch that was deleted or rewritten leaves its commits in the repository, and projects may share one repository.
"""

from typing import Any

import pytest

from tests.resources.project_content.conftest import FILES, POST, Site

HELLO = "content/posts/hello.md"
SECRET = b"---\ntitle: hunter2\n---\nhunter2\n"
GALLEY = b"title: hunter2\ncollections: []\n"


@pytest.fixture
def removed(site: Site) -> str:
    """Return a commit of a deleted branch, with a secret in a file and in a new file."""
    files: dict[str, Any] = {HELLO: SECRET, "secret.md": SECRET, ".galley.yml": GALLEY, "content/about.md": None}
    commit = site.repo.commit(files, branch="removed", start=site.repo.head())
    site.repo.git("update-ref", "-d", "refs/heads/removed")
    return commit


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/project-content/:id/raw?file=secret.md&ref=:commit", 404),
        ("/project-content/:id/file?file=secret.md&ref=:commit", 404),
        ("/project-content/:id/history?ref=:commit", 404),
        (f"/project-content/:id/history?file={HELLO}&ref=:commit", 404),
        ("/project-content/:id/compare?base=:commit", 404),
        ("/project-content/:id/compare?base=main&head=:commit", 404),
        (f"/project-content/:id/compare?base=:commit&file={HELLO}", 404),
    ],
)
@pytest.mark.one_database
def test_read_of_an_unreachable_commit_returns_404(site: Site, removed: str, path: str, status: int) -> None:
    url = path.replace(":id", site.project).replace(":commit", removed)
    answer = site.owner.get(url)
    answer.fails(status)
    assert b"hunter2" not in answer.response.data


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/project/:id/branches", {"branch": "copy", "from": ":commit"}, 404),
        ("POST", "/project-content/:id/restore", {"file": HELLO, "commit_sha": ":commit"}, 404),
        ("POST", "/project-content/:id/restore", {"folder": "content", "commit_sha": ":commit"}, 404),
        ("POST", "/project-content/:id/restore", {"file": HELLO, "commit_sha": ":head", "base_sha": ":commit"}, 409),
        (
            "POST",
            "/project-content/:id/restore",
            {"folder": "content", "commit_sha": ":head", "base_sha": ":commit"},
            409,
        ),
        (
            "POST",
            "/project-content/:id/commit",
            {"base_sha": ":commit", "message": "Save", "files": [{"path": HELLO, "action": "update", "content": "x"}]},
            409,
        ),
        *(
            (
                "PATCH",
                "/project-content/:id/front-matter",
                {"file": file, "base_sha": ":commit", "set": {"title": title}},
                409,
            )
            for file in (HELLO, "secret.md", "no-file.md")
            for title in ("hunter2", "guess")
        ),
        ("POST", "/project/:id/schema/adopt", {"base_sha": ":commit"}, 409),
    ],
)
@pytest.mark.one_database
def test_write_from_an_unreachable_commit_does_not_read_it(
    site: Site, removed: str, method: str, path: str, body: dict[str, Any], status: int
) -> None:
    ids = {":commit": removed, ":head": site.repo.head()}
    sent = {"base_sha": ids[":head"]} | {
        name: ids.get(value, value) if isinstance(value, str) else value for name, value in body.items()
    }
    answer = site.owner.call(method, path.replace(":id", site.project), sent)
    answer.fails(status)
    assert b"hunter2" not in answer.response.data
    assert site.repo.show(HELLO) == POST == FILES[HELLO]


@pytest.mark.one_database
def test_branch_starts_at_an_earlier_commit_of_a_branch(site: Site) -> None:
    first = site.repo.head()
    site.repo.commit({"content/about.md": b"two\n"})
    created = site.owner.post(f"/project/{site.project}/branches", {"branch": "copy", "from": first}).ok(201)
    assert created["sha"] == first
