"""Repositories of the GitHub double: properties, branches, contents, commits, comparisons."""

import base64
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.support.doubles.github_oauth import Accounts
from tests.support.doubles.plumbing import Difference, Plumbing
from tests.support.doubles.server import Call, Reply, Stop, route

REPO = "/api/repos/{owner}/{name}"
NOT_FOUND = {"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}
INLINE_BYTES = 1_000_000
FILES_A_PAGE = 300
_STATUS = {"A": "added", "D": "removed", "M": "modified", "T": "changed", "R": "renamed", "C": "copied"}


@dataclass
class Repository:
    """A repository and its permissions."""

    id: int
    name: str
    git: Plumbing
    collaborators: set[str] = field(default_factory=set)
    protected: set[str] = field(default_factory=set)
    readers: set[str] = field(default_factory=set)
    read_only: bool = False
    default_branch: str = "main"
    pulls: list[dict[str, Any]] = field(default_factory=list)
    check_runs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    statuses: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    needs_review: bool = False
    reads_checks: bool = True
    delayed_heads: int = 0


class Repositories(Accounts):
    """Calls below `/repos/{owner}/{repo}` that are not Git data."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.former: dict[str, int] = {}
        super().__init__()

    def add(self, name: str, git: Plumbing, *collaborators: str) -> Repository:
        made = Repository(7000 + len(self.repositories), name, git, set(collaborators))
        self.repositories[name] = made
        return made

    def rename(self, old: str, new: str) -> None:
        """Rename a repository. Calls on the former name are redirected."""
        repo = self.repositories.pop(old)
        repo.name, self.former[old] = new, repo.id
        self.repositories[new] = repo
        granted = [each.repositories for each in [*self.installations.values(), *self.grants.values()]]
        for names in granted:
            if names is not None and old in names:
                names ^= {old, new}

    def name_of(self, number: int) -> str:
        return next((each.name for each in self.repositories.values() if each.id == number), "")

    def reaches(self, call: Call, name: str) -> bool:
        grant = self.grant_of(call)
        if grant.kind == "installation":
            granted = self.installations[grant.installation or 0].repositories
            return name in granted and (grant.repositories is None or name in grant.repositories)
        installed = any(name in each.repositories for each in self.installations.values())
        return installed and grant.login in self.repositories[name].collaborators

    def repo(self, call: Call, owner: str, name: str, *, write: bool = False) -> Repository:
        found = self.repositories.get(f"{owner}/{name}")
        if found is None and f"{owner}/{name}" in self.former:
            number = self.former[f"{owner}/{name}"]
            suffix = call.path.removeprefix(f"/api/repos/{owner}/{name}")
            url = f"{self.url}/api/repositories/{number}{suffix}"
            raise Stop(301 if call.method == "GET" else 307, {"message": "Moved Permanently", "url": url}, Location=url)
        if found is None or not self.reaches(call, found.name):
            raise Stop(404, NOT_FOUND)
        if write and found.read_only:
            raise Stop(403, {"message": "Repository was archived so is read-only."})
        return found

    def _facts(self, repo: Repository) -> dict[str, Any]:
        owner, name = repo.name.split("/")
        return {
            "id": repo.id,
            "name": name,
            "full_name": repo.name,
            "owner": {"login": owner},
            "private": True,
            "default_branch": repo.default_branch,
            "html_url": f"{self.url}/{repo.name}",
            "pushed_at": "2026-11-01T10:00:00Z",
            "updated_at": "2026-11-01T10:00:00Z",
        }

    @route("GET", REPO)
    def get_repo(self, call: Call, owner: str, name: str) -> Reply:
        repo = self.repo(call, owner, name)
        push = self.grant_of(call).login not in repo.readers
        return Reply(200, self._facts(repo) | {"permissions": {"admin": False, "push": push, "pull": True}})

    @route("GET", "/api/installation/repositories")
    def installation_repositories(self, call: Call) -> Reply:
        matches = [self._facts(each) for each in self.repositories.values() if self.reaches(call, each.name)]
        return self.paged(call, matches, *call.page(), items="repositories")

    @route("GET", "/api/user/installations/{number}/repositories")
    def user_repositories(self, call: Call, number: str) -> Reply:
        installation = self.installations.get(int(number))
        if installation is None:
            return Reply(404, NOT_FOUND)
        seen = (each for each in self.repositories.values() if each.name in installation.repositories)
        matches = [self._facts(each) for each in seen if self.reaches(call, each.name)]
        return self.paged(call, matches, *call.page(), items="repositories")

    @route("GET", "/api/user/repos")
    def own_repositories(self, call: Call) -> Reply:
        matches = [self._facts(each) for each in self.repositories.values() if self.reaches(call, each.name)]
        return self.paged(call, matches, *call.page())

    def sees(self, login: str, installation: Any) -> bool:
        return super().sees(login, installation) or any(
            login in each.collaborators for each in self.repositories.values() if each.name in installation.repositories
        )

    @route("GET", f"{REPO}/branches")
    def branches(self, call: Call, owner: str, name: str) -> Reply:
        repo = self.repo(call, owner, name)
        matches = [
            {"name": branch, "commit": {"sha": sha, "url": ""}, "protected": branch in repo.protected}
            for branch, sha in sorted(repo.git.branch_heads().items())
        ]
        return self.paged(call, matches, *call.page())

    @route("GET", f"{REPO}/contents/{{path:path}}")
    def contents(self, call: Call, owner: str, name: str, path: str) -> Reply:
        repo = self.repo(call, owner, name)
        commit = repo.git.resolve(call.one("ref", repo.default_branch))
        entry = repo.git.find(commit, path) if commit else None
        if entry is None:
            return Reply(404, NOT_FOUND)
        if entry.type == "tree":
            return Reply(200, [{"name": each.path, "type": each.type} for each in repo.git.ls(entry.sha)])
        payload = {"name": entry.path, "path": path, "sha": entry.sha, "size": entry.size}
        if entry.type == "commit":
            return Reply(200, payload | {"type": "submodule"})
        content = repo.git.blob(entry.sha)
        if entry.mode == "120000":
            return Reply(200, payload | {"type": "symlink", "target": content.decode()})
        if len(content) > INLINE_BYTES:
            return Reply(200, payload | {"type": "file", "encoding": "none", "content": ""})
        return Reply(
            200, payload | {"type": "file", "encoding": "base64", "content": base64.encodebytes(content).decode()}
        )

    @route("GET", f"{REPO}/commits")
    def commits(self, call: Call, owner: str, name: str) -> Reply:
        repo = self.repo(call, owner, name)
        start = repo.git.resolve(call.one("sha", repo.default_branch))
        if start is None:
            return Reply(404, NOT_FOUND)
        shas = repo.git.log(start, path=call.one("path") or None, limit=100_000)
        page, size = call.page()
        reply = self.paged(call, shas, page, size)
        reply.body = [self.commit_object(repo, sha) for sha in reply.body]
        return reply

    @route("GET", f"{REPO}/commits/{{sha}}")
    def commit(self, call: Call, owner: str, name: str, sha: str) -> Reply:
        repo = self.repo(call, owner, name)
        if repo.git.kind(sha) != "commit":
            return Reply(422, {"message": f"No commit found for SHA: {sha}"})
        facts = repo.git.commit_facts(sha)
        old = facts["parents"][0] if facts["parents"] else repo.git.empty_tree()
        files = [_file(each) for each in repo.git.diff(old, sha if facts["parents"] else facts["tree"])]
        page, size = call.page()
        reply = self.paged(call, files, page, min(size, FILES_A_PAGE))
        reply.body = self.commit_object(repo, sha) | {"files": reply.body}
        return reply

    def commit_object(self, repo: Repository, sha: str) -> dict[str, Any]:
        """Return a commit in the form of the lists, with times in UTC."""
        facts = repo.git.commit_facts(sha)
        author = facts["author"]
        date = datetime.fromisoformat(author["date"]).astimezone(UTC)
        payload = {**author, "date": date.strftime("%Y-%m-%dT%H:%M:%SZ")}
        return {
            "sha": sha,
            "html_url": f"{self.url}/{repo.name}/commit/{sha}",
            "commit": {
                "message": facts["message"],
                "author": payload,
                "committer": payload,
                "tree": {"sha": facts["tree"]},
            },
            "parents": [{"sha": each} for each in facts["parents"]],
        }

    @route("GET", f"{REPO}/compare/{{basehead:path}}")
    def compare(self, call: Call, owner: str, name: str, basehead: str) -> Reply:
        repo = self.repo(call, owner, name)
        base, head = (repo.git.resolve(part) for part in basehead.split("..."))
        common = repo.git.merge_base(base, head) if base and head else None
        if base is None or head is None or common is None:
            return Reply(404, NOT_FOUND)
        ahead, behind = repo.git.log(f"{base}..{head}", limit=100_000), repo.git.log(f"{head}..{base}", limit=100_000)
        status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
        page, size = call.page()
        reply = self.paged(call, ahead[::-1], page, size)
        files = _counted(repo.git, common, head)[:FILES_A_PAGE] if page == 1 else []
        reply.body = {
            "status": status.get((bool(ahead), bool(behind)), "diverged"),
            "ahead_by": len(ahead),
            "behind_by": len(behind),
            "total_commits": len(ahead),
            "merge_base_commit": self.commit_object(repo, common),
            "commits": [self.commit_object(repo, sha) for sha in reply.body],
            "files": files,
        }
        return reply


def _file(difference: Difference) -> dict[str, Any]:
    sha = difference.old_sha if difference.status == "D" else difference.new_sha
    payload = {"sha": sha, "filename": difference.new_path, "status": _STATUS[difference.status]}
    return payload | ({"previous_filename": difference.old_path} if difference.status == "R" else {})


def _counted(git: Plumbing, old: str, new: str) -> list[dict[str, Any]]:
    """Return the files with counts, which are zero for a binary file, and with a patch if there is text."""
    items = []
    patches = iter(git.patches(old, new))
    for each in git.diff(old, new):
        patch = next(patches)
        if each.status == "T":  # A removal and an addition, which GitHub shows without a patch.
            next(patches)
            patch = ""
        text = patch if patch.startswith("@@ ") else ""
        signs = [line[:1] for line in text.split("\n")]
        counts = {"additions": signs.count("+"), "deletions": signs.count("-")}
        counts["changes"] = sum(counts.values())
        items.append(_file(each) | counts | ({"patch": text} if text else {}))
    return items
