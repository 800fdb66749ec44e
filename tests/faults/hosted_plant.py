"""A small plant whose Git hosts are doubles over real repositories behind fault proxies, and life on a project there."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.conftest import postgresql_database
from tests.doubles.fault_proxy import FaultProxy
from tests.doubles.server import Double, Fault
from tests.faults.life import Life, Told
from tests.faults.playing import MADE, counted, recovered, until
from tests.faults.small_plant import SmallPlant
from tests.git_hosts import HOOK_A, HOOK_B, Hosts, connect_github, connect_gitlab, login_of, new_project
from tests.samples.gitrepo import GitRepo

INDEXED_WITHIN_S = 150
"""Taken up again within 90 s, and then still to be done."""

QUIET_S = 2.0


class HostedPlant(SmallPlant):
    """On PostgreSQL; the hosts are reached through `github` and `gitlab` only, by the service and by the tests' world."""

    def environment(self, stack: ExitStack) -> dict[str, str]:
        """Both hosts, behind their proxies."""
        self.hosts = Hosts(self.home / "hosts")
        stack.callback(self.hosts.close)
        self.doubles: dict[str, Double] = {"github": self.hosts.github, "gitlab": self.hosts.gitlab}
        self.proxies = {
            name: stack.enter_context(FaultProxy(urlsplit(double.url).port or 0))
            for name, double in self.doubles.items()
        }
        near = {double.url: f"http://127.0.0.1:{self.proxies[name].port}" for name, double in self.doubles.items()}
        told = {name: str(value) for name, value in self.hosts.environment().items()}
        for name, value in told.items():
            for far, through in near.items():
                told[name] = told[name].replace(far, through) if value.startswith(far) else told[name]
        return super().environment(stack) | told | {"DATABASE_URL": stack.enter_context(postgresql_database())}

    def secrets(self) -> list[str]:
        """The hosts' secrets, and every token they have given."""
        github, gitlab = self.hosts.github, self.hosts.gitlab
        given = [*github.grants, *github.refreshing, *gitlab.grants, *gitlab.refreshing]
        key = github.private_key.splitlines()[1]
        return [github.client_secret, gitlab.client_secret, HOOK_A, HOOK_B, key, *given]


@dataclass
class HostedLife(Life):
    """Life whose owner saves to a repository at a host, while others push to it and the worker indexes it."""

    host: str = "github"
    indexes: int = 0

    def __post_init__(self) -> None:
        assert isinstance(self.plant, HostedPlant)
        world, hosts = self.plant.world, self.plant.hosts
        self.double, self.proxy = self.plant.doubles[self.host], self.plant.proxies[self.host]
        self.owner, self.strangers = world.person(), [world.person() for _ in range(2)]
        made = hosts.on_github(login_of(self.owner)) if self.host == "github" else hosts.on_gitlab(login_of(self.owner))
        self.installation = getattr(made, "installation", "")
        self.connect()
        self.repository = GitRepo.existing(made.git.folder)
        self.project = new_project(self.owner, self.owner.new_organization(), self.host, made.name)
        self.history = self.repository.commits()
        self.follow()

    def connect(self) -> None:
        """Approve at the host, as a person does in the browser."""
        assert isinstance(self.plant, HostedPlant)
        if self.host == "github":
            connect_github(self.owner, self.plant.hosts, self.installation)
        else:
            connect_gitlab(self.owner, self.plant.hosts)

    def tokens(self) -> list[str]:
        """The tokens the owner has at the host."""
        login = login_of(self.owner)
        grants = self.double.grants.items()  # type: ignore[attr-defined]
        return [token for token, grant in grants if login == (grant[0] if isinstance(grant, tuple) else grant.login)]

    def push(self) -> str:
        """Somebody pushes past the service; the new head."""
        number = len(self.repository.commits())
        files = {f"pushed/{number}.md": b"%d\n" % number, "content/a.md": b"# A %d\n" % number}
        return self.repository.commit(files, f"Push {number}")

    def reindex(self) -> Told:
        """Ask for a look at the branch."""
        return self.ask(self.owner, "POST", f"/project-content/{self.project}/reindex", json={})

    def look(self) -> str | None:
        """Look at the tree, which must be a commit's whole one; that commit."""
        told = self.ask(self.owner, "GET", f"/project-content/{self.project}")
        if told.status != 200 or told.result["commit_sha"] is None:
            if told.status != 200 or told.result["files"]:
                self.broken.append(f"the tree is {told.status} without a commit")
            return None
        sha = str(told.result["commit_sha"])
        found = {file["path"]: file["sha"] for file in told.result["files"]}
        wanted = {path: about[2] for path, about in self.repository.entries(sha).items()}
        if found != wanted or told.result["total"] != len(wanted):
            self.broken.append(f"the index of {sha} has {len(found)} files of {len(wanted)}")
        self.indexes += 1
        return sha

    def follow(self) -> None:
        """Wait until the index is at the branch's head."""
        self.reindex()
        until(lambda: self.look() == self.repository.head(), "the index does not arrive", INDEXED_WITHIN_S)

    def rest(self) -> None:
        """Wait until nobody asks the host any more, and forget what was asked."""
        until(lambda: time.monotonic() - self.double.journal[-1].at_s > QUIET_S, "the host is asked on and on")
        self.double.journal.clear()

    @contextmanager
    def met(self, *faults: Fault) -> Iterator[None]:
        """The double does this inside."""
        with self.double.lock:
            self.double.faults[:] = faults
        try:
            yield
        finally:
            with self.double.lock:
                self.double.faults.clear()

    def endure(self, saves: int = 1) -> list[Told]:
        """While something fails: a push, indexing, saves, and strangers who must notice nothing; what the saves got."""
        self.push()
        self.reindex()
        told: list[Told] = []
        saving = threading.Thread(target=lambda: told.extend(self.save() for _ in range(saves)))
        saving.start()
        for who in self.strangers:
            others = [self.reads(who), *(each for each in self.stranger_writes(who))]
            if {each.status for each in others} - {200, 201}:
                self.broken.append(f"strangers were told {counted(others)}")
            self.check_health()
        while saving.is_alive():
            self.look()
            saving.join(1)
        time.sleep(1)  # for the worker, which has met it by then
        self.look()
        return told

    def stranger_writes(self, who: object) -> Iterator[Told]:
        """What strangers do has nothing to do with the host."""
        writes = super().writes(who)  # type: ignore[arg-type]
        yield next(writes)
        yield next(writes)

    def recover(self) -> None:
        """Everything works again; the index arrives, and every acknowledged save stands in the log once."""
        recovered(self)
        assert self.save().status == MADE
        self.follow()
        told = self.ask(self.owner, "GET", f"/project-log/{self.project}?limit=100")
        logged = [entry["file"] for entry in told.result["logs"]]
        for path, sha in self.commits.items():
            if logged.count(path) > 1 or (sha is not None and logged.count(path) != 1):
                self.broken.append(f"{path} stands in the log {logged.count(path)} times")
