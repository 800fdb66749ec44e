"""Merge requests of the GitLab double."""

from typing import Any

from tests.support.doubles.gitlab_commits import Commits
from tests.support.doubles.gitlab_projects import PROJECT
from tests.support.doubles.server import Call, Reply, route

WHO = {"name": "Merger", "email": "merger@mail.example.org", "date": "2026-11-02T10:00:00+00:00"}


class Merges(Commits):
    """Calls below `/projects/:id/merge_requests`."""

    @route("GET", f"{PROJECT}/merge_requests")
    def list_merges(self, call: Call, project: str) -> Reply:
        at, state = self.project(call, project), call.one("state", "all")
        expected = {name: call.one(name) for name in ("source_branch", "target_branch") if call.one(name)}
        matches = [each for each in reversed(at.merges) if state in ("all", each["state"])]
        return self.paged(call, [each for each in matches if expected.items() <= each.items()])

    @route("POST", f"{PROJECT}/merge_requests")
    def create_merge(self, call: Call, project: str) -> Reply:
        at, data = self.project(call, project), call.data
        pair = {"source_branch": data["source_branch"], "target_branch": data["target_branch"]}
        if any(each["state"] == "opened" and pair.items() <= each.items() for each in at.merges):
            return Reply(409, {"message": ["Another open merge request already exists for this source branch: !1"]})
        if pair["source_branch"] == pair["target_branch"]:
            return Reply(422, {"message": {"base": ["You can't use same project/branch for source and target"]}})
        number = len(at.merges) + 1
        made: dict[str, Any] = {"id": 9000 + number, "iid": number, "title": data["title"], "state": "opened", **pair}
        url = f"{self.url}/{at.name}/-/merge_requests/{number}"
        at.merges.append(made | {"web_url": url, "merge_commit_sha": None, "squash_commit_sha": None, "sha": None})
        return Reply(201, at.merges[-1])

    @route("GET", f"{PROJECT}/merge_requests/{{number}}")
    def get_merge(self, call: Call, project: str, number: str) -> Reply:
        at = self.project(call, project)
        found = next((each for each in at.merges if str(each["iid"]) == number), None)
        return Reply(200, found) if found else Reply(404, {"message": "404 Not found"})

    @route("PUT", f"{PROJECT}/merge_requests/{{number}}/merge")
    def accept_merge(self, call: Call, project: str, number: str) -> Reply:
        at = self.project(call, project)
        merge = next(each for each in at.merges if str(each["iid"]) == number)
        heads = at.git.branch_heads()
        base, head = heads[merge["target_branch"]], heads[merge["source_branch"]]
        if merge["state"] != "opened" or not at.git.is_ancestor(base, head):
            return Reply(405, {"message": "405 Method Not Allowed"})
        tree = at.git.commit_facts(head)["tree"]
        sha = at.git.write_commit(tree, [base, head], f"Merge branch {merge['source_branch']}", WHO, WHO)
        at.git.move(merge["target_branch"], sha, base)
        merge.update(state="merged", merge_commit_sha=sha, sha=head)
        return Reply(200, merge)
