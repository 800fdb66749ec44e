"""Mutated requests: never a 5xx, every refusal in the shape of the contract, and no partial or lost change.

`GALLEY_LONG=1` sends 100,000 on each database instead of a few hundred; `GALLEY_SEED` selects others.
"""

import collections
import os
import random
import re
from typing import Any

import orjson
import pytest
from flask import Flask
from werkzeug.datastructures import Headers
from werkzeug.test import run_wsgi_app

from tests.contract.requests import Key
from tests.fuzz import invariants
from tests.fuzz.mutations import Wire, mutate
from tests.fuzz.stage import CALLERS, LONG, OUTSIDE, SEED, Stage

MUTATIONS = int(os.environ.get("GALLEY_MUTATIONS", "100000" if LONG else "500"))
BATCH = 20
LOOKED_AT_EVERY = 25
_CODE = re.compile(r"[A-Z][A-Z0-9_]*")


class Fuzz:
    """A sender of mutations that stores one example of each kind of error."""

    def __init__(self, stage: Stage, dice: random.Random) -> None:
        self.stage, self.dice, self.sent = stage, dice, 0
        self.statuses: collections.Counter[int] = collections.Counter()
        self.wrong: dict[str, str] = {}
        self.keys = sorted(stage.routes)

    def batch(self) -> None:
        """Send some mutations of one valid request."""
        key, name = self.dice.choice(self.keys), self.dice.choice(CALLERS)
        self.stage.prepare(key)
        given, scene = self._valid(key, name), self.stage.scene
        for _ in range(BATCH):
            if self.stage.scene is not scene:
                given, scene = self._valid(key, name), self.stage.scene
            wire = Wire.of(given)
            mutate(wire, self.dice)
            self._try(key, name, wire)

    def _valid(self, key: Key, name: str) -> dict[str, Any]:
        who = self.stage.caller(name)
        request_arguments = self.stage.valid(key, who)
        cookie = getattr(who, "token", None)
        headers = {**request_arguments.get("headers", {})} | ({"Cookie": f"session_token={cookie}"} if cookie else {})
        return request_arguments | {"headers": headers}

    def _try(self, key: Key, name: str, wire: Wire) -> None:
        looked = self.sent % LOOKED_AT_EVERY == 0
        before = invariants.rows(self.stage.scene) if looked else None
        fault = None
        try:
            status, headers, body = answer(self.stage.app, wire)
            fault = fault_of(wire, status, headers, body)
        except Exception as error:  # An exception that leaves the application.
            status, fault = 0, f"escaped: {error!r}"
        self.sent += 1
        self.statuses[status] += 1
        if looked and status >= 400 and invariants.rows(self.stage.scene) != before:
            fault = f"{status}, but something has changed"
        if fault is not None and (key, status) not in OUTSIDE:
            shown = f"{wire.method} {wire.path!r}?{wire.query} {wire.headers} {wire.body[:600]!r}"[:1500]
            self.wrong.setdefault(f"{key[0]} {key[1]}: {fault[:160]}", f"as {name} by {wire.done}: {shown}")
        self.stage.note((wire.method, key[1]), status)


def answer(app: Flask, wire: Wire) -> tuple[int, Headers, bytes]:
    """Return the status, the headers and the body. Read only the beginning of an event stream."""
    chunks, status, headers = run_wsgi_app(app, wire.environ())
    try:
        streams = (headers.get("Content-Type") or "").startswith("text/event-stream")
        body = next(iter(chunks), b"") if streams else b"".join(chunks)
    finally:
        getattr(chunks, "close", lambda: None)()
    return int(status.split()[0]), headers, body


def fault_of(wire: Wire, status: int, headers: Headers, body: bytes) -> str | None:
    """Return a description of the error in a response, if there is one."""
    if status >= 500:
        return f"{status}: {body[:150]!r}"
    if "X-Request-Id" not in headers:
        return f"{status} without X-Request-Id"
    if status < 400 or wire.method == "HEAD":
        return None
    try:
        content = orjson.loads(body)
        items = content["errorMessage"]
        fits = (
            content["statusCode"] == status
            and content["success"] is False
            and isinstance(content["message"], str)
            and bool(content["message"])
            and _CODE.fullmatch(content["code"]) is not None
            and all(isinstance(item["path"], str) and isinstance(item["message"], str) for item in items)
        )
    except (ValueError, KeyError, TypeError):
        fits = False
    if not fits:
        return f"{status} in another shape: {body[:120]!r}"
    if status == 429 and "Retry-After" not in headers:
        return "429 without Retry-After"
    return None


class TestMutations:
    def test_mutated_requests_return_documented_errors_and_preserve_data(
        self, stage: Stage, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fuzz, first = Fuzz(stage, random.Random(SEED)), stage.scene
        before, commits = invariants.others(first), invariants.repository(first).commits()
        while fuzz.sent < MUTATIONS:
            fuzz.batch()
        with capsys.disabled():
            print(f"\nseed {SEED}: {fuzz.sent} mutations, answers {dict(sorted(fuzz.statuses.items()))}")
            print(f"kinds of wrong answers: {len(fuzz.wrong)}")
        assert not fuzz.wrong, "\n\n".join(f"{kind}\n  {told}" for kind, told in sorted(fuzz.wrong.items()))
        assert invariants.others(first) == before
        assert invariants.organizations_without_one_owner(stage.app) == []
        repository = invariants.repository(first)
        repository.check()
        assert repository.commits()[-len(commits) :] == commits
