"""Commit call of the GitLab double: actions are applied in order, as the files service of GitLab and Gitaly do."""

import base64
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.support.doubles.gitlab_projects import REPOSITORY, Project, Projects
from tests.support.doubles.server import Call, Reply, Stop, route

Index = dict[str, tuple[str, str]]
_BAD = re.compile(r"(^|/)(\.git|\.\.?|)(/|$)", re.IGNORECASE)


class Commits(Projects):
    """POST `/projects/:id/repository/commits`."""

    racing: Callable[[], object] | None = None
    after_check: Callable[[], object] | None = None

    @route("POST", f"{REPOSITORY}/commits")
    def create_commit(self, call: Call, project: str) -> Reply:
        at, me, data = self.project(call, project), self.me(call), call.data
        branch, head = data["branch"], at.git.branch_heads().get(data["branch"])
        start = data.get("start_sha")
        assert bool(data.get("force")) == bool(start), "only a commit that starts at a commit may force a branch"
        if branch in at.protected:
            return Reply(403, {"message": "403 Forbidden - You are not allowed to push into this branch"})
        if head is None:
            return _refused("You can only create or edit files when you are on a branch")
        if not data["actions"] and not data.get("allow_empty"):
            return _refused("Provide at least one action, or set allow_empty to true")
        for act in data["actions"]:
            self._check(at, start, head, act)
        if self.after_check:
            after_check, self.after_check = self.after_check, None
            after_check()
            head = at.git.branch_heads()[branch]
        base = self.commit_of(at, start) if start else head
        index = self._applied(at, base, data["actions"])
        if self.racing:
            self.racing()
        tree = at.git.write_tree(None, [(mode, sha, path) for path, (mode, sha) in index.items()])
        stamp = datetime.fromtimestamp(time.time(), UTC).isoformat()
        author = {"name": data.get("author_name", me.name), "email": data.get("author_email", me.email), "date": stamp}
        committer = {"name": me.name, "email": me.email, "date": stamp}
        sha = at.git.write_commit(tree, [base], data["commit_message"], author, committer)
        if not at.git.move(branch, sha, head):
            return _refused(f"Could not update refs/heads/{branch}. Please refresh and try again.")
        return Reply(201, self.commit_facts(at, sha) | {"stats": {}})

    def _applied(self, at: Project, head: str, actions: list[dict[str, Any]]) -> Index:
        entries = at.git.ls(head, recursive=True)
        index = {each.path: (each.mode, each.sha) for each in entries if each.type != "tree"}
        for act in actions:
            getattr(self, f"_{act['action']}")(at, index, act)
        return index

    def _check(self, at: Project, start: str | None, head: str, act: dict[str, Any]) -> None:
        for path in (act["file_path"], act.get("previous_path")):
            if path is not None and _BAD.search(path):
                raise Stop(400, {"message": f"invalid path: '{path}'"})
        known, path = act.get("last_commit_id"), act.get("previous_path") or act["file_path"]
        if start:
            assert known is None, "GitLab compares the last commit with that of the branch"
            return
        if act["action"] in ("update", "move", "delete"):
            assert known, "every change of a file names its last commit"
            now, then = (at.git.log(commit, path=path, limit=1) for commit in (head, known))
            if now and then and now != then:
                said = "You are attempting to update a file that has changed since you started editing it."
                raise Stop(400, {"message": said})

    def _create(self, at: Project, index: Index, act: dict[str, Any]) -> None:
        self._free(index, act["file_path"])
        index[act["file_path"]] = ("100644", self._blob(at, act))

    def _update(self, at: Project, index: Index, act: dict[str, Any]) -> None:
        mode, _ = self._there(index, act["file_path"])
        index[act["file_path"]] = (mode, self._blob(at, act))

    def _delete(self, at: Project, index: Index, act: dict[str, Any]) -> None:
        self._there(index, act["file_path"])
        del index[act["file_path"]]

    def _move(self, at: Project, index: Index, act: dict[str, Any]) -> None:
        mode, sha = self._there(index, act["previous_path"])
        self._free(index, act["file_path"])
        del index[act["previous_path"]]
        index[act["file_path"]] = (mode, self._blob(at, act) if "content" in act else sha)

    def _chmod(self, at: Project, index: Index, act: dict[str, Any]) -> None:
        _, sha = self._there(index, act["file_path"])
        index[act["file_path"]] = ("100755" if act["execute_filemode"] else "100644", sha)

    def _blob(self, at: Project, act: dict[str, Any]) -> str:
        content = act["content"]
        return at.git.write_blob(base64.b64decode(content) if act.get("encoding") == "base64" else content.encode())

    def _there(self, index: Index, path: str) -> tuple[str, str]:
        if path not in index:
            raise Stop(400, {"message": "A file with this name doesn't exist"})
        return index[path]

    def _free(self, index: Index, path: str) -> None:
        above = {path.rsplit("/", count)[0] for count in range(1, path.count("/") + 1)}
        if path in index or above & index.keys() or any(each.startswith(f"{path}/") for each in index):
            raise Stop(400, {"message": "A file with this name already exists"})


def _refused(said: str) -> Reply:
    return Reply(400, {"message": said})
