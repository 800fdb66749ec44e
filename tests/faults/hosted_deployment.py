"""A small deployment with doubles of the Git hosts behind fault proxies, and a workload on one project."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import sqlalchemy as sa

from app.core.limits import OutboundLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.project_content import ContentIndex
from tests.faults.small_deployment import SmallDeployment
from tests.faults.steps import MADE, count_statuses, until, wait_until_recovered
from tests.faults.workload import Reply, Workload
from tests.support.databases import postgresql_database
from tests.support.doubles.fault_proxy import FaultProxy
from tests.support.doubles.server import Double, Fault
from tests.support.git_hosts import HOOK_A, HOOK_B, Hosts, connect_github, connect_gitlab, login_of, new_project
from tests.support.samples.gitrepo import GitRepo

INDEXED_WITHIN_S = 150
"""A job of a dead worker is requeued within 90 s. The rest is the time of the job."""

QUIET_S = 2.0


class HostedDeployment(SmallDeployment):
    """A deployment on PostgreSQL. Service and tests reach the Git hosts through the proxies only."""

    def environment(self, stack: ExitStack) -> dict[str, str]:
        """Start both hosts and their proxies."""
        self.hosts = Hosts(self.home / "hosts")
        stack.callback(self.hosts.close)
        self.doubles: dict[str, Double] = {"github": self.hosts.github, "gitlab": self.hosts.gitlab}
        self.proxies = {
            name: stack.enter_context(FaultProxy(urlsplit(double.url).port or 0))
            for name, double in self.doubles.items()
        }
        near = {double.url: f"http://127.0.0.1:{self.proxies[name].port}" for name, double in self.doubles.items()}
        values = {name: str(value) for name, value in self.hosts.environment().items()}
        for name, value in values.items():
            for far, through in near.items():
                values[name] = values[name].replace(far, through) if value.startswith(far) else values[name]
        return super().environment(stack) | values | {"DATABASE_URL": stack.enter_context(postgresql_database())}

    def secrets(self) -> list[str]:
        """Return the secrets of the hosts and all issued tokens."""
        github, gitlab = self.hosts.github, self.hosts.gitlab
        tokens = [*github.grants, *github.refreshing, *gitlab.grants, *gitlab.refreshing]
        key = github.private_key.splitlines()[1]
        return [github.client_secret, gitlab.client_secret, HOOK_A, HOOK_B, key, *tokens]


@dataclass
class HostedWorkload(Workload):
    """A workload whose owner saves to a repository at a host, with concurrent pushes and indexing."""

    host: str = "github"
    indexes: int = 0

    def __post_init__(self) -> None:
        assert isinstance(self.deployment, HostedDeployment)
        world, hosts = self.deployment.world, self.deployment.hosts
        self.double, self.proxy = self.deployment.doubles[self.host], self.deployment.proxies[self.host]
        self.owner, self.other_users = world.person(), [world.person() for _ in range(2)]
        created = (
            hosts.on_github(login_of(self.owner)) if self.host == "github" else hosts.on_gitlab(login_of(self.owner))
        )
        self.installation = getattr(created, "installation", "")
        self.connect()
        self.repository = GitRepo.existing(created.git.folder)
        self.project = new_project(self.owner, self.owner.new_organization(), self.host, created.name)
        self.history = self.repository.commits()
        self.follow()

    def connect(self) -> None:
        """Approve the connection at the host."""
        assert isinstance(self.deployment, HostedDeployment)
        if self.host == "github":
            connect_github(self.owner, self.deployment.hosts, self.installation)
        else:
            connect_gitlab(self.owner, self.deployment.hosts)
        self.connected_at_s = time.monotonic()

    def tokens(self) -> list[str]:
        """Return the tokens of the owner at the host."""
        login = login_of(self.owner)
        grants = self.double.grants.items()  # type: ignore[attr-defined]
        return [token for token, grant in grants if login == (grant[0] if isinstance(grant, tuple) else grant.login)]

    def push(self) -> str:
        """Push a commit directly to the host. Return the new head."""
        number = len(self.repository.commits())
        files = {f"pushed/{number}.md": b"%d\n" % number, "content/a.md": b"# A %d\n" % number}
        return self.repository.commit(files, f"Push {number}")

    def reindex(self) -> Reply:
        """Request an update of the index."""
        return self.ask(self.owner, "POST", f"/project-content/{self.project}/reindex", json={})

    def current_tree(self) -> str | None:
        """Read the file list, which must equal the complete tree of a commit. Return the commit."""
        reply = self.ask(self.owner, "GET", f"/project-content/{self.project}")
        if reply.status != 200 or reply.result["commit_sha"] is None:
            if reply.status != 200 or reply.result["files"]:
                self.broken.append(f"the tree is {reply.status} without a commit")
            return None
        sha = str(reply.result["commit_sha"])
        result = {file["path"]: file["sha"] for file in reply.result["files"]}
        expected = {path: about[2] for path, about in self.repository.entries(sha).items()}
        if result != expected or reply.result["total"] != len(expected):
            self.broken.append(f"the index of {sha} has {len(result)} files of {len(expected)}")
        self.indexes += 1
        return sha

    def follow(self) -> None:
        """Wait until the index is at the head of the branch."""
        self.reindex()
        until(lambda: self.current_tree() == self.repository.head(), "the index does not arrive", INDEXED_WITHIN_S)

    def wait_until_idle(self) -> None:
        """Wait until the service sends no requests to the host, then clear the journal.

        The token is then so old that the service does not repeat a call that the host refuses, and the periodic check of
        the branch is not due.
        """
        with self.deployment.world.app.app_context():
            statement = sa.update(ContentIndex).where(ContentIndex.project_id == self.project)
            db.session.execute(statement.values(looked_at=utcnow_ms()))
            db.session.commit()
        time.sleep(max(0.0, self.connected_at_s + OutboundLimits.token_replication_s - time.monotonic()))
        until(lambda: time.monotonic() - self.double.journal[-1].at_s > QUIET_S, "the host is asked on and on")
        self.double.journal.clear()

    @contextmanager
    def with_faults(self, *faults: Fault) -> Iterator[None]:
        """Make the double produce these faults."""
        with self.double.lock:
            self.double.faults[:] = faults
        try:
            yield
        finally:
            with self.double.lock:
                self.double.faults.clear()

    def run_during_fault(self, saves: int = 1) -> list[Reply]:
        """Push, index and save during a fault, while other users must not be affected. Return the replies to the saves."""
        self.push()
        self.reindex()
        replies: list[Reply] = []
        saving = threading.Thread(target=lambda: replies.extend(self.save() for _ in range(saves)))
        saving.start()
        for who in self.other_users:
            others = [self.reads(who), *(each for each in self.independent_writes(who))]
            if {each.status for each in others} - {200, 201}:
                self.broken.append(f"other users received {count_statuses(others)}")
            self.check_health()
        while saving.is_alive():
            self.current_tree()
            saving.join(1)
        time.sleep(1)  # time for the worker to meet the fault
        self.current_tree()
        return replies

    def independent_writes(self, who: object) -> Iterator[Reply]:
        """Write without a request to the host."""
        writes = super().writes(who)  # type: ignore[arg-type]
        yield next(writes)
        yield next(writes)

    def recover(self) -> None:
        """Check that all works again, that the index is complete, and that the log has each acknowledged save once."""
        wait_until_recovered(self)
        assert self.save().status == MADE
        self.follow()
        reply = self.ask(self.owner, "GET", f"/project-log/{self.project}?limit=100")
        logged = [entry["file"] for entry in reply.result["logs"]]
        for path, sha in self.commits.items():
            if logged.count(path) > 1 or (sha is not None and logged.count(path) != 1):
                self.broken.append(f"{path} stands in the log {logged.count(path)} times")
