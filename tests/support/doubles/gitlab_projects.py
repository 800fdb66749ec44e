"""Projects of the GitLab double: properties, branches, trees, files, commits, comparisons."""

import base64
from dataclasses import dataclass, field
from typing import Any

from tests.support.doubles.gitlab_accounts import Accounts
from tests.support.doubles.plumbing import Entry, GitFailed, Plumbing
from tests.support.doubles.server import Call, Reply, Stop, route

PROJECT = "/api/v4/projects/{project}"
REPOSITORY = f"{PROJECT}/repository"
ZEROS = "0" * 40


@dataclass
class Project:
    """A project and its permissions."""

    id: int
    name: str
    git: Plumbing
    members: set[str] = field(default_factory=set)
    readers: set[str] = field(default_factory=set)
    protected: set[str] = field(default_factory=set)
    default_branch: str = "main"
    merges: list[dict[str, Any]] = field(default_factory=list)
    merge_method: str = "merge"
    pipelines: dict[str, dict[str, Any]] = field(default_factory=dict)
    jobs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    only_passed: bool = False
    no_mergers: bool = False
    reads_jobs: bool = True
    delayed_heads: int = 0
    unprepared: int = 0
    hook_error: str | None = None


class Projects(Accounts):
    """Read calls below `/projects`."""

    compare_files = 1000

    def __init__(self) -> None:
        self.projects: list[Project] = []
        super().__init__()

    def add(self, name: str, git: Plumbing, *members: str) -> Project:
        made = Project(80 + len(self.projects), name, git, set(members))
        self.projects.append(made)
        return made

    def project(self, call: Call, wanted: str) -> Project:
        me = self.me(call)
        for each in self.projects:
            if wanted in (str(each.id), each.name) and me.username in each.members:
                return each
        raise Stop(404, {"message": "404 Project Not Found"})

    def facts(self, project: Project) -> dict[str, Any]:
        return {
            "id": project.id,
            "path_with_namespace": project.name,
            "default_branch": project.default_branch if project.git.branch_heads() else None,
            "visibility": "private",
            "web_url": f"{self.url}/{project.name}",
            "last_activity_at": "2026-11-01T10:00:00.000Z",
        }

    @route("GET", "/api/v4/projects")
    def list_projects(self, call: Call) -> Reply:
        me, search, after = self.me(call), call.one("search").lower(), int(call.one("id_after", "0"))
        seen = [each for each in self.projects if me.username in each.members and search in each.name.lower()]
        size = min(100, int(call.one("per_page", "20")))
        rest = [each for each in seen if each.id > after]
        headers = {}
        if len(rest) > size:
            headers["Link"] = self.next_link(call, id_after=str(rest[size - 1].id))
        return Reply(200, [self.facts(each) for each in rest[:size]], headers)

    @route("GET", PROJECT)
    def get_project(self, call: Call, project: str) -> Reply:
        project_data = self.project(call, project)
        level = 20 if self.me(call).username in project_data.readers else 30
        access = {"project_access": {"access_level": level, "notification_level": 3}, "group_access": None}
        return Reply(200, self.facts(project_data) | {"permissions": access})

    def branch_facts(self, project: Project, name: str, sha: str) -> dict[str, Any]:
        default, protected = name == project.default_branch, name in project.protected
        return {"name": name, "commit": {"id": sha}, "default": default, "protected": protected, "merged": False}

    @route("GET", f"{REPOSITORY}/branches")
    def list_branches(self, call: Call, project: str) -> Reply:
        at = self.project(call, project)
        return self.paged(call, [self.branch_facts(at, *pair) for pair in sorted(at.git.branch_heads().items())])

    @route("GET", f"{REPOSITORY}/branches/{{name}}")
    def get_branch(self, call: Call, project: str, name: str) -> Reply:
        at = self.project(call, project)
        head = at.git.branch_heads().get(name)
        return (
            Reply(200, self.branch_facts(at, name, head)) if head else Reply(404, {"message": "404 Branch Not Found"})
        )

    @route("POST", f"{REPOSITORY}/branches")
    def create_branch(self, call: Call, project: str) -> Reply:
        at, name = self.project(call, project), call.data["branch"]
        sha = at.git.resolve(call.data["ref"])
        if name in at.git.branch_heads():
            return Reply(400, {"message": "Branch already exists"})
        if sha is None:
            return Reply(400, {"message": f"Invalid reference name: {call.data['ref']}"})
        if not at.git.move(name, sha, ZEROS):
            return Reply(400, {"message": f"Failed to create branch '{name}'"})
        return Reply(201, self.branch_facts(at, name, sha))

    @route("DELETE", f"{REPOSITORY}/branches/{{name}}")
    def delete_branch(self, call: Call, project: str, name: str) -> Reply:
        at = self.project(call, project)
        head = at.git.branch_heads().get(name)
        if head is None:
            return Reply(404, {"message": "404 Branch Not Found"})
        if name in at.protected:
            return Reply(403, {"message": "403 Forbidden - Protected branch cant be removed"})
        if name == at.default_branch:
            return Reply(405, {"message": "405 Method Not Allowed - Cannot remove HEAD branch"})
        assert at.git.move(name, ZEROS, head)
        return Reply(204)

    def commit_of(self, at: Project, name: str) -> str:
        commit_sha = at.git.resolve(name)
        if commit_sha is None:
            raise Stop(404, {"message": "404 Commit Not Found"})
        return commit_sha

    @route("GET", f"{REPOSITORY}/tree")
    def tree(self, call: Call, project: str) -> Reply:
        at, path = self.project(call, project), call.one("path").strip("/")
        commit = at.git.resolve(call.one("ref", at.default_branch))
        if commit is None:
            return Reply(404, {"message": "404 Tree Not Found"})
        try:
            entries = at.git.ls(f"{commit}:{path}", recursive=call.one("recursive") == "true")
        except GitFailed:
            return Reply(404, {"message": "404 invalid revision or path Not Found"})
        # GitLab lists folders first and submodules last, so a reader must not rely on the order of Git.
        entries.sort(key=lambda entry: (("tree", "blob", "commit").index(entry.type), entry.path.encode()))
        assert call.one("pagination") == "keyset", "offset pages of trees are slow on a real GitLab"
        return self._keyset(call, [self._entry(entry, f"{path}/" if path else "") for entry in entries])

    def _entry(self, entry: Entry, start: str) -> dict[str, Any]:
        path = start + entry.path
        return {"id": entry.sha, "name": path.rpartition("/")[2], "type": entry.type, "path": path, "mode": entry.mode}

    def _keyset(self, call: Call, told: list[dict[str, Any]]) -> Reply:
        token, size = call.one("page_token"), min(100, int(call.one("per_page", "20")))
        start = next((at + 1 for at, each in enumerate(told) if _token(each) == token), 0) if token else 0
        page = told[start : start + size]
        more = {"Link": self.next_link(call, page_token=_token(page[-1]))} if start + size < len(told) else {}
        return Reply(200, page, more)

    def _file(self, call: Call, project: str, path: str) -> tuple[Project, Entry, dict[str, str]]:
        at = self.project(call, project)
        commit = self.commit_of(at, call.one("ref"))
        entry = at.git.find(commit, path)
        if entry is None or entry.type != "blob":
            raise Stop(404, {"message": "404 File Not Found"})
        headers = {
            "X-Gitlab-Blob-Id": entry.sha,
            "X-Gitlab-Commit-Id": commit,
            "X-Gitlab-Last-Commit-Id": at.git.log(commit, path=path, limit=1)[0],
            "X-Gitlab-Size": str(entry.size),
            "X-Gitlab-Execute-Filemode": str(entry.mode == "100755").lower(),
        }
        return at, entry, headers

    @route("HEAD", f"{REPOSITORY}/files/{{path}}")
    def head_file(self, call: Call, project: str, path: str) -> Reply:
        return Reply(200, None, self._file(call, project, path)[2])

    @route("GET", f"{REPOSITORY}/files/{{path}}")
    def get_file(self, call: Call, project: str, path: str) -> Reply:
        at, entry, headers = self._file(call, project, path)
        content = base64.b64encode(at.git.blob(entry.sha)).decode()
        payload = {
            "file_path": path,
            "blob_id": entry.sha,
            "size": entry.size,
            "encoding": "base64",
            "content": content,
        }
        return Reply(200, payload | {"last_commit_id": headers["X-Gitlab-Last-Commit-Id"]}, headers)

    @route("GET", f"{REPOSITORY}/files/{{path}}/raw")
    def raw_file(self, call: Call, project: str, path: str) -> Reply:
        at, entry, headers = self._file(call, project, path)
        return Reply(200, at.git.blob(entry.sha), headers)

    @route("GET", f"{REPOSITORY}/blobs/{{sha}}/raw")
    def raw_blob(self, call: Call, project: str, sha: str) -> Reply:
        at = self.project(call, project)
        if at.git.kind(sha) != "blob":
            return Reply(404, {"message": "404 Blob Not Found"})
        return Reply(200, at.git.blob(sha))

    @route("GET", f"{REPOSITORY}/commits")
    def commits(self, call: Call, project: str) -> Reply:
        at, ref = self.project(call, project), call.one("ref_name")
        if ".." not in ref:
            ref = self.commit_of(at, ref or at.default_branch)
        order = ["--topo-order"] if call.one("order") == "topo" else []
        page = self.paged(call, at.git.log(*order, ref, path=call.one("path") or None, limit=100_000))
        page.body = [self.commit_facts(at, sha) for sha in page.body]
        return page

    @route("GET", f"{REPOSITORY}/commits/{{sha}}")
    def get_commit(self, call: Call, project: str, sha: str) -> Reply:
        at = self.project(call, project)
        return Reply(200, self.commit_facts(at, self.commit_of(at, sha)))

    @route("GET", f"{REPOSITORY}/commits/{{sha}}/refs")
    def commit_refs(self, call: Call, project: str, sha: str) -> Reply:
        at = self.project(call, project)
        commit = self.commit_of(at, sha)
        assert call.one("type") == "branch"
        heads = at.git.branch_heads().items()
        return self.paged(
            call, [{"type": "branch", "name": name} for name, head in heads if at.git.is_ancestor(commit, head)]
        )

    def commit_facts(self, at: Project, sha: str) -> dict[str, Any]:
        facts = at.git.commit_facts(sha)
        return {
            "id": sha,
            "short_id": sha[:8],
            "title": facts["message"].split("\n")[0],
            "message": facts["message"],
            "parent_ids": facts["parents"],
            "author_name": facts["author"]["name"],
            "author_email": facts["author"]["email"],
            "authored_date": facts["author"]["date"],
            "committer_name": facts["committer"]["name"],
            "committer_email": facts["committer"]["email"],
            "committed_date": facts["committer"]["date"],
            "web_url": f"{self.url}/{at.name}/-/commit/{sha}",
        }

    @route("GET", f"{REPOSITORY}/compare")
    def compare(self, call: Call, project: str) -> Reply:
        at = self.project(call, project)
        old, new = at.git.resolve(call.one("from")), at.git.resolve(call.one("to"))
        if old is None or new is None:
            return Reply(404, {"message": "404 Ref Not Found"})
        assert call.one("straight") == "true"
        # GitLab returns a changed type as a removal and an addition, like the text of `git diff`.
        items = [
            (each, status)
            for each in at.git.diff(old, new)
            for status in (("D", "A") if each.status == "T" else (each.status,))
        ]
        diffs = [
            {
                "old_path": each.old_path,
                "new_path": each.new_path,
                "a_mode": each.old_mode if status != "A" else "0",
                "b_mode": each.new_mode if status != "D" else "0",
                "new_file": status == "A",
                "renamed_file": status == "R",
                "deleted_file": status == "D",
                "diff": patch,
            }
            for (each, status), patch in zip(items, at.git.patches(old, new), strict=True)
        ]
        payload = {"commits": [], "compare_same_ref": old == new, "compare_timeout": len(diffs) > self.compare_files}
        return Reply(200, payload | {"diffs": diffs[: self.compare_files]})

    @route("GET", f"{REPOSITORY}/merge_base")
    def merge_base(self, call: Call, project: str) -> Reply:
        at = self.project(call, project)
        names = call.query.get("refs[]", [])
        shas = [sha for name in names if (sha := at.git.resolve(name))]
        if len(shas) != len(names) or len(names) < 2:
            return Reply(400, {"message": "400 Bad request - Could not find ref"})
        base_sha = at.git.merge_base(*shas)
        return (
            Reply(200, self.commit_facts(at, base_sha))
            if base_sha
            else Reply(404, {"message": "404 Merge Base Not Found"})
        )


def _token(told: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(told["path"].encode()).decode()
