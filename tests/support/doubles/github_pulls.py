"""Pull requests of the GitHub double, with check runs, commit statuses and rules of branches."""

from typing import Any

from tests.support.doubles.github_data import GitData
from tests.support.doubles.github_repos import REPO, Repository
from tests.support.doubles.server import Call, Reply, Stop, route

NOW = "2026-11-02T10:00:00Z"
WHO = {"name": "Merger", "email": "merger@mail.example.org", "date": NOW}
FORBIDDEN = {"message": "Resource not accessible by integration"}


class Pulls(GitData):
    """Calls below `/repos/{owner}/{repo}/pulls` and the checks of commits."""

    @route("GET", f"{REPO}/pulls")
    def pulls(self, call: Call, owner: str, name: str) -> Reply:
        repo = self.repo(call, owner, name)
        state, head, base = call.one("state", "open"), call.one("head"), call.one("base")
        matches = [
            pull
            for pull in (_refreshed(repo, each) for each in reversed(repo.pulls))
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
        if _has_open(repo, data["head"], data["base"]):
            said = f"A pull request already exists for {owner}:{data['head']}."
            return Reply(422, {"message": "Validation Failed", "errors": [{"message": said}]})
        number = len(repo.pulls) + 1
        made = {
            "number": number,
            "title": data["title"],
            "body": data.get("body"),
            "state": "open",
            "merged_at": None,
            "merge_commit_sha": "7" * 40,  # A trial merge.
            "head": {"ref": data["head"], "sha": heads[data["head"]]},
            "base": {"ref": data["base"]},
            "html_url": f"{self.url}/{repo.name}/pull/{number}",
        }
        repo.pulls.append(made)
        return Reply(201, made)

    def _pull(self, repo: Repository, number: str) -> dict[str, Any]:
        found = next((pull for pull in repo.pulls if str(pull["number"]) == number), None)
        if found is None:
            raise Stop(404, {"message": "Not Found"})
        return _refreshed(repo, found)

    @route("GET", f"{REPO}/pulls/{{number}}")
    def pull(self, call: Call, owner: str, name: str, number: str) -> Reply:
        return Reply(200, self._pull(self.repo(call, owner, name), number))

    @route("PATCH", f"{REPO}/pulls/{{number}}")
    def update_pull(self, call: Call, owner: str, name: str, number: str) -> Reply:
        repo = self.repo(call, owner, name, write=True)
        pull, data = self._pull(repo, number), call.data
        if data.get("state") == "open" and pull["state"] == "closed":
            head, base = pull["head"]["ref"], pull["base"]["ref"]
            if pull["merged_at"] or head not in repo.git.branch_heads() or _has_open(repo, head, base):
                said = "state cannot be changed."
                return Reply(422, {"message": "Validation Failed", "errors": [{"message": said}]})
        pull.update({key: value for key, value in data.items() if key in ("title", "body", "state")})
        return Reply(200, _refreshed(repo, pull))

    @route("PUT", f"{REPO}/pulls/{{number}}/merge")
    def merge_pull(self, call: Call, owner: str, name: str, number: str) -> Reply:
        repo = self.repo(call, owner, name, write=True)
        pull, data = self._pull(repo, number), call.data
        heads = repo.git.branch_heads()
        if pull["state"] != "open":
            return Reply(405, {"message": "Pull Request is not mergeable"})
        base, head = heads[pull["base"]["ref"]], heads[pull["head"]["ref"]]
        if repo.delayed_heads or data.get("sha", head) != head:
            repo.delayed_heads = max(0, repo.delayed_heads - 1)
            return Reply(409, {"message": "Head branch was modified. Review and try the merge again."})
        self._require_rules(repo, head)
        squash = data.get("merge_method") == "squash"
        title = data.get("commit_title", f"{pull['title']} (#{number})" if squash else f"Merge pull request #{number}")
        text = "\n\n".join(filter(None, (title, data.get("commit_message", ""))))
        if data.get("merge_method") == "rebase":
            sha = repo.git.write_rebased(base, head, WHO)
        else:
            sha = repo.git.write_merge(base, head, text, WHO, parents=[base] if squash else None)
        if sha is None:
            return Reply(405, {"message": "Pull Request is not mergeable"})
        assert repo.git.move(pull["base"]["ref"], sha, base)
        pull.update(state="closed", merged_at=NOW, merge_commit_sha=sha)
        return Reply(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})

    def _require_rules(self, repo: Repository, head: str) -> None:
        if repo.needs_review:
            raise Stop(405, {"message": "At least 1 approving review is required by reviewers with write access."})
        passed = {run["name"] for run in repo.check_runs.get(head, []) if run["conclusion"] == "success"}
        passed |= {status["context"] for status in repo.statuses.get(head, []) if status["state"] == "success"}
        for name in sorted(repo.required - passed):
            raise Stop(405, {"message": f'Required status check "{name}" is expected.'})

    @route("GET", f"{REPO}/commits/{{sha}}/check-runs")
    def check_runs(self, call: Call, owner: str, name: str, sha: str) -> Reply:
        repo = self._checked(call, owner, name)
        return self.paged(call, repo.check_runs.get(sha, []), *call.page(), items="check_runs")

    @route("GET", f"{REPO}/commits/{{sha}}/status")
    def combined_status(self, call: Call, owner: str, name: str, sha: str) -> Reply:
        repo = self._checked(call, owner, name)
        return self.paged(call, repo.statuses.get(sha, []), *call.page(), items="statuses")

    def _checked(self, call: Call, owner: str, name: str) -> Repository:
        repo = self.repo(call, owner, name)
        if not repo.reads_checks:
            raise Stop(403, FORBIDDEN)
        return repo


def _has_open(repo: Repository, head: str, base: str) -> bool:
    open_pulls = (pull for pull in repo.pulls if pull["state"] == "open")
    return any((pull["head"]["ref"], pull["base"]["ref"]) == (head, base) for pull in open_pulls)


def _refreshed(repo: Repository, pull: dict[str, Any]) -> dict[str, Any]:
    """Follow the branch of an open pull request. GitHub closes it if the branch is deleted."""
    if pull["state"] == "open":
        head = repo.git.branch_heads().get(pull["head"]["ref"])
        pull["head"]["sha"] = head or pull["head"]["sha"]
        pull["state"] = "open" if head else "closed"
    return pull
