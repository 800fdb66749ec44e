"""Merge requests of the GitLab double, with pipelines and rules of merges."""

from typing import Any

from tests.support.doubles.gitlab_commits import Commits
from tests.support.doubles.gitlab_projects import PROJECT, REPOSITORY, Project
from tests.support.doubles.server import Call, Reply, Stop, route

WHO = {"name": "Merger", "email": "merger@mail.example.org", "date": "2026-11-02T10:00:00+00:00"}


class Merges(Commits):
    """Calls below `/projects/:id/merge_requests` and the jobs of commits."""

    @route("GET", f"{PROJECT}/merge_requests")
    def list_merges(self, call: Call, project: str) -> Reply:
        at, state = self.project(call, project), call.one("state", "all")
        expected = {name: call.one(name) for name in ("source_branch", "target_branch") if call.one(name)}
        matches = [each for each in reversed(at.merges) if state in ("all", _refreshed(at, each)["state"])]
        return self.paged(call, [each for each in matches if expected.items() <= each.items()])

    @route("POST", f"{PROJECT}/merge_requests")
    def create_merge(self, call: Call, project: str) -> Reply:
        at, data = self.project(call, project), call.data
        pair = {"source_branch": data["source_branch"], "target_branch": data["target_branch"]}
        if _has_open(at, pair):
            return Reply(409, {"message": ["Another open merge request already exists for this source branch: !1"]})
        if pair["source_branch"] == pair["target_branch"]:
            return Reply(422, {"message": {"base": ["You can't use same project/branch for source and target"]}})
        number = len(at.merges) + 1
        made: dict[str, Any] = {"id": 9000 + number, "iid": number, "title": data["title"], "state": "opened", **pair}
        url = f"{self.url}/{at.name}/-/merge_requests/{number}"
        shas = {"merge_commit_sha": None, "squash_commit_sha": None, "sha": None}
        at.merges.append(made | {"web_url": url, "description": data.get("description"), **shas})
        return Reply(201, _refreshed(at, at.merges[-1]))

    def _merge(self, at: Project, number: str) -> dict[str, Any]:
        found = next((each for each in at.merges if str(each["iid"]) == number), None)
        if found is None:
            raise Stop(404, {"message": "404 Not found"})
        return _refreshed(at, found)

    @route("GET", f"{PROJECT}/merge_requests/{{number}}")
    def get_merge(self, call: Call, project: str, number: str) -> Reply:
        at = self.project(call, project)
        merge = self._merge(at, number)
        status = "preparing" if at.unprepared else "mergeable"
        at.unprepared = max(0, at.unprepared - 1)
        more = {"user": {"can_merge": not at.no_mergers}, "head_pipeline": at.pipelines.get(merge["sha"])}
        return Reply(200, merge | more | {"detailed_merge_status": status})

    @route("PUT", f"{PROJECT}/merge_requests/{{number}}")
    def update_merge(self, call: Call, project: str, number: str) -> Reply:
        at, data = self.project(call, project), call.data
        merge = self._merge(at, number)
        pair = {name: merge[name] for name in ("source_branch", "target_branch")}
        if data.get("state_event") == "reopen" and merge["state"] == "closed":
            if _has_open(at, pair):
                return Reply(409, {"message": ["Another open merge request already exists for this source branch"]})
            merge["state"] = "opened"
        if data.get("state_event") == "close" and merge["state"] == "opened":
            merge["state"] = "closed"
        merge.update({key: value for key, value in data.items() if key in ("title", "description")})
        return Reply(200, _refreshed(at, merge))

    @route("PUT", f"{PROJECT}/merge_requests/{{number}}/merge")
    def accept_merge(self, call: Call, project: str, number: str) -> Reply:
        at, data = self.project(call, project), call.data
        merge = self._merge(at, number)
        if at.no_mergers:
            return Reply(401, {"message": "401 Unauthorized"})
        if merge["state"] != "opened" or at.unprepared:
            return Reply(405, {"message": "405 Method Not Allowed"})
        if at.delayed_heads or data.get("sha", merge["sha"]) != merge["sha"]:
            at.delayed_heads = max(0, at.delayed_heads - 1)
            return Reply(409, {"message": f"SHA does not match HEAD of source branch: {merge['sha']}"})
        if at.only_passed and at.pipelines.get(merge["sha"], {}).get("status") != "success":
            return Reply(405, {"message": "405 Method Not Allowed"})
        made = self._merged(at, merge, data)
        if made is None:
            return Reply(422, {"message": "Branch cannot be merged"})
        if at.hook_error:
            return Reply(200, merge | {"merge_error": at.hook_error})
        base = at.git.branch_heads()[merge["target_branch"]]
        head = made["merge_commit_sha"] or made["squash_commit_sha"] or merge["sha"]
        assert at.git.move(merge["target_branch"], head, base)
        merge.update(state="merged", **made)
        return Reply(200, merge)

    def _merged(self, at: Project, merge: dict[str, Any], data: dict[str, Any]) -> dict[str, str | None] | None:
        """Write the commits of a merge by the method of the project. Return None if the branches conflict."""
        base, head = at.git.branch_heads()[merge["target_branch"]], merge["sha"]
        squash_sha = None
        if data.get("squash"):
            text = data.get("squash_commit_message", merge["title"])
            squash_sha = at.git.write_merge(base, head, text, WHO, parents=[base])
            if squash_sha is None:
                return None
        if at.merge_method == "ff":
            fits = squash_sha or at.git.is_ancestor(base, head)
            return {"merge_commit_sha": None, "squash_commit_sha": squash_sha} if fits else None
        text = data.get("merge_commit_message", f"Merge branch {merge['source_branch']}")
        merge_sha = at.git.write_merge(base, squash_sha or head, text, WHO)
        return {"merge_commit_sha": merge_sha, "squash_commit_sha": squash_sha} if merge_sha else None

    @route("GET", f"{REPOSITORY}/commits/{{sha}}/statuses")
    def commit_statuses(self, call: Call, project: str, sha: str) -> Reply:
        at = self.project(call, project)
        if not at.reads_jobs:
            return Reply(403, {"message": "403 Forbidden"})
        return self.paged(call, at.jobs.get(sha, []))


def _has_open(at: Project, pair: dict[str, str]) -> bool:
    return any(_refreshed(at, each)["state"] == "opened" and pair.items() <= each.items() for each in at.merges)


def _refreshed(at: Project, merge: dict[str, Any]) -> dict[str, Any]:
    """Follow the branch of an open merge request. GitLab closes it if the branch is deleted."""
    if merge["state"] == "opened":
        head = at.git.branch_heads().get(merge["source_branch"])
        merge["sha"] = head or merge["sha"]
        merge["state"] = "opened" if head else "closed"
    return merge
