"""Whether it shows in time that an e-mail has an account: known and unknown ones in turns, 200 tries each.

Prints, for the time until the answer and for the CPU of the answering worker, both medians and the rank statistic: how
likely a try with a known e-mail takes longer than one with an unknown e-mail. 0.5 is no difference; between 0.44 and
0.56 two equal distributions fall in 95 runs of 100. Every try names an e-mail that was not named before, as
somebody who goes through a list would.
"""

import http.client
import json
import random
import secrets
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pytest

from app.core.emails import email_key
from app.core.passwords import hash_password
from app.extensions import db
from app.models.user import User
from tests.conftest import postgresql_database
from tests.servers.service import Service

TRIES, WARM_UP = 200, 15
PASSWORD, WRONG = "Quiet-Harbour-1", "Wrong-harbour-1"
Body = Callable[[str], dict[str, Any]]
CASES: dict[str, tuple[str, Body]] = {
    "sign-in with a wrong password": ("sign-in/email", lambda email: {"email": email, "password": WRONG}),
    "forgotten password": ("forget-password", lambda email: {"email": email}),
    "sign-up": ("sign-up/email", lambda email: {"email": email, "password": WRONG, "name": "N"}),
    "code": ("send-verification-otp", lambda email: {"email": email}),
    "guessed code": ("verify-email", lambda email: {"email": email, "otp": "000000"}),
}


class Caller:
    """Asks over one connection; knows the server's worker, to read its CPU."""

    def __init__(self, service: Service) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        [worker] = psutil.Process(service.process.pid).children()
        self._clock = (~worker.pid << 3) | 2  # clock_getcpuclockid(3): the process's own CPU clock

    def close(self) -> None:
        self._connection.close()

    def ask(self, path: str, body: dict[str, Any]) -> tuple[float, float]:
        """Milliseconds until the answer, and of the worker's CPU."""
        start_s, cpu_s = time.perf_counter(), time.clock_gettime(self._clock)
        self._connection.request("POST", f"/api/v1/auth/{path}", json.dumps(body), {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        answer.read()
        took_s, cpu_s = time.perf_counter() - start_s, time.clock_gettime(self._clock) - cpu_s
        assert answer.status in (200, 400, 401)
        return took_s * 1000, cpu_s * 1000


@pytest.mark.parametrize("case", CASES)
class TestKnownAndUnknownEmails:
    def test_time(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
        with postgresql_database() as url, Service(tmp_path, workers=1, DATABASE_URL=url) as service:
            verified, pending = (_accounts(service, verified=flag) for flag in (True, False))
            caller = Caller(service)
            lines = [
                _compare(case, caller, kind, known) for kind, known in (("verified", verified), ("unverified", pending))
            ]
            caller.close()
        with capsys.disabled():
            print("\n" + "\n".join(lines))


def _compare(case: str, caller: Caller, kind: str, known: list[str]) -> str:
    path, body = CASES[case]
    for _ in range(WARM_UP):
        caller.ask(path, body(_address()))
    tries = [(email, True) for email in known] + [(_address(), False) for _ in known]
    random.shuffle(tries)
    took: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for email, is_known in tries:
        took[is_known].append(caller.ask(path, body(email)))
    told = []
    for what, number in (("time", 0), ("CPU", 1)):
        ours, others = ([one[number] for one in took[flag]] for flag in (True, False))
        rank = likelihood_of_longer(ours, others)
        told.append(f"{what} {median(ours):.2f} / {median(others):.2f} ms, rank {rank:.3f}")
    return f"{case}, {kind} / unknown e-mail: {'; '.join(told)}"


def likelihood_of_longer(ours: list[float], others: list[float]) -> float:
    """The Mann-Whitney statistic as a share of all pairs; ties count half."""
    ordered = sorted(others)
    below = sum(bisect_left(ordered, one) + bisect_right(ordered, one) for one in ours)
    return below / 2 / (len(ours) * len(others))


def _accounts(service: Service, *, verified: bool) -> list[str]:
    stored, made = hash_password(PASSWORD), [_address() for _ in range(TRIES)]
    with service.app.app_context():
        for email in made:
            db.session.add(
                User(email=email, email_key=email_key(email), email_verified=verified, name="N", password_hash=stored)
            )
        db.session.commit()
    return made


def _address() -> str:
    return f"t{secrets.token_hex(8)}@mail.example.org"
