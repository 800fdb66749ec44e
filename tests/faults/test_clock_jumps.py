"""The machine's clock jumps an hour ahead, an hour back, and to and fro, while people work and a job runs.

On SQLite the database's clock jumps along, on PostgreSQL it does not. Nothing is lost, nobody stays signed in for longer
than allowed, no rate begins anew, no job runs twice. Needs a C compiler; run by `make faults`.
"""

import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.core.secrets import hash_token, new_token
from app.extensions import db
from app.models.base import moment
from app.models.login import Session
from tests.conftest import postgresql_database
from tests.faults.fake_clock import FakeClock
from tests.faults.life import Life, Told
from tests.faults.playing import FINE, MADE, counted, until
from tests.faults.slow_mail import SlowMail
from tests.faults.small_plant import SmallPlant
from tests.world import Person

HOUR = 3600
JUMPS = {"ahead": (HOUR,), "back": (-HOUR,), "to and fro": (HOUR, -HOUR, 2 * HOUR)}
WRITES_S = 4.0
INDEXED_WITHIN_S, DONE_WITHIN_S = 90, 60
GUESSES, WINDOW_S = 10, 15 * 60
SIGN_IN = "/auth/sign-in/email"


class MovedPlant(SmallPlant):
    """Web server and worker live by a clock of their own, and letters take long to be taken."""

    store = "sqlite"

    def environment(self, stack: ExitStack) -> dict[str, str]:
        """The clock, a slow mail server, and the store."""
        self.clock = FakeClock(self.home)
        self.mail = stack.enter_context(SlowMail())
        url = {"DATABASE_URL": stack.enter_context(postgresql_database())} if self.store == "postgresql" else {}
        told = {"MAIL_DRIVER": "smtp", "SMTP_URL": self.mail.url, "MAIL_FROM": "galley@mail.example.org"}
        return super().environment(stack) | told | url | self.clock.environment


class OnPostgresql(MovedPlant):
    """The database's clock does not jump along."""

    store = "postgresql"


@pytest.fixture(scope="module", params=[MovedPlant, OnPostgresql], ids=["sqlite", "postgresql"])
def plant(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MovedPlant]:
    with request.param(tmp_path_factory.mktemp("moved")) as made:
        yield made


@pytest.fixture(autouse=True)
def by_the_machine(plant: MovedPlant) -> Iterator[None]:
    """Each row begins and ends by the machine's clock."""
    yield
    plant.clock.jump(0)


def session_of(life: Life, who: Person, **left: float) -> Person:
    """Another session of somebody, with so much time left."""
    token, now = new_token(), moment()
    with life.plant.world.app.app_context():
        ends = now + timedelta(**left)
        made = Session(
            user_id=who.id,
            token_hash=hash_token(token),
            expires_at=ends,
            idle_expires_at=ends,
            last_seen_at=now - timedelta(hours=1),
        )
        db.session.add(made)
        db.session.commit()
    return Person(who.app, who.id, who.email, token)


def left_of(life: Life, who: Person) -> float:
    """The seconds a session can last at most from now; 0 when it is gone."""
    with life.plant.world.app.app_context():
        ends = db.session.scalar(sa.select(Session.expires_at).where(Session.token_hash == hash_token(who.token)))
        db.session.rollback()
    return (ends - moment()).total_seconds() if ends else 0.0


def signed_up(life: Life) -> str:
    """A stranger's address, who is being sent a code."""
    address = f"c{secrets.token_hex(6)}@mail.example.org"
    body = {"email": address, "password": "Quiet-Harbour-Clock", "name": "C"}
    assert life.ask(None, "POST", "/auth/sign-up/email", json=body).status == FINE
    return address


def guesses(life: Life, who: Person, times: int) -> list[Told]:
    """Wrong passwords."""
    return [life.ask(None, "POST", SIGN_IN, json={"email": who.email, "password": "wrong"}) for _ in range(times)]


@pytest.mark.parametrize("jump", JUMPS)
def test_clock_jumps(plant: MovedPlant, jump: str, capsys: pytest.CaptureFixture[str]) -> None:
    life, stop, told = Life(plant), threading.Event(), []
    people = life.people(3)
    ending = session_of(life, people[2], minutes=30)
    address = signed_up(life)
    until(lambda: address in plant.mail.taking, "the letter is not on its way")

    def write() -> None:
        while not stop.is_set():
            who = life.people(1)[0]
            told.extend([life.reads(who), *life.writes(who)])

    writing = threading.Thread(target=write, daemon=True)
    writing.start()
    try:
        for ahead_s in JUMPS[jump]:
            time.sleep(WRITES_S / 2)
            plant.clock.jump(ahead_s)
            if ahead_s >= HOUR:
                assert life.reads(ending).status == 401
            assert life.reads(people[1]).status == FINE
            time.sleep(WRITES_S / 2)
            life.check_health()
    finally:
        stop.set()
        writing.join(60)
    assert {one.status for one in told} <= {FINE, MADE}, counted(told)
    pushed = life.repository.commit({f"pushed/{secrets.token_hex(4)}.md": b"x\n"}, f"Push {secrets.token_hex(4)}")
    until(lambda: indexed(life) == pushed, "the push is not indexed", INDEXED_WITHIN_S)
    until(lambda: plant.mail.taken[address] > 0, "the code never came")
    until(lambda: not later(plant), "what was to be done in 20 s is not done", DONE_WITHIN_S)
    life.history = life.repository.commits()
    assert plant.mail.taken[address] == 1
    assert twice(plant) == []
    assert left_of(life, people[1]) <= timedelta(days=30).total_seconds()
    assert left_of(life, ending) <= timedelta(minutes=30).total_seconds()
    assert life.check() == []
    with capsys.disabled():
        print(f"\nclock {jump}, {plant.store}: {counted(told)}", end="")


class StrictPlant(MovedPlant):
    """With the limits of production."""

    def environment(self, stack: ExitStack) -> dict[str, str]:
        """The same, but for the scale of the limits."""
        return super().environment(stack) | {"RATE_LIMIT_SCALE": "1"}


def test_rates_neither_begin_anew_nor_last_longer(tmp_path: Path) -> None:
    with StrictPlant(tmp_path / "strict") as plant:
        assert isinstance(plant, StrictPlant)
        life = Life(plant)
        who = life.people(1)[0]
        guesses(life, who, GUESSES)
        for ahead_s in (0, HOUR, -HOUR, 0):
            plant.clock.jump(ahead_s)
            refused = guesses(life, who, 1)[0]
            assert refused.status == 429, ahead_s
            assert 0 < (refused.retry_after_s or 0) <= WINDOW_S, ahead_s
        assert life.check() == []


def indexed(life: Life) -> str | None:
    """The commit whose tree is served."""
    found = life.ask(life.owner, "GET", f"/project-content/{life.project}")
    return None if found.status != FINE else found.result["commit_sha"]


def later(plant: MovedPlant) -> list[str]:
    """The second looks at saves that are still to be taken, each 20 s after its save."""
    with plant.world.app.app_context(), db.engine.connect() as connection:
        waiting = plant.world.app.extensions["jobs"].unfinished(connection)
        return [call.unique for call in waiting if (call.unique or "").startswith("content.check:")]


def twice(plant: MovedPlant) -> list[str]:
    """Jobs that were begun more than once without having failed, as the worker tells it."""
    told = plant.told()
    begun = Counter(re.findall(r"job_started .*?job_id=(\d+)", told))
    failed = Counter(re.findall(r"job_failed .*?job_id=(\d+)", told))
    return [job for job, times in begun.items() if times > 1 + failed[job]]
