"""Tests of the notifications of both Git hosts over HTTP and their effects."""

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

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    return hosted[0]


class GitHubSite:
    """An indexed project on GitHub with the notifications of GitHub."""

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


class GitLabSite(GitHubSite):
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


@pytest.fixture(params=[GitHubSite, GitLabSite])
def site(request: pytest.FixtureRequest, world: World, hosts: Hosts) -> GitHubSite:
    made: GitHubSite = request.param(world, hosts)
    return made


class TestPush:
    def test_pushed_branch_is_indexed_and_logged(self, site: GitHubSite) -> None:
        head = site.repository.git.commit({"content/new.md": b"# New\n"})
        assert site.shown() != head
        site.notify().ok()
        site.world.work_off()
        assert site.shown() == head
        log = site.me.get(f"/project-log/{site.project}").ok()["logs"]
        assert [(entry["file"], entry["source"]) for entry in log] == [("content/new.md", "push")]

    def test_repeated_delivery_has_one_effect(self, site: GitHubSite) -> None:
        payload = site.pushed()
        site.notify(payload, delivery="one").ok()
        before = site.waiting()
        assert before == 1
        site.world.work_off()
        site.notify(payload, delivery="one").ok()
        assert site.waiting() == 0

    def test_reordered_notifications_index_the_current_head(self, site: GitHubSite) -> None:
        payloads = []
        for number in range(4):
            site.repository.git.commit({"content/new.md": str(number).encode()})
            payloads.append(site.pushed())
        for payload in reversed(payloads):
            site.notify(payload).ok()
            site.world.work_off()
        assert site.shown() == site.repository.git.head()

    def test_notifications_of_two_hooks_with_one_id_have_both_effects(self, world: World, hosts: Hosts) -> None:
        one, other = GitLabSite(world, hosts), GitLabSite(world, hosts)
        for site in (one, other):
            site.repository.git.commit({"x": b"y"})
            site.notify(delivery="shared").ok()
        world.work_off()
        assert [site.shown() for site in (one, other)] == [site.repository.git.head() for site in (one, other)]

    def test_push_updates_all_projects_on_the_branch_and_no_others(self, site: GitHubSite) -> None:
        provider = "github" if type(site) is GitHubSite else "gitlab"
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

    @pytest.mark.one_database
    def test_irrelevant_notification_is_acknowledged_without_a_job(self, site: GitHubSite) -> None:
        other = "ping" if type(site) is GitHubSite else "other"
        for answer in (
            site.notify(site.pushed("refs/tags/v1")),
            site.notify(site.pushed("refs/heads/elsewhere")),
            site.notify({"zen": "x"}, event=other),
        ):
            assert answer.ok() == {"received": True}
        assert site.waiting() == 0


@pytest.mark.one_database
class TestNumberOfCalls:
    """Tests of the number of calls to provider A after a push of ten files, without one call per file text."""

    def push(self, site: GitHubSite, hosts: Hosts) -> str:
        head = site.repository.git.commit({f"content/new{number}.md": b"# %d\n" % number for number in range(10)})
        hosts.github.journal.clear()
        return head

    def check(self, site: GitHubSite, hosts: Hosts, head: str) -> None:
        assert site.shown() == head
        calls = [f"{call.method} {call.path} {call.status}" for call in hosts.github.journal]
        texts = [call for call in calls if "/git/blobs/" in call]
        assert len(texts) == 10
        # An answer of 304 is not counted by GitHub (“Best practices: use conditional requests”).
        counted = [call for call in calls if call not in texts and not call.endswith(" 304")]
        assert len(counted) <= 5, counted

    def test_webhook_needs_at_most_five_calls(self, world: World, hosts: Hosts) -> None:
        site = GitHubSite(world, hosts)
        head = self.push(site, hosts)
        site.notify().ok()
        world.work_off()
        self.check(site, hosts, head)

    def test_poll_needs_at_most_five_calls(self, world: World, hosts: Hosts) -> None:
        site = GitHubSite(world, hosts)
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


class TestUnreliableDelivery:
    @pytest.mark.parametrize("seed", range(3))
    def test_repeated_reordered_and_lost_notifications_have_one_final_state(self, site: GitHubSite, seed: int) -> None:
        dice, payloads = random.Random(seed), []
        for number in range(8):
            site.repository.git.commit({f"content/{dice.randrange(4)}.md": b"%d" % number})
            payloads.append((site.pushed(), f"{seed}-{number}"))
        # Some notifications occur several times and some never. The last one occurs at any position.
        told = [*payloads[-1:], *dice.choices(payloads, k=10)]
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


@pytest.mark.one_database
class TestForgery:
    def test_wrong_secret_or_signature_returns_400(self, site: GitHubSite) -> None:
        for wrong in ({"secret": "guess"}, {"signature": ""}, {"signature": "sha256="}, {"signature": "ümläut"}):
            site.notify(None, **wrong).fails(400, "BAD_SIGNATURE")
        assert site.waiting() == 0

    def test_signature_of_other_bytes_returns_400(self, world: World, hosts: Hosts) -> None:
        GitHubSite(world, hosts).notify(None, tail=" ").fails(400, "BAD_SIGNATURE")

    def test_invalid_payload_with_valid_signature_returns_400(self, site: GitHubSite) -> None:
        for payload in ({}, {"ref": 7}, {"ref": "refs/heads/main"}, {"ref": "refs/heads/main", "repository": []}):
            told = payload | ({"object_kind": "push"} if type(site) is GitLabSite else {})
            site.notify(told).fails(400, "UNREADABLE_EVENT")


class TestInstallation:
    def test_deleted_installation_sets_needs_reconnect(self, world: World, hosts: Hosts) -> None:
        site = GitHubSite(world, hosts)
        assert isinstance(site.repository, OnGitHub)
        payload = {"action": "deleted", "installation": {"id": int(site.repository.installation)}}
        site.notify(payload, event="installation").ok()
        assert site.me.get(f"/project/{site.project}").ok()["connection"]["status"] == "needs_reconnect"
        assert site.me.get(f"/git-provider/{site.me.id}").ok()[0]["status"] == "needs_reconnect"
        with world.app.app_context():
            assert db.session.query(ContentIndex).filter_by(project_id=site.project).one().status == "ready"
