"""Pull requests of the GitHub double."""

from typing import Any

from tests.support.doubles.github_data import GitData
from tests.support.doubles.github_repos import REPO, Repository
from tests.support.doubles.server import Call, Reply, route

NOW = "2026-11-02T10:00:00Z"


class Pulls(GitData):
    """Calls below `/repos/{owner}/{repo}/pulls`."""

    @route("GET", f"{REPO}/pulls")
    def pulls(self, call: Call, owner: str, name: str) -> Reply:
        repo = self.repo(call, owner, name)
        state, head, base = call.one("state", "open"), call.one("head"), call.one("base")
        matches = [
            pull
            for pull in reversed(repo.pulls)
            if state in ("all", pull["state"])
            and (not head or head == f"{owner}:{pull['head']['ref']}")
            and (not base or base == pull["base"]["ref"])
        ]
        return self.paged(call, matches, *call.page())

    @route("POST", f"{REPO}/pulls")
    def create_pull(self, call: Call, owner: str, name: str) -> Reply:
        repo, data = self.repo(call, owner, name, write=True), call.data
        heads = repo.git.branch_heads()
        if data["head"] not in heads or data["base"] not in heads:
            return Reply(422, {"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]})
        if not repo.git.log(f"{heads[data['base']]}..{heads[data['head']]}"):
            said = f"No commits between {data['base']} and {data['head']}"
            return Reply(422, {"message": "Validation Failed", "errors": [{"message": said}]})
        same = (p for p in repo.pulls if p["state"] == "open" and p["head"]["ref"] == data["head"])
        if any(p["base"]["ref"] == data["base"] for p in same):
            said = f"A pull request already exists for {owner}:{data['head']}."
            return Reply(422, {"message": "Validation Failed", "errors": [{"message": said}]})
        made = self._pull(repo, data)
        repo.pulls.append(made)
        return Reply(201, made)

    def _pull(self, repo: Repository, data: dict[str, Any]) -> dict[str, Any]:
        number = len(repo.pulls) + 1
        return {
            "number": number,
            "title": data["title"],
            "body": data.get("body"),
            "state": "open",
            "merged_at": None,
            "merge_commit_sha": None,
            "head": {"ref": data["head"]},
            "base": {"ref": data["base"]},
            "html_url": f"{self.url}/{repo.name}/pull/{number}",
        }

    @route("GET", f"{REPO}/pulls/{{number}}")
    def pull(self, call: Call, owner: str, name: str, number: str) -> Reply:
        repo = self.repo(call, owner, name)
        found = next((pull for pull in repo.pulls if str(pull["number"]) == number), None)
        return Reply(200, found) if found else Reply(404, {"message": "Not Found"})

    @route("PUT", f"{REPO}/pulls/{{number}}/merge")
    def merge_pull(self, call: Call, owner: str, name: str, number: str) -> Reply:
        repo = self.repo(call, owner, name, write=True)
        pull = next(pull for pull in repo.pulls if str(pull["number"]) == number)
        if pull["state"] != "open":
            return Reply(405, {"message": "Pull Request is not mergeable"})
        heads = repo.git.branch_heads()
        base, head = heads[pull["base"]["ref"]], heads[pull["head"]["ref"]]
        if not repo.git.is_ancestor(base, head):
            return Reply(405, {"message": "Pull Request is not mergeable"})
        who = {"name": "Merger", "email": "merger@mail.example.org", "date": NOW}
        tree = repo.git.commit_facts(head)["tree"]
        sha = repo.git.write_commit(tree, [base, head], f"Merge pull request #{number}", who, who)
        repo.git.move(pull["base"]["ref"], sha, base)
        pull.update(state="closed", merged_at=NOW, merge_commit_sha=sha)
        return Reply(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})
