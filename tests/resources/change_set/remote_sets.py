"""The repository of a team at a double of a Git host, with the actions of people at the host."""

import hashlib
import hmac
import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from tests.resources.change_set.conftest import Team, run_job
from tests.support.doubles.gitlab import GitLab
from tests.support.doubles.server import Call, Double, Fault, Reply
from tests.support.git_hosts import HOOK_A, HOOK_B, Hosts, login_of

CHECK = "build"


class RemoteSide(ABC):
    """The repository of a team at its host."""

    WRITE: ClassVar[str]
    """The call that commits on the working branch."""
    READ_HEAD: ClassVar[str]
    MERGE: ClassVar[str] = "PUT .*/merge$"
    double: Double

    def __init__(self, team: Team) -> None:
        self.team = team
        self.name = str(team.owner.get(f"/project/{team.project}").ok()["repository"])

    @property
    @abstractmethod
    def requests(self) -> list[dict[str, Any]]:
        """The pull requests."""

    @abstractmethod
    def protect(self) -> None:
        """Accept changes of the working branch only through pull requests."""

    @abstractmethod
    def require_check(self) -> None:
        """Refuse merges without a successful check."""

    @abstractmethod
    def set_check(self, sha: str, state: str) -> None:
        """Store the result of the check: `success`, `failed` or `pending`."""

    @abstractmethod
    def open_request(self, branch: str) -> int: ...

    @abstractmethod
    def close_request(self, number: int) -> None: ...

    @abstractmethod
    def merge_request(self, number: int, method: str) -> None: ...

    @abstractmethod
    def _notification(self, branch: str) -> tuple[str, dict[str, Any], Callable[[bytes], dict[str, str]]]:
        """Return the path, the body and the headers of the notification of a push."""

    def notify(self, branch: str = "main") -> None:
        """Send the notification of a push, and run its jobs."""
        path, payload, headers = self._notification(branch)
        body = json.dumps(payload).encode()
        anonymous = self.team.world.anonymous()
        anonymous.post(path, data=body, headers=headers(body), content_type="application/json").ok()
        self.team.world.work_off()

    def fail(self, where: str, **fault: Any) -> None:
        self.double.faults.append(Fault(where, **fault))

    def _act(self, token: str, method: str, path: str, body: dict[str, Any]) -> Any:
        """Send a request of the owner to the host. It is not part of the journal."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        reply = self.double.answer(Call(method, path, {}, headers, json.dumps(body).encode()))
        assert reply.status < 300, reply
        return reply.body


class GitHubSide(RemoteSide):
    """A repository at the double of GitHub."""

    WRITE = "PATCH .*/git/refs/heads/main$"
    READ_HEAD = "GET .*/git/ref/heads/main$"

    def __init__(self, team: Team, hosts: Hosts) -> None:
        super().__init__(team)
        self.double = self.github = hosts.github
        self.repository = hosts.github.repositories[self.name]

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self.repository.pulls

    def protect(self) -> None:
        self.repository.protected.add("main")

    def require_check(self) -> None:
        self.repository.required.add(CHECK)

    def set_check(self, sha: str, state: str) -> None:
        result = {"failed": "failure"}.get(state, state)
        self.repository.statuses[sha] = [{"context": CHECK, "state": result}]

    def act(self, method: str, path: str, **body: Any) -> Any:
        token = self.github.user_token(login_of(self.team.owner))
        return self._act(token, method, f"/api/repos/{self.name}/pulls{path}", body)

    def open_request(self, branch: str) -> int:
        return int(self.act("POST", "", title="By hand", head=branch, base="main")["number"])

    def close_request(self, number: int) -> None:
        self.act("PATCH", f"/{number}", state="closed")

    def merge_request(self, number: int, method: str) -> None:
        self.act("PUT", f"/{number}/merge", merge_method=method)

    def _notification(self, branch: str) -> tuple[str, dict[str, Any], Callable[[bytes], dict[str, str]]]:
        about = {"id": self.repository.id, "full_name": self.name}

        def headers(body: bytes) -> dict[str, str]:
            signature = hmac.new(HOOK_A.encode(), body, hashlib.sha256).hexdigest()
            delivery = {"X-GitHub-Event": "push", "X-GitHub-Delivery": secrets.token_hex(8)}
            return delivery | {"X-Hub-Signature-256": f"sha256={signature}"}

        return "/api/webhooks/provider_a", {"ref": f"refs/heads/{branch}", "repository": about}, headers


class GitLabSide(RemoteSide):
    """A project at the double of GitLab."""

    WRITE = "POST .*/repository/commits$"
    READ_HEAD = "GET .*/repository/branches/main$"

    def __init__(self, team: Team, hosts: Hosts) -> None:
        super().__init__(team)
        self.double: GitLab = hosts.gitlab
        self.gitlab = hosts.gitlab
        self.repository = next(one for one in hosts.gitlab.projects if one.name == self.name)

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self.repository.merges

    def protect(self) -> None:
        self.repository.protected.add("main")

    def require_check(self) -> None:
        self.repository.only_passed = True

    def set_check(self, sha: str, state: str) -> None:
        result = {"pending": "running"}.get(state, state)
        self.repository.pipelines[sha] = {"id": 1, "sha": sha, "status": result}
        self.repository.jobs[sha] = [{"name": CHECK, "status": result, "allow_failure": False}]

    def act(self, method: str, path: str, **body: Any) -> Any:
        token = self.gitlab.token(login_of(self.team.owner))
        return self._act(token, method, f"/api/v4/projects/{self.repository.id}/merge_requests{path}", body)

    def open_request(self, branch: str) -> int:
        return int(self.act("POST", "", title="By hand", source_branch=branch, target_branch="main")["iid"])

    def close_request(self, number: int) -> None:
        self.act("PUT", f"/{number}", state_event="close")

    def merge_request(self, number: int, method: str) -> None:
        """Merge with a merge commit, as one commit, or by moving the branch forward (`rebase`)."""
        self.repository.merge_method = "ff" if method == "rebase" else "merge"
        self.act("PUT", f"/{number}/merge", squash=method == "squash")

    def _notification(self, branch: str) -> tuple[str, dict[str, Any], Callable[[bytes], dict[str, str]]]:
        about = {"id": self.repository.id, "path_with_namespace": self.name}
        payload = {"object_kind": "push", "ref": f"refs/heads/{branch}", "project": about}
        headers = {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Event-UUID": secrets.token_hex(8), "X-Gitlab-Token": HOOK_B}
        return "/api/webhooks/provider_b", payload, lambda _body: headers


def run(team: Team, name: str, **arguments: Any) -> None:
    """Run a job that is not due, and all jobs that it enqueues."""
    run_job(team, name, **arguments)
    team.world.work_off()


def refusal(reason: str, status: int) -> Reply:
    """Return a reply of a host with a reason."""
    return Reply(status, {"message": reason})
