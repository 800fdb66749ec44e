"""Tests of the token refresh: one call for many threads and processes, and every failure.

`GALLEY_LONG=1` starts four processes instead of two.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from app.database.engines import SideConnections
from app.drivers.errors import ReconnectRequired, UpstreamTimeout, UpstreamUnavailable
from app.extensions import db, drivers
from app.models.base import utcnow_ms
from app.models.git_credential import GitCredential
from app.resources.git_provider import token_refresh
from app.resources.git_provider.provider_selection import token_refresher
from app.resources.git_provider.token_refresh import TokenRefresher
from tests.support.doubles.server import Fault, Reply
from tests.support.git_hosts import Hosts, connect_github, connect_gitlab, login_of
from tests.support.parallel import at_once
from tests.support.world import World

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
RENEWAL = "POST /oauth/token"


@pytest.fixture
def refresher(app: Flask) -> TokenRefresher:
    with app.app_context():
        return token_refresher(drivers.git)


def expired(world: World, hosts: Hosts) -> str:
    """Return the id of a GitLab credential with an expired access token."""
    me = world.person()
    made: str = connect_gitlab(me, hosts)["id"]
    change(world, made, access_token_expires_at=utcnow_ms() - timedelta(minutes=1))
    hosts.gitlab.journal.clear()
    return made


def change(world: World, credential_id: str, **columns: object) -> None:
    with world.app.app_context():
        db.session.execute(sa.update(GitCredential).where(GitCredential.id == credential_id).values(**columns))
        db.session.commit()


def column(world: World, credential_id: str, name: str) -> object:
    with world.app.app_context():
        return getattr(db.session.get_one(GitCredential, credential_id), name)


class FailingWrites(SideConnections):
    """Side connections of which two transactions are cut after `fail` was called: the first and the third one."""

    def __init__(self, side: SideConnections) -> None:
        vars(self).update(vars(side))  # The same engine, which the application disposes of.
        self.failures: list[bool] = []

    def fail(self) -> None:
        self.failures = [True, False, True]

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        with super().write() as connection:
            yield connection
            if self.failures and self.failures.pop(0):
                raise sa.exc.OperationalError("UPDATE", {}, OSError("The connection was cut"))


class TestToken:
    def test_valid_token_is_returned_without_a_call(
        self, world: World, hosts: Hosts, refresher: TokenRefresher
    ) -> None:
        made = connect_gitlab(world.person(), hosts)
        hosts.gitlab.journal.clear()
        assert refresher.token(made["id"]) in hosts.gitlab.grants
        assert hosts.gitlab.journal == []

    def test_expired_token_is_refreshed_once(self, world: World, hosts: Hosts, refresher: TokenRefresher) -> None:
        made = expired(world, hosts)
        first = refresher.token(made)
        assert first in hosts.gitlab.grants
        assert refresher.token(made) == first
        assert len(hosts.gitlab.calls(RENEWAL)) == 1

    def test_parallel_threads_call_the_host_once(self, world: World, hosts: Hosts, refresher: TokenRefresher) -> None:
        made = expired(world, hosts)
        hosts.gitlab.latency_s = 0.3
        assert len(set(at_once(40, lambda: refresher.token(made)))) == 1
        assert len(hosts.gitlab.calls(RENEWAL)) == 1

    def test_parallel_rejections_call_the_host_once(
        self, world: World, hosts: Hosts, refresher: TokenRefresher
    ) -> None:
        made: str = connect_gitlab(world.person(), hosts)["id"]
        old = refresher.token(made)
        hosts.gitlab.journal.clear()
        hosts.gitlab.latency_s = 0.3
        new = set(at_once(20, lambda: refresher.token(made, old)))
        assert len(new) == 1
        assert new != {old}
        assert len(hosts.gitlab.calls(RENEWAL)) == 1

    def test_token_without_a_refresh_token_is_used_until_its_expiry(
        self, world: World, hosts: Hosts, refresher: TokenRefresher
    ) -> None:
        me = world.person()
        body = {"provider": "gitlab", "access_token": hosts.gitlab.token(login_of(me))}
        ends = utcnow_ms() + timedelta(seconds=20)
        made = me.post("/git-provider/create", body | {"access_token_expires_at": ends.isoformat()}).ok(201)["id"]
        assert refresher.token(made) == body["access_token"]
        change(world, made, access_token_expires_at=utcnow_ms() - timedelta(seconds=1))
        with pytest.raises(ReconnectRequired):
            refresher.token(made)
        assert column(world, made, "status") == "needs_reconnect"

    def test_github_without_an_app_raises_upstream_unavailable(
        self, world: World, hosts: Hosts, refresher: TokenRefresher
    ) -> None:
        me = world.person()
        made = connect_github(me, hosts, hosts.on_github(login_of(me)).installation)["id"]
        change(world, made, access_token_expires_at=utcnow_ms() - timedelta(minutes=1))
        bare = refresher_without_apps(refresher)
        with pytest.raises(UpstreamUnavailable):
            bare.token(made)
        assert refresher.token(made) in hosts.github.grants

    def test_unknown_credential_raises_reconnect_required(self, refresher: TokenRefresher) -> None:
        with pytest.raises(ReconnectRequired):
            refresher.token("cred_none")


def refresher_without_apps(refresher: TokenRefresher) -> TokenRefresher:
    from app.drivers.git.hosts import GitHosts

    return TokenRefresher(refresher.side, refresher.keyring, GitHosts(None))


class TestRefreshFailure:
    def test_rejected_refresh_calls_the_host_once_for_all_threads(
        self, world: World, hosts: Hosts, refresher: TokenRefresher
    ) -> None:
        made = expired(world, hosts)
        hosts.gitlab.refreshing.clear()

        def ask() -> str:
            with pytest.raises(ReconnectRequired):
                refresher.token(made)
            return "refused"

        assert at_once(20, ask) == ["refused"] * 20
        assert len(hosts.gitlab.calls(RENEWAL)) == 1
        assert column(world, made, "refreshing_until") is None

    @pytest.mark.parametrize("fault", [{"reply": Reply(503)}, {"reply": Reply(200, b"<html>")}])
    def test_host_failure_before_the_refresh_is_retried_by_the_next_call(
        self, world: World, hosts: Hosts, refresher: TokenRefresher, fault: dict
    ) -> None:
        made = expired(world, hosts)
        hosts.gitlab.faults.append(Fault(RENEWAL, **fault))
        with pytest.raises(Exception) as told:
            refresher.token(made)
        assert not isinstance(told.value, ReconnectRequired)
        assert refresher.token(made) in hosts.gitlab.grants

    def test_lost_response_sets_needs_reconnect(self, world: World, hosts: Hosts, refresher: TokenRefresher) -> None:
        made = expired(world, hosts)
        hosts.gitlab.faults.append(Fault(RENEWAL, lose=True))
        with pytest.raises(Exception) as told:
            refresher.token(made)
        assert not isinstance(told.value, ReconnectRequired)
        with pytest.raises(ReconnectRequired):
            refresher.token(made)
        assert column(world, made, "status") == "needs_reconnect"

    def test_new_pair_is_stored_although_its_writes_fail_at_first(
        self, world: World, hosts: Hosts, refresher: TokenRefresher
    ) -> None:
        made = expired(world, hosts)
        side = FailingWrites(refresher.side)
        hosts.gitlab.faults.append(Fault(RENEWAL, first=side.fail))
        token = replace(refresher, side=side).token(made)
        assert (side.failures, len(hosts.gitlab.calls(RENEWAL))) == ([], 1)
        assert refresher.token(made) == token

    def test_lease_of_another_process_delays_the_refresh(
        self, world: World, hosts: Hosts, refresher: TokenRefresher
    ) -> None:
        made = expired(world, hosts)
        change(world, made, refreshing_until=utcnow_ms() + timedelta(seconds=30))
        with pytest.raises(UpstreamTimeout):
            replace(refresher, wait_s=0.3).token(made)
        assert hosts.gitlab.journal == []
        change(world, made, refreshing_until=utcnow_ms() - timedelta(seconds=1))
        assert refresher.token(made) in hosts.gitlab.grants

    def test_refresh_during_a_new_connection_is_discarded(
        self, world: World, hosts: Hosts, refresher: TokenRefresher
    ) -> None:
        me = world.person()
        made = connect_gitlab(me, hosts)["id"]
        change(world, made, access_token_expires_at=utcnow_ms() - timedelta(minutes=1))
        replaced: list[str] = []

        def replace() -> None:
            body = {"provider": "gitlab", "access_token": hosts.gitlab.token(login_of(me))}
            me.again().post("/git-provider/create", body).ok(200)
            replaced.append(str(body["access_token"]))

        hosts.gitlab.faults.append(Fault(RENEWAL, first=replace))
        assert refresher.token(made) == replaced[0]


class TestParallelProcesses:
    def start(self, world: World, hosts: Hosts, folder: Path, credential_id: str, *names: str) -> subprocess.Popen[str]:
        settings = world.app.config["SETTINGS"]
        payload = {
            "home": str(settings.server.instance_dir),
            "environment": hosts.environment() | {"DATABASE_URL": settings.database.url},
            "credential_id": credential_id,
            "folder": str(folder),
            "names": names,
            "greenlets": 50,
        }
        command = [sys.executable, "tests/support/token_clients.py"]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload))
        process.stdin.close()
        return process

    def release(self, folder: Path, count: int) -> None:
        deadline = time.monotonic() + 120
        while len(list(folder.glob("ready-*"))) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(list(folder.glob("ready-*"))) == count
        (folder / "go").touch()

    def test_processes_call_the_host_once(self, world: World, hosts: Hosts, tmp_path: Path) -> None:
        names = "abcd" if os.environ.get("GALLEY_LONG") else "ab"
        made = expired(world, hosts)
        hosts.gitlab.latency_s = 0.4
        process = self.start(world, hosts, tmp_path, made, *names)
        self.release(tmp_path, len(names))
        assert process.stdout is not None
        items = json.loads(process.stdout.read())
        process.stdout.close()
        process.wait(120)
        assert len(items) == 50 * len(names)
        assert len(set(items)) == 1
        assert items[0] in hosts.gitlab.grants
        assert len(hosts.gitlab.calls(RENEWAL)) == 1

    def test_process_killed_before_the_write_leaves_a_credential_that_needs_reconnect(
        self,
        world: World,
        hosts: Hosts,
        refresher: TokenRefresher,
        tmp_path: Path,
        later: Callable[..., AbstractContextManager[None]],
    ) -> None:
        made = expired(world, hosts)
        hosts.gitlab.faults.append(Fault(RENEWAL, delay_s=3))
        process = self.start(world, hosts, tmp_path, made, "0")
        self.release(tmp_path, 1)
        deadline = time.monotonic() + 120
        while not [call for call in hosts.gitlab.calls(RENEWAL) if call.status] and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait(120)
        assert process.stdout is not None
        process.stdout.close()
        with later(seconds=token_refresh.LEASE.total_seconds() + 1), pytest.raises(ReconnectRequired):
            refresher.token(made)
        assert column(world, made, "status") == "needs_reconnect"
        assert len(hosts.gitlab.calls(RENEWAL)) == 2


class TestSealedTokens:
    def test_changed_ciphertext_raises_reconnect_required(
        self, world: World, hosts: Hosts, refresher: TokenRefresher
    ) -> None:
        made = connect_gitlab(world.person(), hosts)["id"]
        stored = str(column(world, made, "access_token_secret"))
        place = len(stored) // 2
        change(
            world,
            made,
            access_token_secret=stored[:place] + ("A" if stored[place] != "A" else "B") + stored[place + 1 :],
        )
        with pytest.raises(ReconnectRequired):
            refresher.token(made)

    def test_ciphertext_of_another_row_or_field_raises_reconnect_required(
        self, world: World, hosts: Hosts, refresher: TokenRefresher
    ) -> None:
        mine, theirs = (connect_gitlab(world.person(), hosts)["id"] for _ in range(2))
        change(world, mine, access_token_secret=column(world, theirs, "access_token_secret"))
        with pytest.raises(ReconnectRequired):
            refresher.token(mine)
        change(world, theirs, access_token_secret=column(world, theirs, "refresh_token_secret"))
        with pytest.raises(ReconnectRequired):
            refresher.token(theirs)
