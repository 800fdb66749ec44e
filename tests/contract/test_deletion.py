"""Tests of the deletion of an account that used every feature: no stored data identifies the user afterwards."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from flask import Flask

from app.core.jobs import registry
from app.extensions import db, drivers
from app.models.base import Base, utcnow_ms
from app.models.change_set import ChangeSet
from app.models.login import LoginAttempt, SocialAccount
from app.models.order import Order
from app.models.organization import Invitation, Membership, Role
from app.models.project_content import DraftImage
from app.models.sandbox import PreviewState, Sandbox
from app.resources.project_content.index import cleanup
from tests.contract.stored import rows_naming
from tests.resources.bucket.uploads import upload
from tests.support import factories
from tests.support.assertions.mailbox import Mailbox
from tests.support.authenticator import Authenticator
from tests.support.doubles.ai import say
from tests.support.doubles.paddle_data import customer, event, subscription, transaction
from tests.support.git_hosts import connect_gitlab
from tests.support.new_account import Newcomer
from tests.support.payments import notify
from tests.support.second_factor import ProtectedPerson
from tests.support.tokens import program
from tests.support.world import Person, World

FINISHED = {"background_jobs", "procrastinate_jobs"}
"""Finished calls are stored for one hour. Waiting calls are checked one by one."""
BY_NAME = {"users", "one_time_codes", "invitations", "billing_events", "pre_orders", "project_log_entries"}
REFERRING = {
    table.name
    for table in Base.metadata.sorted_tables
    if any(key.column.table.name == "users" for key in table.foreign_keys)
}


@dataclass
class UsedAccount:
    """A user with a used account, the values that identify the user, and a foreign organization with this member."""

    person: Person
    password: str
    others: Person
    needles: set[str]
    project: str
    keys: list[str]
    payer: str


class TestDeletedAccount:
    def test_deletion_removes_all_rows_files_and_jobs_of_the_user(self, app: Flask, world: World) -> None:
        lived = use_all_features(app, world)
        assert set(rows_naming(app, lived.needles)) - FINISHED >= REFERRING | BY_NAME
        assert len(stored_files(app, lived.keys)) >= 2
        lived.person.post("/auth/forget-password", {"email": lived.person.email}).ok()  # A mail that is not sent yet.
        lived.person.delete(f"/user/delete/{lived.person.id}", {"password": lived.password}).ok()
        lived.person.again().get("/auth/get-session").fails(401)
        world.work_off(within_s=90)
        sweep(app)
        assert set(rows_naming(app, lived.needles)) - FINISHED == set()
        assert unfinished_jobs(app) == []
        assert stored_files(app, [*lived.keys, lived.project]) == []
        mailbox = Mailbox(app.config["SETTINGS"].mail.directory, lived.person.email)
        assert "was deleted" in mailbox.texts()[-1]

    def test_deletion_leaves_the_data_of_other_users(self, app: Flask, world: World) -> None:
        lived = use_all_features(app, world)
        shared = lived.others.get("/organization/user").ok()
        log = _log_of(lived)
        lived.person.delete(f"/user/delete/{lived.person.id}", {"password": lived.password}).ok()
        world.work_off(within_s=90)
        left = lived.others.get("/organization/user").ok()
        assert [one["org_id"] for one in left] == [one["org_id"] for one in shared]
        assert [one["id"] for one in _log_of(lived)] == [one["id"] for one in log]
        assert [one["user_name"] for one in _log_of(lived) if one["user_name"] == lived.person.email] == []
        with app.app_context():
            assert db.session.scalar(sa.select(sa.func.count()).where(Order.customer_id == lived.payer)) == 1


def use_all_features(app: Flask, world: World) -> UsedAccount:
    """Sign up and use every feature that stores data."""
    outside = app.extensions["outside"]
    newcomer = Newcomer(app, world)
    newcomer.name = f"Zebulon-{secrets.token_hex(6)}"
    newcomer.join()
    user = newcomer.get("/auth/get-session").ok()["user"]
    person, others = Person(app, user["id"], newcomer.email, newcomer.token or ""), world.person()
    own = person.get("/organization/user").ok()[0]["org_id"]
    person.patch(f"/user-preference/{person.id}", {"theme": "dark"}).ok()
    person.post("/organization", {"org_name": newcomer.name}, headers={"Idempotency-Key": "k"}).ok(201)
    name, _ = factories.repository(world, {"content/a.md": b"# A\n"})
    project = factories.project(world, person, own, name)
    form = {"clone_url": "https://localhost/docs", "clone_name": newcomer.name}
    with app.app_context():
        started = person.client.post(f"/console/organizations/{own}/connect/clone", data=form)
    assert started.status_code == 303
    world.work_off(within_s=90)
    cover, portrait = upload(person, org_id=own).ok(201)["key"], upload(person).ok(201)["key"]
    person.post("/auth/update-user", {"image": portrait}).ok()
    passkey = Authenticator().create(person.get("/auth/passkey/generate-register-options").ok())
    person.post("/auth/passkey/verify-registration", {"response": passkey, "name": newcomer.name}).ok()
    person.put(f"/project-draft/{project}", {"content": newcomer.name}, query_string={"file": "content/a.md"}).ok()
    outside.models.script = [say("Well.")]
    person.post("/api/ai/copilot", {"prompt": newcomer.name}).ok()
    credential = connect_gitlab(person, outside.hosts)["id"]
    person.post("/order/pre-order", {"plan": "Pro", "email": newcomer.email}).ok(201)
    payer = _pay(world, person)
    shared = factories.organization(world, others, (person, Role.EDITOR))
    name, _ = factories.repository(world, {"content/b.md": b"# B\n"})
    elsewhere = factories.project(world, others, shared, name)
    factories.limit(world, shared, person, **{elsewhere: Role.EDITOR})
    person.post(f"/project-log/{elsewhere}", {"action": "update", "file": "content/b.md"}).ok(201)
    bot = program(person, "write", name=newcomer.name)
    bot.post(f"/project-log/{elsewhere}", {"action": "update", "file": "content/b.md"}).ok(201)
    _use_change_sets(app, person, others, bot, elsewhere)
    world.work_off(within_s=90)
    with app.app_context():
        _write_rows(person, project, elsewhere)
    newcomer.elsewhere()
    protected = ProtectedPerson(newcomer)
    protected.verify(protected.app.code(), browser=protected.challenged(), trustDevice=True).ok()
    protected.challenged()
    person.post("/auth/forget-password", {"email": person.email}).ok()
    person.post("/auth/send-verification-otp", {"email": person.email}).ok()
    world.work_off(within_s=90)
    needles = {person.id, person.email, person.email.partition("@")[0], newcomer.name, own, project, credential}
    return UsedAccount(person, newcomer.password, others, needles, project, [cover, portrait], payer)


def _use_change_sets(app: Flask, person: Person, others: Person, bot: Person, project: str) -> None:
    """Create a set through a token, commit to it, comment on it, review another one, and schedule its publication."""
    own = bot.post(f"/project/{project}/change-sets", {"title": "Prices"}).ok(201)
    foreign = others.post(f"/project/{project}/change-sets", {"title": "Hours"}).ok(201)
    for change_set, by in ((own, person), (foreign, others)):
        file = {"path": f"content/{change_set['id']}.md", "action": "create", "content": "# Text\n"}
        save = {"message": "Add a page", "base_sha": change_set["head_sha"], "files": [file]}
        by.post(f"/change-set/{change_set['id']}/commit", save).ok(201)
        request = {"reviewers": [(others if by is person else person).id], "message": "Is it right?"}
        by.post(f"/change-set/{change_set['id']}/submit", request).ok()
    comment = person.post(f"/change-set/{own['id']}/comments", {"body": "Why?"}).ok(201)
    person.patch(f"/change-set/{own['id']}/comments/{comment['id']}", {"resolved": True}).ok()
    person.post(f"/change-set/{own['id']}/review-links", {"rights": "view"}).ok(201)
    foreign_path = f"/change-set/{foreign['id']}"
    person.post(f"{foreign_path}/reviews", {"verdict": "approve"}).ok(201)
    day = f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%d}"
    person.put(f"{foreign_path}/schedule", {"wall_time": f"{day}T09:00", "timezone": "Europe/Berlin"}).ok()
    with app.app_context():
        db.session.execute(sa.update(ChangeSet).where(ChangeSet.id == own["id"]).values(publisher_id=person.id))
        db.session.commit()


def _pay(world: World, person: Person) -> str:
    """Create a customer with the e-mail of the user, a subscription and a payment. Return the customer's id."""
    now, payer = datetime.now(UTC), customer(person.email)
    plan = subscription(user_id=person.id, customer_id=payer["id"])
    paid = transaction(user_id=person.id, customer_id=payer["id"])
    for kind, data in (("customer.created", payer), ("subscription.created", plan), ("transaction.completed", paid)):
        notify(world, event(kind, data, now)).ok()
        world.app.extensions["outside"].paddle.add(data)
    return str(payer["id"])


def _write_rows(person: Person, project: str, elsewhere: str) -> None:
    """Write rows that need another machine or a rare timing."""
    later = utcnow_ms() + timedelta(hours=1)
    shared = db.session.scalars(sa.select(Membership.organization_id).where(Membership.user_id == person.id)).all()
    word = secrets.token_hex(8)
    db.session.add_all(
        [
            SocialAccount(user_id=person.id, provider="social_a", subject=f"{person.id}-there"),
            LoginAttempt(
                state_hash=word, browser_hash=word, provider="social_a", callback_url="/", user_id=person.id, expires_at=later
            ),
            Invitation(
                organization_id=shared[-1], email=person.email, email_key=person.email, role=Role.EDITOR, expires_at=later,
                invited_by=person.id,
            ),
            Sandbox(
                project_id=project, user_id=person.id, label=word, node="here", host_id=None,
                state=PreviewState.RUNNING, expires_at=later,
            ),
            DraftImage(
                project_id=elsewhere, user_id=person.id, branch="main", file="content/b.md", path="a.png", url="a.png",
                size=1, content=b"1",
            ),
        ]
    )  # fmt: skip
    db.session.commit()


def _log_of(lived: UsedAccount) -> list[dict[str, Any]]:
    orgs = lived.others.get("/organization/user").ok()
    project = next(project for org in orgs for project in org["projects"])
    logs: list[dict[str, Any]] = lived.others.get(f"/project-log/{project['project_id']}").ok()["logs"]
    return logs


def unfinished_jobs(app: Flask) -> list[str]:
    """Return the waiting and running jobs without the periodic ones."""
    with app.app_context(), db.engine.connect() as connection:
        return [
            call.name for call in app.extensions["jobs"].unfinished(connection) if registry[call.name].every is None
        ]


def stored_files(app: Flask, keys: list[str]) -> list[Path]:
    """Return the stored files that belong to one of the keys, compared without the extension."""
    root: Path = app.config["SETTINGS"].storage.directory
    return [
        file
        for file in root.rglob("*")
        if file.is_file()
        if any(key.rpartition("/")[2].partition(".")[0] in str(file) for key in keys)
    ]


def sweep(app: Flask) -> None:
    """Run the periodic cleanup jobs."""
    with app.app_context():
        cleanup.delete_unreferenced()
        cleanup.delete_unreferenced_trees(drivers.trees, timedelta(0))
