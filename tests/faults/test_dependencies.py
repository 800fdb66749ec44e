"""Database, Redis, object store and mail server down, slow, silent, restarted, read-only, full; and back again.

Every row is played on the running service, whose web server and worker are never restarted. Takes some minutes; run by
`make faults`.
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
from tests.doubles.fault_proxy import FaultProxy, Mode
from tests.faults.life import Life
from tests.faults.plant import Plant
from tests.faults.playing import counted, failing, recovered, until
from tests.samples.pictures import picture
from tests.witnesses.mailbox import CODE

FINE, MADE, BUSY = 200, 201, 503
Break = Callable[[Plant], AbstractContextManager[None]]


@contextmanager
def stopped(plant: Plant) -> Iterator[None]:
    """The database server has crashed."""
    plant.postgres.stop("immediate")
    try:
        yield
    finally:
        plant.postgres.start()


@contextmanager
def restarted(plant: Plant) -> Iterator[None]:
    """The database server was restarted; every open connection is dead."""
    plant.postgres.stop("fast")
    plant.postgres.start()
    yield


@contextmanager
def read_only(plant: Plant) -> Iterator[None]:
    """The database refuses writes."""
    plant.postgres.read_only(yes=True)
    try:
        yield
    finally:
        plant.postgres.read_only(yes=False)


@contextmanager
def full(plant: Plant) -> Iterator[None]:
    """Others have taken every connection the server gives, and ours are cut."""
    with ExitStack() as taken:
        with plant.postgres.superuser() as superuser:
            superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'galley'"
            )
            for _ in range(60):
                try:
                    taken.enter_context(plant.postgres.superuser())
                except Exception:
                    break
        yield


@contextmanager
def locked(plant: Plant) -> Iterator[None]:
    """Somebody holds the tables that writes need."""
    with plant.postgres.superuser() as holder:
        holder.execute("BEGIN")
        holder.execute("LOCK TABLE organizations, user_preferences, project_log_entries IN EXCLUSIVE MODE")
        yield
        holder.execute("ROLLBACK")


@contextmanager
def forgotten(plant: Plant) -> Iterator[None]:
    """Redis was flushed."""
    plant.forget_rates()
    yield


@dataclass(frozen=True)
class Fault:
    """A row: what fails, and which answers reads and writes may get meanwhile."""

    name: str
    breaks: Break
    reads: frozenset[int]
    writes: frozenset[int]


def fault(name: str, breaks: Break, reads: set[int], writes: set[int]) -> Fault:
    return Fault(name, breaks, frozenset(reads), frozenset(writes))


def down(of: Callable[[Plant], FaultProxy], mode: Mode, **how: float) -> Break:
    return lambda plant: failing(of(plant), mode, **how)


def _database(plant: Plant) -> FaultProxy:
    return plant.database


def _cache(plant: Plant) -> FaultProxy:
    return plant.cache


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
    fault("Redis flushed", forgotten, {FINE}, {FINE, MADE}),
)


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with Plant(tmp_path_factory.mktemp("plant")) as made:
        yield made


@pytest.fixture(scope="module")
def tally() -> Iterator[list[str]]:
    """What was survived; told at the end."""
    survived: list[str] = []
    yield survived
    print(f"\nfaults of dependencies survived {len(survived)}: {'; '.join(survived)}")


class TestDatabaseAndRedis:
    @pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
    def test_is_survived(
        self, plant: Plant, tally: list[str], fault: Fault, capsys: pytest.CaptureFixture[str]
    ) -> None:
        life = Life(plant)
        recovered(life)
        people, reads, writes = life.people(), [], []
        with fault.breaks(plant):
            for who in people:
                reads.append(life.reads(who))
                life.check_health()
                writes += life.writes(who)
        plant.reconnect()
        recovered(life)
        assert life.check() == []
        assert [told for told in reads if told.status not in fault.reads] == []
        assert [told for told in writes if told.status not in fault.writes] == []
        tally.append(fault.name)
        with capsys.disabled():
            slowest = max((told.took_s for told in (*reads, *writes)), default=0)
            print(f"\n{fault.name}: {counted(reads + writes)}, slowest {slowest:.1f} s", end="")


STORE_FAULTS = (Mode.REFUSE, Mode.RESET, Mode.STALL, Mode.CUT)


class TestObjectStore:
    @pytest.mark.parametrize("mode", STORE_FAULTS)
    def test_uploads_are_503_without_a_row_and_deletions_are_done_later(
        self, plant: Plant, tally: list[str], mode: Mode, capsys: pytest.CaptureFixture[str]
    ) -> None:
        life, (who, other) = Life(plant), Life(plant).people()
        kept = life.ask(who, "POST", "/bucket/upload", files={"file": ("a.png", picture())})
        assert kept.status == MADE
        key = kept.result["key"]
        with failing(plant.store, mode, cut_after=20):
            deleted = life.ask(who, "DELETE", f"/bucket/delete/{key}")
            refused = life.ask(other, "POST", "/bucket/upload", files={"file": ("a.png", picture())})
            life.check_health()
            others = [life.reads(who), *life.writes(who)]
        assert (deleted.status, refused.status) == (FINE, BUSY)
        assert {told.status for told in others} <= {FINE, MADE}
        assert _rows_of(plant, other.id) == 0
        until(lambda: not (plant.s3.root / "media" / key).exists(), "the object was not deleted later")
        assert life.ask(other, "POST", "/bucket/upload", files={"file": ("a.png", picture())}).status == MADE
        assert life.check() == []
        tally.append(f"object store {mode}")
        with capsys.disabled():
            print(f"\nobject store {mode}: upload refused after {refused.took_s:.1f} s", end="")


class TestMail:
    @pytest.mark.parametrize("mode", [Mode.REFUSE, Mode.STALL, Mode.RESET, Mode.CUT])
    def test_sign_up_and_forgotten_passwords_answer_and_the_letter_comes_later(
        self, plant: Plant, tally: list[str], mode: Mode
    ) -> None:
        life, address = Life(plant), f"m{secrets.token_hex(6)}@mail.example.org"
        body = {"email": address, "password": "Quiet-Harbour-Mail", "name": "M"}
        with failing(plant.mail, mode, cut_after=40):
            signed_up = life.ask(None, "POST", "/auth/sign-up/email", json=body)
            forgot = life.ask(None, "POST", "/auth/forget-password", json={"email": address})
            time.sleep(2)
            life.check_health()
        assert (signed_up.status, forgot.status) == (FINE, FINE)
        until(lambda: bool(_codes(plant, address)), "the code never came")
        verified = life.ask(
            None, "POST", "/auth/verify-email", json={"email": address, "otp": _codes(plant, address)[-1]}
        )
        assert verified.status == FINE
        assert "Quiet-Harbour-Mail" not in plant.told()
        assert _codes(plant, address)[-1] not in plant.told()
        assert life.check() == []
        tally.append(f"mail {mode}")


def _rows_of(plant: Plant, user_id: str) -> int:
    with plant.world.app.app_context():
        found = db.session.scalar(
            sa.select(sa.func.count())
            .select_from(MediaAsset)
            .where(MediaAsset.uploader_id == user_id, MediaAsset.stored_at.is_not(None))
        )
        db.session.rollback()
        return found or 0


def _codes(plant: Plant, address: str) -> list[str]:
    texts = [str(letter.get_body(("plain",)).get_content()) for letter in plant.letterbox.to(address)]  # type: ignore[union-attr]
    return [found[-1] for text in texts if (found := CODE.findall(text))]
