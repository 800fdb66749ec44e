"""Tests of clock jumps of one hour in both directions, while users work and a job runs.

On SQLite the clock of the database jumps as well, on PostgreSQL it does not. No write is lost, no session lasts longer than
allowed, no rate window restarts and no job runs twice. Needs a C compiler. Run them with `make faults`.
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

from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import Session
from app.security.secrets import hash_token, new_token
from tests.faults.fake_clock import FakeClock
from tests.faults.slow_mail import SlowMail
from tests.faults.small_deployment import SmallDeployment
from tests.faults.steps import FINE, MADE, count_statuses, until
from tests.faults.workload import Reply, Workload
from tests.support.databases import postgresql_database
from tests.support.world import Person

HOUR = 3600
JUMPS = {"ahead": (HOUR,), "back": (-HOUR,), "to and fro": (HOUR, -HOUR, 2 * HOUR)}
WRITES_S = 4.0
INDEXED_WITHIN_S, DONE_WITHIN_S = 90, 60
GUESSES, WINDOW_S = 10, 15 * 60
SIGN_IN = "/auth/sign-in/email"


class ClockDeployment(SmallDeployment):
    """A deployment with an adjustable clock and a slow mail server."""

    store = "sqlite"

    def environment(self, stack: ExitStack) -> dict[str, str]:
        """Return the variables of the clock, the mail server and the database."""
        self.clock = FakeClock(self.home)
        self.mail = stack.enter_context(SlowMail())
        url = {"DATABASE_URL": stack.enter_context(postgresql_database())} if self.store == "postgresql" else {}
        values = {"MAIL_DRIVER": "smtp", "SMTP_URL": self.mail.url, "MAIL_FROM": "galley@mail.example.org"}
        return super().environment(stack) | values | url | self.clock.environment


class OnPostgresql(ClockDeployment):
    """A deployment whose database clock does not jump."""

    store = "postgresql"


@pytest.fixture(scope="module", params=[ClockDeployment, OnPostgresql], ids=["sqlite", "postgresql"])
def deployment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClockDeployment]:
    with request.param(tmp_path_factory.mktemp("moved")) as created:
        yield created


@pytest.fixture(autouse=True)
def reset_clock(deployment: ClockDeployment) -> Iterator[None]:
    """Reset the clock after each test."""
    yield
    deployment.clock.jump(0)


def create_session(workload: Workload, who: Person, **left: float) -> Person:
    """Create another session of a user with this remaining lifetime."""
    token, now = new_token(), utcnow_ms()
    with workload.deployment.world.app.app_context():
        ends = now + timedelta(**left)
        created = Session(
            user_id=who.id,
            token_hash=hash_token(token),
            expires_at=ends,
            idle_expires_at=ends,
            last_seen_at=now - timedelta(hours=1),
        )
        db.session.add(created)
        db.session.commit()
    return Person(who.app, who.id, who.email, token)


def remaining_lifetime_s(workload: Workload, who: Person) -> float:
    """Return the maximum remaining lifetime of a session in seconds, or 0 if it does not exist."""
    with workload.deployment.world.app.app_context():
        ends = db.session.scalar(sa.select(Session.expires_at).where(Session.token_hash == hash_token(who.token)))
        db.session.rollback()
    return (ends - utcnow_ms()).total_seconds() if ends else 0.0


def sign_up_user(workload: Workload) -> str:
    """Sign up a new user. Return the address to which a code is sent."""
    address = f"c{secrets.token_hex(6)}@mail.example.org"
    body = {"email": address, "password": "Quiet-Harbour-Clock", "name": "C"}
    assert workload.ask(None, "POST", "/auth/sign-up/email", json=body).status == FINE
    return address


def wrong_sign_ins(workload: Workload, who: Person, times: int) -> list[Reply]:
    """Sign in with a wrong password several times."""
    return [workload.ask(None, "POST", SIGN_IN, json={"email": who.email, "password": "wrong"}) for _ in range(times)]


@pytest.mark.parametrize("jump", JUMPS)
def test_clock_jump_of_one_hour_keeps_jobs_and_requests_consistent(
    deployment: ClockDeployment, jump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    workload, stop, replies = Workload(deployment), threading.Event(), []
    people = workload.create_users(3)
    ending = create_session(workload, people[2], minutes=30)
    address = sign_up_user(workload)
    until(lambda: address in deployment.mail.taking, "the message is not on its way")

    def write() -> None:
        while not stop.is_set():
            who = workload.create_users(1)[0]
            replies.extend([workload.reads(who), *workload.writes(who)])

    writing = threading.Thread(target=write, daemon=True)
    writing.start()
    try:
        for ahead_s in JUMPS[jump]:
            time.sleep(WRITES_S / 2)
            deployment.clock.jump(ahead_s)
            if ahead_s >= HOUR:
                assert workload.reads(ending).status == 401
            assert workload.reads(people[1]).status == FINE
            time.sleep(WRITES_S / 2)
            workload.check_health()
    finally:
        stop.set()
        writing.join(60)
    assert {one.status for one in replies} <= {FINE, MADE}, count_statuses(replies)
    pushed = workload.repository.commit({f"pushed/{secrets.token_hex(4)}.md": b"x\n"}, f"Push {secrets.token_hex(4)}")
    until(lambda: indexed_commit(workload) == pushed, "the push is not indexed", INDEXED_WITHIN_S)
    until(lambda: deployment.mail.taken[address] > 0, "the code never came")
    until(lambda: not pending_checks(deployment), "what was to be done in 20 s is not done", DONE_WITHIN_S)
    workload.history = workload.repository.commits()
    assert deployment.mail.taken[address] == 1
    assert repeated_jobs(deployment) == []
    assert remaining_lifetime_s(workload, people[1]) <= timedelta(days=30).total_seconds()
    assert remaining_lifetime_s(workload, ending) <= timedelta(minutes=30).total_seconds()
    assert workload.check() == []
    with capsys.disabled():
        print(f"\nclock {jump}, {deployment.store}: {count_statuses(replies)}", end="")


class StrictDeployment(ClockDeployment):
    """A deployment with the rate limits of production."""

    def environment(self, stack: ExitStack) -> dict[str, str]:
        """Return the same variables with the scale of the rate limits in production."""
        return super().environment(stack) | {"RATE_LIMIT_SCALE": "1"}


def test_rates_after_clock_jumps_neither_restart_nor_last_longer(tmp_path: Path) -> None:
    with StrictDeployment(tmp_path / "strict") as deployment:
        assert isinstance(deployment, StrictDeployment)
        workload = Workload(deployment)
        who = workload.create_users(1)[0]
        wrong_sign_ins(workload, who, GUESSES)
        for ahead_s in (0, HOUR, -HOUR, 0):
            deployment.clock.jump(ahead_s)
            refused = wrong_sign_ins(workload, who, 1)[0]
            assert refused.status == 429, ahead_s
            assert 0 < (refused.retry_after_s or 0) <= WINDOW_S, ahead_s
        assert workload.check() == []


def indexed_commit(workload: Workload) -> str | None:
    """Return the commit of the file list."""
    result = workload.ask(workload.owner, "GET", f"/project-content/{workload.project}")
    return None if result.status != FINE else result.result["commit_sha"]


def pending_checks(deployment: ClockDeployment) -> list[str]:
    """Return the pending second checks of saves. Each runs 20 s after its save."""
    with deployment.world.app.app_context(), db.engine.connect() as connection:
        waiting = deployment.world.app.extensions["jobs"].unfinished(connection)
        return [call.unique for call in waiting if (call.unique or "").startswith("content.check:")]


def repeated_jobs(deployment: ClockDeployment) -> list[str]:
    """Return the jobs that started more than once without a failure, from the log of the worker."""
    text = deployment.log_text()
    begun = Counter(re.findall(r"job.started .*?job_id=(\d+)", text))
    failed = Counter(re.findall(r"job.failed .*?job_id=(\d+)", text))
    return [job for job, times in begun.items() if times > 1 + failed[job]]
