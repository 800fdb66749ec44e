"""Notifications of both Git hosts over HTTP, and what follows from them."""

import hashlib
import hmac
import json
import random
import secrets
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.extensions import db, drivers
from app.models.base import utcnow_ms
from app.models.project_content import ContentIndex
from app.resources.webhooks.jobs import follow_remote
from tests.support.git_hosts import (
    HOOK_A,
    HOOK_B,
    Hosts,
    OnGitHub,
    OnGitLab,
    connect_github,
    connect_gitlab,
    login_of,
    new_project,
)
from tests.support.world import Answer, Person, World


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    return hosted[0]


class SiteA:
    """A project on GitHub, indexed, and GitHub's notifications about it."""

    def __init__(self, world: World, hosts: Hosts) -> None:
        self.world, self.me = world, world.person()
        self.repository: OnGitHub | OnGitLab = self.make(hosts)
        world.work_off()

    def make(self, hosts: Hosts) -> OnGitHub | OnGitLab:
        made = hosts.on_github(login_of(self.me))
        connect_github(self.me, hosts, made.installation)
        self.id = hosts.github.repositories[made.name].id
        self.project = new_project(self.me, self.me.new_organization(), "github", made.name)
        return made

    def pushed(self, ref: str = "refs/heads/main", **more: Any) -> dict[str, Any]:
        about = {"id": self.id, "full_name": self.repository.name}
        return {"ref": ref, "after": self.repository.git.head(), "repository": about, **more}

    def notify(self, payload: Any = None, *, event: str = "push", delivery: str | None = None, **wrong: str) -> Answer:
        body = json.dumps(self.pushed() if payload is None else payload).encode()
        sign = "sha256=" + hmac.new(wrong.get("secret", HOOK_A).encode(), body, hashlib.sha256).hexdigest()
        headers = {
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery or secrets.token_hex(8),
            "X-Hub-Signature-256": wrong.get("signature", sign),
        }
        return self.send("/api/webhooks/provider_a", body + wrong.get("tail", "").encode(), headers)

    def send(self, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        return self.world.anonymous().post(path, data=body, headers=headers, content_type="application/json")

    def shown(self, who: Person | None = None) -> str:
        return str((who or self.me).get(f"/project/{self.project}").ok()["index"]["commit_sha"])

    def waiting(self) -> int:
        """Return the number of unfinished index jobs of the project."""
        with self.world.app.app_context(), db.engine.connect() as connection:
            asked = sa.select(ContentIndex.id).where(ContentIndex.project_id == self.project)
            indexes = connection.scalars(asked).all()
            return sum(
                call.args.get("index_id") in indexes
                for call in self.world.app.extensions["jobs"].unfinished(connection)
            )


class SiteB(SiteA):
    """A project on GitLab."""

    def make(self, hosts: Hosts) -> OnGitHub | OnGitLab:
        made = hosts.on_gitlab(login_of(self.me))
        connect_gitlab(self.me, hosts)
        self.id = int(made.number)
        self.project = new_project(self.me, self.me.new_organization(), "gitlab", made.name)
        return made

    def pushed(self, ref: str = "refs/heads/main", **more: Any) -> dict[str, Any]:
        about = {"id": self.id, "path_with_namespace": self.repository.name}
        return {"object_kind": "push", "ref": ref, "after": self.repository.git.head(), "project": about, **more}

    def notify(self, payload: Any = None, *, event: str = "push", delivery: str | None = None, **wrong: str) -> Answer:
        body = json.dumps(self.pushed() if payload is None else payload).encode()
        headers = {
            "X-Gitlab-Event": {"push": "Push Hook", "other": "Issue Hook"}[event],
            "X-Gitlab-Event-UUID": delivery or secrets.token_hex(8),
            "X-Gitlab-Token": wrong.get("signature", wrong.get("secret", HOOK_B)),
        }
        return self.send("/api/webhooks/provider_b", body, headers)


@pytest.fixture(params=[SiteA, SiteB])
def site(request: pytest.FixtureRequest, world: World, hosts: Hosts) -> SiteA:
    made: SiteA = request.param(world, hosts)
    return made


class TestPush:
    def test_branch_is_indexed_anew(self, site: SiteA) -> None:
        head = site.repository.git.commit({"content/new.md": b"# New\n"})
        assert site.shown() != head
        site.notify().ok()
        site.world.work_off()
        assert site.shown() == head
        log = site.me.get(f"/project-log/{site.project}").ok()["logs"]
        assert [(entry["file"], entry["source"]) for entry in log] == [("content/new.md", "push")]

    def test_same_delivery_has_its_effect_once(self, site: SiteA) -> None:
        payload = site.pushed()
        site.notify(payload, delivery="one").ok()
        before = site.waiting()
        assert before == 1
        site.world.work_off()
        site.notify(payload, delivery="one").ok()
        assert site.waiting() == 0

    def test_late_and_disordered_ones_end_at_the_present_head(self, site: SiteA) -> None:
        payloads = []
        for number in range(4):
            site.repository.git.commit({"content/new.md": str(number).encode()})
            payloads.append(site.pushed())
        for payload in reversed(payloads):
            site.notify(payload).ok()
            site.world.work_off()
        assert site.shown() == site.repository.git.head()

    def test_two_hooks_of_one_push_share_their_id_and_both_count(self, world: World, hosts: Hosts) -> None:
        one, other = SiteB(world, hosts), SiteB(world, hosts)
        for site in (one, other):
            site.repository.git.commit({"x": b"y"})
            site.notify(delivery="shared").ok()
        world.work_off()
        assert [site.shown() for site in (one, other)] == [site.repository.git.head() for site in (one, other)]

    def test_every_project_on_that_branch_is_looked_at_and_no_other(self, site: SiteA) -> None:
        provider = "github" if type(site) is SiteA else "gitlab"
        site.repository.git.commit({"x": b"y"}, branch="next")
        org = site.me.new_organization()
        second = new_project(site.me, org, provider, site.repository.name)
        elsewhere = new_project(site.me, org, provider, site.repository.name, branch="next")
        site.world.work_off()
        before = site.me.get(f"/project/{elsewhere}").ok()["index"]["commit_sha"]
        head = site.repository.git.commit({"content/new.md": b"# New\n"})
        site.repository.git.commit({"z": b"z"}, branch="next")
        site.notify().ok()
        site.world.work_off()
        assert [site.me.get(f"/project/{one}").ok()["index"]["commit_sha"] for one in (site.project, second)] == [
            head
        ] * 2
        assert site.me.get(f"/project/{elsewhere}").ok()["index"]["commit_sha"] == before

    def test_what_is_of_no_concern_is_acknowledged(self, site: SiteA) -> None:
        other = "ping" if type(site) is SiteA else "other"
        for answer in (
            site.notify(site.pushed("refs/tags/v1")),
            site.notify(site.pushed("refs/heads/elsewhere")),
            site.notify({"zen": "x"}, event=other),
        ):
            assert answer.ok() == {"received": True}
        assert site.waiting() == 0


class TestCost:
    """Tests of the number of calls to provider A after a push of ten files, without one call per file text."""

    def push(self, site: SiteA, hosts: Hosts) -> str:
        head = site.repository.git.commit({f"content/new{number}.md": b"# %d\n" % number for number in range(10)})
        hosts.github.journal.clear()
        return head

    def check(self, site: SiteA, hosts: Hosts, head: str) -> None:
        assert site.shown() == head
        calls = [f"{call.method} {call.path} {call.status}" for call in hosts.github.journal]
        texts = [call for call in calls if "/git/blobs/" in call]
        assert len(texts) == 10
        # An answer of 304 is not counted by GitHub (“Best practices: use conditional requests”).
        counted = [call for call in calls if call not in texts and not call.endswith(" 304")]
        assert len(counted) <= 5, counted

    def test_told_by_a_webhook(self, world: World, hosts: Hosts) -> None:
        site = SiteA(world, hosts)
        head = self.push(site, hosts)
        site.notify().ok()
        world.work_off()
        self.check(site, hosts, head)

    def test_found_by_the_poll(self, world: World, hosts: Hosts) -> None:
        site = SiteA(world, hosts)
        head = self.push(site, hosts)
        with world.app.app_context():
            db.session.execute(sa.update(ContentIndex).values(looked_at=utcnow_ms()))
            db.session.execute(
                sa.update(ContentIndex).where(ContentIndex.project_id == site.project).values(looked_at=None)
            )
            db.session.commit()
            follow_remote(git=drivers.git)
            db.session.remove()
        world.work_off()
        self.check(site, hosts, head)


class TestAnyOrder:
    @pytest.mark.parametrize("seed", range(3))
    def test_doubled_disordered_and_dropped_ones_end_in_the_same_state(self, site: SiteA, seed: int) -> None:
        dice, payloads = random.Random(seed), []
        for number in range(8):
            site.repository.git.commit({f"content/{dice.randrange(4)}.md": b"%d" % number})
            payloads.append((site.pushed(), f"{seed}-{number}"))
        told = [
            *payloads[-1:],
            *dice.choices(payloads, k=10),
        ]  # some twice or more, some never; the last one in any place
        dice.shuffle(told)
        for payload, delivery in told:
            site.notify(payload, delivery=delivery).ok()
            if dice.random() < 0.3:
                site.world.work_off()
        site.world.work_off()
        assert site.shown() == site.repository.git.head()
        listed = site.me.get(f"/project-content/{site.project}").ok()["files"]
        there = {path: (mode, sha) for path, (_, mode, sha, _) in site.repository.git.entries().items()}
        assert {file["path"]: (file["mode"], file["sha"]) for file in listed} == there
        entries = site.me.get(f"/project-log/{site.project}?limit=100").ok()["logs"]
        logged = [(entry["commit_sha"], entry["file"]) for entry in entries]
        assert len(logged) == len(set(logged))


class TestForgery:
    def test_wrong_secrets_and_signatures_are_refused(self, site: SiteA) -> None:
        for wrong in ({"secret": "guess"}, {"signature": ""}, {"signature": "sha256="}, {"signature": "ümläut"}):
            site.notify(None, **wrong).fails(400, "BAD_SIGNATURE")
        assert site.waiting() == 0

    def test_signature_is_of_the_very_bytes(self, world: World, hosts: Hosts) -> None:
        SiteA(world, hosts).notify(None, tail=" ").fails(400, "BAD_SIGNATURE")

    def test_signed_rubbish_is_unreadable(self, site: SiteA) -> None:
        for payload in ({}, {"ref": 7}, {"ref": "refs/heads/main"}, {"ref": "refs/heads/main", "repository": []}):
            told = payload | ({"object_kind": "push"} if type(site) is SiteB else {})
            site.notify(told).fails(400, "UNREADABLE_EVENT")


class TestInstallation:
    def test_end_of_it_is_told_to_its_projects(self, world: World, hosts: Hosts) -> None:
        site = SiteA(world, hosts)
        assert isinstance(site.repository, OnGitHub)
        payload = {"action": "deleted", "installation": {"id": int(site.repository.installation)}}
        site.notify(payload, event="installation").ok()
        assert site.me.get(f"/project/{site.project}").ok()["connection"]["status"] == "needs_reconnect"
        assert site.me.get(f"/git-provider/{site.me.id}").ok()[0]["status"] == "needs_reconnect"
        with world.app.app_context():
            assert db.session.query(ContentIndex).filter_by(project_id=site.project).one().status == "ready"
