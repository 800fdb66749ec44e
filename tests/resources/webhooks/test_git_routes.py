"""Notifications of both Git hosts over HTTP, and what follows from them."""

import hashlib
import hmac
import json
import secrets
from typing import Any

import pytest
from flask import Flask

from app.extensions import db
from app.models.project_content import ContentIndex
from tests.git_hosts import (
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
from tests.world import Answer, Person, World


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
        with self.world.app.app_context(), db.engine.connect() as connection:
            return int(self.world.app.extensions["jobs"].counts(connection).waiting)


class SiteB(SiteA):
    """The same on GitLab."""

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
