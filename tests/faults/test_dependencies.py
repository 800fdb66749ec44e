"""Tests of faults of the database, Redis, the object store and the mail server, and of the recovery.

Each test uses the running service, whose web server and worker are never restarted. They take some minutes. Run them
with `make faults`.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

import pytest
import sqlalchemy as sa

from app.extensions import db
from app.models.media import MediaAsset
from tests.faults.deployment import Deployment
from tests.faults.steps import count_statuses, fault_of, until, wait_until_recovered
from tests.faults.workload import Workload
from tests.support.assertions.mailbox import CODE
from tests.support.doubles.fault_proxy import FaultProxy, Mode
from tests.support.samples.pictures import picture

FINE, MADE, BUSY = 200, 201, 503
Break = Callable[[Deployment], AbstractContextManager[None]]


@contextmanager
def stopped(deployment: Deployment) -> Iterator[None]:
    """Crash the database server."""
    deployment.postgres.stop("immediate")
    try:
        yield
    finally:
        deployment.postgres.start()


@contextmanager
def restarted(deployment: Deployment) -> Iterator[None]:
    """Restart the database server, which ends all connections."""
    deployment.postgres.stop("fast")
    deployment.postgres.start()
    yield


@contextmanager
def read_only(deployment: Deployment) -> Iterator[None]:
    """Make the database refuse writes."""
    deployment.postgres.read_only(yes=True)
    try:
        yield
    finally:
        deployment.postgres.read_only(yes=False)


@contextmanager
def full(deployment: Deployment) -> Iterator[None]:
    """End the connections of the service and occupy all connections of the server."""
    with ExitStack() as taken:
        with deployment.postgres.superuser() as superuser:
            superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'galley'"
            )
            for _ in range(60):
                try:
                    taken.enter_context(deployment.postgres.superuser())
                except Exception:
                    break
        yield


@contextmanager
def locked(deployment: Deployment) -> Iterator[None]:
    """Lock the tables of the writes."""
    with deployment.postgres.superuser() as holder:
        holder.execute("BEGIN")
        holder.execute("LOCK TABLE organizations, user_preferences, project_log_entries IN EXCLUSIVE MODE")
        yield
        holder.execute("ROLLBACK")


@contextmanager
def flushed(deployment: Deployment) -> Iterator[None]:
    """Flush Redis."""
    deployment.forget_rates()
    yield


@dataclass(frozen=True)
class Fault:
    """A fault and the permitted statuses of reads and writes during it."""

    name: str
    breaks: Break
    reads: frozenset[int]
    writes: frozenset[int]


def fault(name: str, breaks: Break, reads: set[int], writes: set[int]) -> Fault:
    return Fault(name, breaks, frozenset(reads), frozenset(writes))


def down(of: Callable[[Deployment], FaultProxy], mode: Mode, **how: float) -> Break:
    return lambda deployment: fault_of(of(deployment), mode, **how)


def _database(deployment: Deployment) -> FaultProxy:
    return deployment.database


def _cache(deployment: Deployment) -> FaultProxy:
    return deployment.cache


FAULTS = (
    fault("database refuses connections", down(_database, Mode.REFUSE), {BUSY}, {BUSY}),
    fault("database resets connections", down(_database, Mode.RESET), {BUSY}, {BUSY}),
    fault("database stalls", down(_database, Mode.STALL), {BUSY}, {BUSY}),
    fault("database takes and never answers", down(_database, Mode.BLACKHOLE), {BUSY}, {BUSY}),
    fault("database answers 0.1 s late", down(_database, Mode.SLOW, delay_s=0.1), {FINE, BUSY}, {FINE, MADE, BUSY}),
    fault("database is cut amid answers", down(_database, Mode.CUT, cut_after=900), {FINE, BUSY}, {FINE, MADE, BUSY}),
    fault("database crashed", stopped, {BUSY}, {BUSY}),
    fault("database restarted", restarted, {FINE, BUSY}, {FINE, MADE, BUSY}),
    fault("database read-only", read_only, {FINE}, {BUSY}),
    fault("database gives no more connections", full, {FINE, BUSY}, {FINE, MADE, BUSY}),
    fault("tables locked by somebody", locked, {FINE}, {FINE, MADE, BUSY}),
    fault("Redis refuses connections", down(_cache, Mode.REFUSE), {FINE}, {FINE, MADE}),
    fault("Redis stalls", down(_cache, Mode.STALL), {FINE}, {FINE, MADE}),
    fault("Redis resets connections", down(_cache, Mode.RESET), {FINE}, {FINE, MADE}),
    fault("Redis cut amid answers", down(_cache, Mode.CUT, cut_after=3), {FINE}, {FINE, MADE}),
    fault("Redis flushed", flushed, {FINE}, {FINE, MADE}),
)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with Deployment(tmp_path_factory.mktemp("deployment")) as created:
        yield created


@pytest.fixture(scope="module")
def tally() -> Iterator[list[str]]:
    """Collect the survived faults and print them at the end."""
    survived: list[str] = []
    yield survived
    print(f"\nfaults of dependencies survived {len(survived)}: {'; '.join(survived)}")


class TestDatabaseAndRedis:
    @pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
    def test_fault_of_database_or_redis_returns_documented_statuses_until_recovery(
        self, deployment: Deployment, tally: list[str], fault: Fault, capsys: pytest.CaptureFixture[str]
    ) -> None:
        workload = Workload(deployment)
        wait_until_recovered(workload)
        people, reads, writes = workload.create_users(), [], []
        with fault.breaks(deployment):
            for who in people:
                reads.append(workload.reads(who))
                workload.check_health()
                writes += workload.writes(who)
        deployment.reconnect()
        wait_until_recovered(workload)
        assert workload.check() == []
        assert [reply for reply in reads if reply.status not in fault.reads] == []
        assert [reply for reply in writes if reply.status not in fault.writes] == []
        tally.append(fault.name)
        with capsys.disabled():
            slowest = max((reply.took_s for reply in (*reads, *writes)), default=0)
            print(f"\n{fault.name}: {count_statuses(reads + writes)}, slowest {slowest:.1f} s", end="")


STORE_FAULTS = (Mode.REFUSE, Mode.RESET, Mode.STALL, Mode.CUT)


class TestObjectStore:
    @pytest.mark.parametrize("mode", STORE_FAULTS)
    def test_object_store_fault_refuses_uploads_with_503_and_delays_deletions(
        self, deployment: Deployment, tally: list[str], mode: Mode, capsys: pytest.CaptureFixture[str]
    ) -> None:
        workload, (who, other) = Workload(deployment), Workload(deployment).create_users()
        kept = workload.ask(who, "POST", "/bucket/upload", files={"file": ("a.png", picture())})
        assert kept.status == MADE
        key = kept.result["key"]
        with fault_of(deployment.store, mode, cut_after=20):
            deleted = workload.ask(who, "DELETE", f"/bucket/delete/{key}")
            refused = workload.ask(other, "POST", "/bucket/upload", files={"file": ("a.png", picture())})
            workload.check_health()
            others = [workload.reads(who), *workload.writes(who)]
        assert (deleted.status, refused.status) == (FINE, BUSY)
        assert {reply.status for reply in others} <= {FINE, MADE}
        assert _rows_of(deployment, other.id) == 0
        until(lambda: not (deployment.s3.root / "media" / key).exists(), "the object was not deleted later")
        assert workload.ask(other, "POST", "/bucket/upload", files={"file": ("a.png", picture())}).status == MADE
        assert workload.check() == []
        tally.append(f"object store {mode}")
        with capsys.disabled():
            print(f"\nobject store {mode}: upload refused after {refused.took_s:.1f} s", end="")


class TestMail:
    @pytest.mark.parametrize("mode", [Mode.REFUSE, Mode.STALL, Mode.RESET, Mode.CUT])
    def test_mail_server_fault_delays_mail_without_failing_requests(
        self, deployment: Deployment, tally: list[str], mode: Mode
    ) -> None:
        workload, address = Workload(deployment), f"m{secrets.token_hex(6)}@mail.example.org"
        body = {"email": address, "password": "Quiet-Harbour-Mail", "name": "M"}
        with fault_of(deployment.mail, mode, cut_after=40):
            signed_up = workload.ask(None, "POST", "/auth/sign-up/email", json=body)
            forgot = workload.ask(None, "POST", "/auth/forget-password", json={"email": address})
            time.sleep(2)
            workload.check_health()
        assert (signed_up.status, forgot.status) == (FINE, FINE)
        until(lambda: bool(_codes(deployment, address)), "the code never came")
        verified = workload.ask(
            None, "POST", "/auth/verify-email", json={"email": address, "otp": _codes(deployment, address)[-1]}
        )
        assert verified.status == FINE
        assert "Quiet-Harbour-Mail" not in deployment.log_text()
        assert _codes(deployment, address)[-1] not in deployment.log_text()
        assert workload.check() == []
        tally.append(f"mail {mode}")


def _rows_of(deployment: Deployment, user_id: str) -> int:
    with deployment.world.app.app_context():
        result = db.session.scalar(
            sa.select(sa.func.count())
            .select_from(MediaAsset)
            .where(MediaAsset.uploader_id == user_id, MediaAsset.stored_at.is_not(None))
        )
        db.session.rollback()
        return result or 0


def _codes(deployment: Deployment, address: str) -> list[str]:
    texts = [str(message.get_body(("plain",)).get_content()) for message in deployment.mail_handler.to(address)]  # type: ignore[union-attr]
    return [result[-1] for text in texts if (result := CODE.findall(text))]
