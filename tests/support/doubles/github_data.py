"""Git data of the GitHub double: references, trees, blobs, commits."""

import base64
import re
import time
from datetime import UTC, datetime
from typing import Any

from tests.support.doubles.github_repos import Repositories, Repository
from tests.support.doubles.plumbing import Entry, GitFailed
from tests.support.doubles.server import Call, Reply, Stop, route

REPO = "/api/repos/{owner}/{name}"
NOT_FOUND = {"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}
ZEROS = "0" * 40


class GitData(Repositories):
    """Calls below `/repos/{owner}/{repo}/git`."""

    tree_entries = 100_000
    tree_bytes = 7_000_000

    @route("GET", f"{REPO}/git/ref/heads/{{branch:path}}")
    def get_ref(self, call: Call, owner: str, name: str, branch: str) -> Reply:
        repo = self.full(call, owner, name)
        head = repo.git.branch_heads().get(branch)
        return Reply(200, self._ref(repo, branch, head)) if head else Reply(404, NOT_FOUND)

    def _ref(self, repo: Repository, branch: str, head: str) -> dict[str, Any]:
        url = f"{self.url}/api/repos/{repo.name}/git/commits/{head}"
        made = {"ref": f"refs/heads/{branch}", "node_id": "r", "url": f"{self.url}/api/r"}
        return made | {"object": {"type": "commit", "sha": head, "url": url}}

    @route("POST", f"{REPO}/git/refs")
    def create_ref(self, call: Call, owner: str, name: str) -> Reply:
        repo = self.full(call, owner, name, write=True)
        branch, sha = call.data["ref"].removeprefix("refs/heads/"), call.data["sha"]
        if repo.git.kind(sha) != "commit":
            return Reply(422, {"message": "Object does not exist"})
        if branch in repo.git.branch_heads() or not repo.git.move(branch, sha, ZEROS):
            return Reply(422, {"message": "Reference already exists"})
        return Reply(201, self._ref(repo, branch, sha))

    @route("PATCH", f"{REPO}/git/refs/heads/{{branch:path}}")
    def update_ref(self, call: Call, owner: str, name: str, branch: str) -> Reply:
        repo, sha, force = self.full(call, owner, name, write=True), call.data["sha"], call.data.get("force", False)
        assert force is False, "nobody may force a branch"
        head = repo.git.branch_heads().get(branch)
        if head is None:
            return Reply(422, {"message": "Reference does not exist"})
        if branch in repo.protected:
            said = "Repository rule violations found\n\nChanges must be made through a pull request.\n\n"
            return Reply(422, {"message": said})
        if repo.git.kind(sha) != "commit":
            return Reply(422, {"message": "Object does not exist"})
        if not repo.git.is_ancestor(head, sha) or not repo.git.move(branch, sha, head):
            return Reply(422, {"message": "Update is not a fast forward"})
        return Reply(200, self._ref(repo, branch, sha))

    @route("DELETE", f"{REPO}/git/refs/heads/{{branch:path}}")
    def delete_ref(self, call: Call, owner: str, name: str, branch: str) -> Reply:
        repo = self.full(call, owner, name, write=True)
        head = repo.git.branch_heads().get(branch)
        if head is None:
            return Reply(422, {"message": "Reference does not exist"})
        if branch in repo.protected:
            return Reply(422, {"message": "Repository rule violations found\n\nCannot delete this branch\n\n"})
        assert repo.git.move(branch, ZEROS, head)
        return Reply(204)

    @route("GET", f"{REPO}/git/trees/{{tree}}")
    def get_tree(self, call: Call, owner: str, name: str, tree: str) -> Reply:
        repo = self.full(call, owner, name)
        try:
            entries = repo.git.ls(tree, recursive=bool(call.one("recursive")))
        except GitFailed:
            return Reply(404, NOT_FOUND)
        told = [self._entry(repo, entry) for entry in entries]
        cut = bool(call.one("recursive")) and self._too_large(told)
        if cut:
            told = told[: self.tree_entries]
        return Reply(200, {"sha": tree, "url": f"{self.url}/api/t", "tree": told, "truncated": cut})

    def _entry(self, repo: Repository, entry: Entry) -> dict[str, Any]:
        payload: dict[str, Any] = {"path": entry.path, "mode": entry.mode, "type": entry.type, "sha": entry.sha}
        if entry.size is not None:
            payload["size"] = entry.size
        return payload if entry.type == "commit" else payload | {"url": f"{self.url}/api/o/{entry.sha}"}

    def _too_large(self, told: list[dict[str, Any]]) -> bool:
        return len(told) > self.tree_entries or sum(len(entry["path"]) + 180 for entry in told) > self.tree_bytes

    @route("POST", f"{REPO}/git/trees")
    def create_tree(self, call: Call, owner: str, name: str) -> Reply:
        repo = self.full(call, owner, name, write=True)
        entries = [(entry["mode"], entry["sha"], entry["path"]) for entry in call.data["tree"]]
        base = call.data.get("base_tree")
        for _, sha, path in entries:
            if re.search(r"(^|/)(\.git|\.\.?|)(/|$)", path, re.IGNORECASE):
                return Reply(422, {"message": f"tree.path contains a malformed path component: {path}"})
            if sha is None and (base is None or repo.git.find(base, path) is None):
                return Reply(422, {"message": "GitRPC::BadObjectState"})
        try:
            made = repo.git.write_tree(base, entries)
        except GitFailed:
            return Reply(422, {"message": "tree.sha is not a valid blob"})
        told = [self._entry(repo, entry) for entry in repo.git.ls(made)]
        return Reply(201, {"sha": made, "url": f"{self.url}/api/t", "tree": told, "truncated": False})

    @route("GET", f"{REPO}/git/blobs/{{sha}}")
    def get_blob(self, call: Call, owner: str, name: str, sha: str) -> Reply:
        repo = self.full(call, owner, name)
        if not re.fullmatch(r"[0-9a-f]{40}", sha):
            return Reply(422, {"message": "The sha parameter must be exactly 40 characters and contain only [0-9a-f]."})
        if repo.git.kind(sha) != "blob":
            return Reply(404, NOT_FOUND)
        content = repo.git.blob(sha)
        if "raw" in call.headers.get("Accept", ""):
            return Reply(200, content)
        payload = {"sha": sha, "node_id": "b", "size": len(content), "url": f"{self.url}/api/b", "encoding": "base64"}
        return Reply(200, payload | {"content": base64.encodebytes(content).decode()})

    @route("POST", f"{REPO}/git/blobs")
    def create_blob(self, call: Call, owner: str, name: str) -> Reply:
        repo, data = self.full(call, owner, name, write=True), call.data
        content = base64.b64decode(data["content"]) if data.get("encoding") == "base64" else data["content"].encode()
        return Reply(201, {"sha": repo.git.write_blob(content), "url": f"{self.url}/api/b"})

    @route("GET", f"{REPO}/git/commits/{{sha}}")
    def get_commit(self, call: Call, owner: str, name: str, sha: str) -> Reply:
        repo = self.full(call, owner, name)
        if repo.git.kind(sha) != "commit":
            return Reply(404, NOT_FOUND)
        return Reply(200, self._commit(repo, sha))

    @route("POST", f"{REPO}/git/commits")
    def create_commit(self, call: Call, owner: str, name: str) -> Reply:
        repo, data = self.full(call, owner, name, write=True), call.data
        if repo.git.kind(data["tree"]) != "tree" or any(repo.git.kind(p) != "commit" for p in data.get("parents", [])):
            return Reply(422, {"message": "Tree SHA does not exist"})
        me = {"name": self.grant_of(call).login, "email": "1+app@users.noreply.host.example"}
        stamp = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        author = {**me, "date": stamp, **data.get("author", {})}
        committer = {**author, **data.get("committer", {})}
        sha = repo.git.write_commit(data["tree"], data.get("parents", []), data["message"], author, committer)
        return Reply(201, self._commit(repo, sha))

    def _commit(self, repo: Repository, sha: str) -> dict[str, Any]:
        facts = repo.git.commit_facts(sha)
        url = f"{self.url}/{repo.name}/commit/{sha}"
        unsigned = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
        return {
            "sha": sha,
            "node_id": "c",
            "url": f"{self.url}/api/c/{sha}",
            "html_url": url,
            "author": facts["author"],
            "committer": facts["committer"],
            "message": facts["message"],
            "tree": {"sha": facts["tree"], "url": f"{self.url}/api/t"},
            "parents": [{"sha": each, "url": url, "html_url": url} for each in facts["parents"]],
            "verification": unsigned,
        }

    def full(self, call: Call, owner: str, name: str, *, write: bool = False) -> Repository:
        """Return the repository. An empty one receives 409."""
        repo = self.repo(call, owner, name, write=write)
        if not repo.git.branch_heads():
            raise Stop(409, {"message": "Git Repository is empty."})
        return repo
