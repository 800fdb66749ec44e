"""Tests of idempotency keys: replay, leases of claims, and interrupted requests."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.extensions import current_side, db
from app.http.idempotency import LEASE, IdempotencyClaim, StillRunning
from app.models.base import utcnow_ms
from app.models.request import IdempotencyKey
from tests.support.parallel import together
from tests.support.workspace import make_workspace
from tests.support.world import Person, World

KEY = {"Idempotency-Key": "once"}


def interrupt(app: Flask, person: Person, *, age: timedelta = 2 * LEASE) -> None:
    """Leave the claim as a process does that ends during the request."""
    values: dict[str, Any] = {"status": None, "headers": None, "body": None, "updated_at": utcnow_ms() - age}
    with app.app_context():
        db.session.execute(sa.update(IdempotencyKey).where(IdempotencyKey.user_id == person.id).values(**values))
        db.session.commit()


def claim_of(app: Flask, person: Person) -> IdempotencyClaim:
    with app.app_context():
        return IdempotencyClaim(person.id, "POST /x", "once", "hash", side=current_side())


def lease_end(app: Flask, person: Person) -> Any:
    with app.app_context():
        return db.session.scalar(sa.select(IdempotencyKey.updated_at).where(IdempotencyKey.user_id == person.id))


class TestReplay:
    def test_repeated_request_returns_the_first_response(self, world: World) -> None:
        me = world.person()
        first = me.post("/organization", {"org_name": "Once"}, headers=KEY).ok(201)
        again = me.post("/organization", {"org_name": "Once"}, headers=KEY)
        assert (again.ok(201), again.headers["Idempotency-Replayed"]) == (first, "true")

    def test_parallel_requests_have_one_effect(self, world: World) -> None:
        me = world.person()
        send = partial(Person.post, path="/organization", body={"org_name": "Once"}, headers=KEY)
        answers = together([partial(send, me.again()) for _ in range(8)])
        assert {response.status for response in answers} <= {201, 409}
        assert [response.json["code"] for response in answers if response.status == 409].count("STILL_RUNNING") == sum(
            response.status == 409 for response in answers
        )
        names = [item["org_name"] for item in me.get("/organization/user").ok()]
        assert names.count("Once") == 1

    def test_refused_request_releases_the_key(self, world: World) -> None:
        me = world.person()
        me.post("/organization", {"org_name": ""}, headers=KEY).fails(400)
        me.post("/organization", {"org_name": "Once"}, headers=KEY).ok(201)


class TestLease:
    def test_running_request_returns_409(self, world: World) -> None:
        me = world.person()
        me.post("/organization", {"org_name": "Once"}, headers=KEY).ok(201)
        interrupt(world.app, me, age=timedelta(0))
        me.post("/organization", {"org_name": "Once"}, headers=KEY).fails(409, "STILL_RUNNING")

    def test_lease_ends_within_the_promised_time(self) -> None:
        assert timedelta(seconds=20) >= LEASE

    def test_interrupted_request_runs_again(self, world: World) -> None:
        me = world.person()
        me.post("/organization", {"org_name": "Once"}, headers=KEY).ok(201)
        interrupt(world.app, me)
        me.post("/organization", {"org_name": "Once"}, headers=KEY).fails(409, "NAME_TAKEN")

    def test_tick_renews_the_lease(self, world: World) -> None:
        me = world.person()
        claim = claim_of(world.app, me)
        assert claim.acquire() is None
        interrupt(world.app, me)
        before = lease_end(world.app, me)
        claim.tick(0.0)
        assert lease_end(world.app, me) - before >= LEASE

    def test_store_response_after_a_takeover_raises_still_running(self, world: World) -> None:
        me = world.person()
        first, second = claim_of(world.app, me), claim_of(world.app, me)
        assert first.acquire() is None
        interrupt(world.app, me)
        assert second.acquire() is None
        assert second.is_takeover
        with world.app.app_context(), pytest.raises(StillRunning):
            first.store_response(world.app.response_class(b"{}"))

    def test_abandoned_claim_is_acquired_by_the_next_attempt(self, world: World) -> None:
        me = world.person()
        first, second = claim_of(world.app, me), claim_of(world.app, me)
        first.acquire()
        first.abandon()
        assert (second.acquire(), second.is_takeover) == (None, True)


class TestInterruptedSave:
    def _save(self, base: str) -> dict[str, Any]:
        files = [
            {"path": "new.md", "action": "create", "content": "new\n"},
            {"path": "moved.toml", "action": "move", "previous_path": "hugo.toml"},
        ]
        return {"message": "Save", "base_sha": base, "files": files}

    def test_retry_returns_the_commit_of_the_first_attempt(self, world: World) -> None:
        space = make_workspace(world)
        base, path = space.git.head(), f"/project-content/{space.project}/commit"
        first = space.me.post(path, self._save(base), headers=KEY).ok(201)
        interrupt(world.app, space.me)
        space.git.commit({"other.md": b"x"}, "Pushed by another person")
        assert space.me.post(path, self._save(base), headers=KEY).ok(201) == first
        assert space.git.text("rev-list", "--count", f"{base}..main").strip() == "2"

    def test_retry_on_a_busy_branch_returns_the_commit_of_the_first_attempt(self, world: World) -> None:
        """In the time of a lease, a branch receives many commits of other persons."""
        space = make_workspace(world)
        base, path = space.git.head(), f"/project-content/{space.project}/commit"
        first = space.me.post(path, self._save(base), headers=KEY).ok(201)
        interrupt(world.app, space.me)
        space.git.commit_all([({f"other/{number}.md": b"x"}, f"Save {number}") for number in range(1_600)])
        assert space.me.post(path, self._save(base), headers=KEY).ok(201) == first

    def test_retry_without_a_commit_saves(self, world: World) -> None:
        space = make_workspace(world)
        base, path = space.git.head(), f"/project-content/{space.project}/commit"
        space.me.post(path, self._save(base), headers=KEY).ok(201)
        space.git.git("update-ref", "refs/heads/main", base)
        interrupt(world.app, space.me)
        space.me.post(path, self._save(base), headers=KEY).ok(201)
        assert space.git.text("rev-list", "--count", f"{base}..main").strip() == "1"

    def test_same_save_without_the_key_conflicts(self, world: World) -> None:
        space = make_workspace(world)
        base, path = space.git.head(), f"/project-content/{space.project}/commit"
        space.me.post(path, self._save(base), headers=KEY).ok(201)
        space.me.post(path, self._save(base)).fails(409)
