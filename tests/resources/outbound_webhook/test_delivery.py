"""Tests of deliveries: signatures, order, retries, and the states of webhooks."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import orjson
import pytest
import sqlalchemy as sa
from standardwebhooks import WebhookVerificationError

from app.core import clock
from app.database.transactions import reading_context, write_transaction
from app.extensions import db, drivers
from app.models.outbound_webhook import WebhookDelivery, WebhookEndpoint, WebhookMessage
from app.resources.outbound_webhook import delivery, messages
from app.resources.outbound_webhook.schemas.events import CONTENT_COMMITTED, WEBHOOK_TEST
from tests.drivers.jobs.contract import until
from tests.resources.outbound_webhook.hooks import Hook, save, sweep
from tests.support.assertions.mailbox import Mailbox
from tests.support.doubles.server import Fault, Reply
from tests.support.doubles.webhook_receiver import WebhookReceiver, verified
from tests.support.parallel import together
from tests.support.workspace import Workspace, make_workspace
from tests.support.world import World

Make = Callable[..., Hook]
Later = Callable[..., AbstractContextManager[None]]
EVENTS = ["content.committed", "webhook.disabled"]


def _now() -> str:
    return clock.iso(clock.now())


def _fail(one: Hook, *statuses: int, **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    one.receiver.replies[one.name] = [Reply(status, b"no\0", named) for status in statuses]


def _next_at(one: Hook) -> str:
    return str(one.deliveries()[0]["next_at"])


class TestMessage:
    def test_receiver_verifies_the_exact_bytes(self, world: World, space: Workspace, hook: Make) -> None:
        one = hook()
        commit = save(space, "content/posts/größe.md")
        world.work_off()
        [call] = one.received
        event = verified(call, one.secret)
        assert event == orjson.loads(call.body)
        assert event["data"] == {  # type: ignore[index]
            "project_id": space.project,
            "branch": "main",
            "commit_sha": commit,
            "files": [{"path": "content/posts/größe.md", "action": "create"}],
            "truncated": False,
            "sequence": 1,
        }
        [shown] = one.deliveries()
        assert (shown["state"], shown["attempt_count"], shown["next_at"]) == ("delivered", 1, None)
        assert call.headers["webhook-id"] == shown["message_id"]
        assert call.headers["Content-Type"] == "application/json"
        assert call.headers["Host"] == one.receiver.url.removeprefix("http://")
        names = {name.lower() for name in call.headers}
        assert not names & {"cookie", "authorization", "traceparent", "x-request-id"}
        with pytest.raises(WebhookVerificationError):
            verified(call, hook("other").secret)

    def test_rotation_signs_with_both_secrets_for_a_day(self, hook: Make, later: Later) -> None:
        one = hook()
        secrets = [one.secret, *(one.me.post(f"{one.path}/rotate").ok()["secret"] for _ in range(2))]

        def valid() -> list[bool]:
            one.me.post(f"{one.path}/test").ok(202)
            one.run()
            call = one.received[-1]
            is_valid = []
            for secret in secrets:
                try:
                    is_valid.append(verified(call, secret) is not None)
                except WebhookVerificationError:
                    is_valid.append(False)
            assert call.headers["webhook-signature"].count("v1,") == sum(is_valid)
            return is_valid

        assert valid() == [False, True, True]
        with write_transaction_of(one) as row:
            row.rotated_at -= timedelta(days=1)
        assert valid() == [False, False, True]

    def test_messages_arrive_in_order(self, world: World, space: Workspace, hook: Make) -> None:
        one, other = hook(), hook("other", events=["branch.moved"])
        commits = [save(space) for _ in range(5)]
        world.work_off()
        bodies = [orjson.loads(call.body)["data"] for call in one.received]
        assert [body["commit_sha"] for body in bodies] == commits
        assert [body["sequence"] for body in bodies] == [1, 2, 3, 4, 5]
        assert other.received == []

    def test_parallel_events_have_successive_numbers(self, space: Workspace, hook: Make) -> None:
        one = hook()

        def publish() -> None:
            with reading_context(space.me.app), write_transaction():
                messages.publish(
                    CONTENT_COMMITTED,
                    {"project_id": space.project},
                    organization_id=space.org,
                    project_id=space.project,
                )

        together([publish] * 8)
        assert sorted(item["sequence"] for item in one.deliveries()) == list(range(1, 9))

    def test_event_during_a_deletion_fails_no_save(self, space: Workspace, hook: Make) -> None:
        hooks = [hook(f"hook{number}") for number in range(4)]
        calls: list[Callable[[], object]] = [lambda one=one: one.me.again().delete(one.path).ok() for one in hooks]  # type: ignore[misc]
        together([*calls, lambda: save(space)])
        save(space)

    def test_message_of_a_large_commit_is_truncated(self, space: Workspace, hook: Make) -> None:
        one = hook()
        files = [
            {"path": f"content/{number}-{'x' * 150}.md", "action": "create", "content": f"{number}\n"}
            for number in range(250)
        ]
        body = {"message": "Add pages", "base_sha": space.git.head("main"), "files": files}
        space.me.post(f"/project-content/{space.project}/commit", body).ok(201)
        one.run()
        [call] = one.received
        data = orjson.loads(call.body)["data"]
        assert data["truncated"]
        assert 80 < len(data["files"]) <= 200
        assert len(call.body) < 20_000

    def test_webhook_of_a_project_receives_its_events_only(self, space: Workspace, hook: Make) -> None:
        other = space.me.new_project(space.org, space.repository)
        one = hook(events=["project.updated", "member.invited"], project_id=space.project)
        for project in (other, space.project):
            space.me.patch(f"/project/{project}", {"site_url": "https://harbour.example.org"}).ok()
        space.me.patch(f"/organization/member/{space.org}", {"email": "new@mail.example.org", "role": "editor"}).ok()
        assert [item["project_id"] for item in one.deliveries()] == [space.project]


class write_transaction_of:
    """A write transaction with the row of a webhook."""

    def __init__(self, one: Hook) -> None:
        self._context, self._id, self._transaction = reading_context(one.me.app), one.id, write_transaction()

    def __enter__(self) -> WebhookEndpoint:
        self._context.__enter__()
        self._transaction.__enter__()
        return db.session.get_one(WebhookEndpoint, self._id)

    def __exit__(self, *error: object) -> None:
        self._transaction.__exit__(*error)  # type: ignore[arg-type]
        self._context.__exit__(*error)  # type: ignore[arg-type]


class TestRetries:
    def test_failed_message_has_ten_attempts(self, space: Workspace, hook: Make, later: Later) -> None:
        one = hook()
        _fail(one, *[500, 302, 404, 503, 429, 500, 500, 500, 500, 500])
        save(space)
        elapsed = timedelta(0)
        for number, pause in enumerate((*delivery.DELAYS[1:], None), 1):
            with later(seconds=elapsed.total_seconds()):
                started = clock.now()
                one.run()
                [item] = one.deliveries()
                assert len(one.received) == item["attempt_count"] == number
                if pause is None:
                    assert (item["state"], item["next_at"]) == ("failed", None)
                    break
                one.run()
                assert len(one.received) == number
                earliest, latest = clock.iso(started + pause * 0.99), clock.iso(clock.now() + pause * 1.2)
                assert earliest <= item["next_at"] <= latest
            elapsed += pause * 1.2
        assert len({(call.headers["webhook-id"], call.body) for call in one.received}) == 1
        details = one.me.get(f"{one.path}/delivery/{item['id']}").ok()
        assert [attempt["status"] for attempt in details["attempts"]] == [*[500] * 5, 429, 503, 404, 302, 500]
        assert details["attempts"][0]["response"] == "no\ufffd"

    @pytest.mark.parametrize(
        ("header", "low_s", "high_s"),
        [
            ("3600", 3_595, 3_605),
            ("999999999", 86_395, 86_405),
            ("0", 4, 6),
            ("-5", 4, 6),
            ("soon", 4, 6),
            ("Fri, 27 Nov 2020 10:00:00 GMT", 4, 6),
            ("Fri, 27 Nov 2099 10:00:00 GMT", 86_395, 86_405),
            ("Fri, 31 Dec 99999999999 23:59:59 GMT", 4, 6),
            ("Fri, 27 Nov 2099 10:00:00 +99999999999999999999", 4, 6),
        ],
    )
    def test_retry_after_is_respected(self, space: Workspace, hook: Make, header: str, low_s: int, high_s: int) -> None:
        one = hook()
        _fail(one, 503, Retry_After=header)
        save(space)
        started = clock.now()
        one.run()
        earliest, latest = (
            clock.iso(start + timedelta(seconds=seconds))
            for start, seconds in ((started, low_s), (clock.now(), high_s))
        )
        assert earliest < _next_at(one) < latest

    def test_failed_message_does_not_hold_the_next_ones(self, space: Workspace, hook: Make, later: Later) -> None:
        one = hook()
        _fail(one, 500)
        for _ in range(3):
            save(space)
        one.run()
        assert one.states() == ["waiting", "delivered", "delivered"]
        with later(seconds=6):
            one.run()
        assert one.states() == ["delivered"] * 3
        assert one.shown()["failing_since"] is None

    def test_receiver_that_often_fails_receives_every_message(self, space: Workspace, hook: Make, later: Later) -> None:
        one = hook()
        _fail(one, *([500, 204, 204, 500, 204] * 4))
        for _ in range(12):
            save(space)
        for hours in range(4):
            with later(hours=hours):
                one.run()
        assert set(one.states()) == {"delivered"}
        accepted = [call.headers["webhook-id"] for call in one.received if call.status == 204]
        assert sorted(accepted) == sorted(item["message_id"] for item in one.deliveries())

    @pytest.mark.parametrize(
        ("fault", "error"),
        [({"lose": True}, "connection_lost"), ({"reply": Reply(302)}, None)],
    )
    def test_attempt_without_a_success_names_its_reason(
        self, space: Workspace, hook: Make, fault: dict[str, Any], error: str | None
    ) -> None:
        one = hook()
        one.receiver.faults.append(Fault("POST", **fault))
        save(space)
        one.run()
        [item] = one.deliveries()
        [attempt] = one.me.get(f"{one.path}/delivery/{item['id']}").ok()["attempts"]
        assert attempt["error"] == error
        assert item["state"] == "waiting"

    def test_dead_webhook_has_growing_pauses(self, space: Workspace, hook: Make, later: Later) -> None:
        one = hook(url="http://127.0.0.1:1/dead")
        for _ in range(8):
            save(space)
        one.run()
        assert sum(item["attempt_count"] for item in one.deliveries()) == delivery.FAILURES_BEFORE_PAUSE
        with later(seconds=7):
            one.run()
            assert sum(item["attempt_count"] for item in one.deliveries()) == delivery.FAILURES_BEFORE_PAUSE + 1
        one.me.patch(one.path, {"state": "active", "url": f"{one.receiver.url}/{one.name}"}).ok()
        with later(hours=1):
            one.run()
        assert one.states() == ["delivered"] * 8

    def test_dead_webhook_does_not_delay_others(self, world: World, space: Workspace, hook: Make) -> None:
        dead, live = hook("dead", url="http://127.0.0.1:1/dead"), hook("live")
        commits = [save(space) for _ in range(6)]
        world.work_off()
        assert [orjson.loads(call.body)["data"]["commit_sha"] for call in live.received] == commits
        assert set(dead.states()) == {"waiting"}

    def test_retry_starts_without_a_call_with_a_lock_that_waits(
        self, world: World, space: Workspace, hook: Make
    ) -> None:
        one = hook()
        _fail(one, 500)
        save(space)
        world.work_off()
        with space.me.app.app_context(), db.engine.connect() as connection:
            calls = list(space.me.app.extensions["jobs"].unfinished(connection))
        mine = [call for call in calls if call.args.get("endpoint_id") == one.id]
        assert [(call.name, call.lock) for call in mine] == [("outbound_webhooks.wake", None)]
        assert timedelta(0) < mine[0].delay < timedelta(seconds=7)

    def test_sweep_finds_due_messages_without_a_call(
        self, world: World, space: Workspace, hook: Make, later: Later
    ) -> None:
        one, paused = hook(), hook("paused")
        paused.me.patch(paused.path, {"state": "paused"}).ok()
        save(space)
        world.drop_jobs()
        sweep(space.me.app)
        world.work_off()
        assert (len(one.received), len(paused.received)) == (1, 0)

    def test_messages_wait_while_a_worker_makes_its_largest_number_of_calls(
        self, world: World, space: Workspace, hook: Make
    ) -> None:
        one = hook()
        save(space)
        with world.app.app_context():
            client = drivers.webhooks
        with client.calls.slot(space.org), client.calls.slot(space.org):
            one.run()
            assert one.received == []
        assert one.states() == ["waiting"]
        one.run()
        assert one.states() == ["delivered"]

    def test_silent_receivers_of_an_organization_hold_no_delivery_of_another(
        self, world: World, space: Workspace, hook: Make, receiver: WebhookReceiver
    ) -> None:
        silent, go = [hook(f"silent{number}") for number in range(4)], threading.Event()
        receiver.faults.append(Fault("silent", times=99, first=lambda: go.wait(60)))
        others = make_workspace(world)
        other = Hook.create(others.me, others.org, receiver, "other")
        save(space)
        worker = threading.Thread(target=world.work_off)
        worker.start()
        until(lambda: len(receiver.calls("silent")) == 2)
        for _ in range(3):
            save(others)
        until(lambda: other.states() == ["delivered"] * 3)
        assert {state for one in silent for state in one.states()} == {"waiting"}
        go.set()
        worker.join()


class TestRecovery:
    def test_recovery_sends_messages_before_their_next_attempt(
        self, world: World, space: Workspace, hook: Make
    ) -> None:
        one = hook()
        _fail(one, *[503] * 7)
        for _ in range(7):
            save(space)
            one.run()
        assert one.states() == ["waiting"] * 7  # Five failures in a row also pause the others.
        one.receiver.replies.clear()
        answer = one.me.post(f"{one.path}/recover", {"since": clock.iso(clock.now() - timedelta(days=1))})
        assert 0 < answer.ok(202)["recovered"] == len(one.received)
        assert answer.json["message"] == "Messages are sent again"
        world.work_off()
        assert one.states() == ["delivered"] * 7
        again = one.me.post(f"{one.path}/recover", {"since": clock.iso(clock.now() - timedelta(days=1))})
        assert (again.ok(202), again.json["message"]) == ({"recovered": 0}, "No message since then has failed")

    def test_recovery_of_a_paused_webhook_says_when_it_sends(self, space: Workspace, hook: Make) -> None:
        one = hook()
        _fail(one, 503)
        save(space)
        one.run()
        one.me.patch(one.path, {"state": "paused"}).ok()
        answer = one.me.post(f"{one.path}/recover", {"since": clock.iso(clock.now() - timedelta(days=1))})
        assert answer.ok(202) == {"recovered": 1}
        assert answer.json["message"] == "Messages are sent again when the webhook is active"


class TestStates:
    def test_paused_webhook_receives_its_messages_later(self, world: World, space: Workspace, hook: Make) -> None:
        one = hook()
        one.me.patch(one.path, {"state": "paused"}).ok()
        commits = [save(space) for _ in range(3)]
        one.run()
        world.work_off()
        assert one.received == []
        one.me.patch(one.path, {"state": "active"}).ok()
        world.work_off()
        assert [orjson.loads(call.body)["data"]["commit_sha"] for call in one.received] == commits

    def test_response_410_disables_the_webhook(self, world: World, space: Workspace, hook: Make) -> None:
        admin, editor = world.person(), world.person()
        for member, role in ((admin, "admin"), (editor, "editor")):
            space.me.patch(f"/organization/member/{space.org}", {"email": member.email, "role": role}).ok()
        one, witness = hook(events=EVENTS), hook("witness", events=["webhook.disabled"])
        _fail(one, 410)
        for _ in range(2):
            save(space)
        world.work_off()
        save(space)
        shown = one.shown()
        assert (shown["state"], shown["disabled_reason"]) == ("disabled", "gone")
        assert len(one.received) == 1
        assert set(one.states()) == {"discarded"}
        [call] = witness.received
        expected = {"webhook_id": one.id, "project_id": None, "host": shown["host"], "reason": "gone"}
        assert orjson.loads(call.body)["data"] == expected
        folder = space.me.app.config["SETTINGS"].mail.directory
        for member, number in ((space.me, 1), (admin, 1), (editor, 0)):
            texts = [text for text in Mailbox(folder, member.email).texts() if "webhook" in text]
            assert len(texts) == number

        since = clock.iso(clock.now() - timedelta(hours=1))
        assert one.me.post(f"{one.path}/recover", {"since": since}).ok(202) == {"recovered": 4}
        world.work_off()
        assert len(one.received) == 1
        assert one.me.patch(one.path, {"state": "active"}).ok()["disabled_reason"] is None
        world.work_off()
        assert set(one.states()) == {"delivered"}

    def test_five_days_of_failures_disable_the_webhook(self, space: Workspace, hook: Make, later: Later) -> None:
        one = hook()
        for days in (0, 2, 4, 6):
            _fail(one, *[500] * 20)
            with later(days=days):
                one.me.post(f"{one.path}/test").ok(202)
                assert one.shown()["state"] == "active"
                one.run()
        shown = one.shown()
        assert (shown["state"], shown["disabled_reason"]) == ("disabled", "failing")
        assert set(one.states()) <= {"failed", "discarded"}

    def test_replay_sends_the_same_id_and_bytes(self, space: Workspace, hook: Make, later: Later) -> None:
        one = hook()
        save(space)
        one.run()
        [item] = one.deliveries()
        with later(seconds=60):
            assert one.me.post(f"{one.path}/delivery/{item['id']}/replay").ok(202)["state"] == "waiting"
            one.run()
        first, second = one.received
        assert second.body == first.body
        assert second.headers["webhook-id"] == first.headers["webhook-id"]
        assert int(second.headers["webhook-timestamp"]) > int(first.headers["webhook-timestamp"])
        assert one.states() == ["delivered"]

    def test_webhooks_of_a_deleted_project_deliver_waiting_messages(
        self, world: World, space: Workspace, hook: Make
    ) -> None:
        one = hook(events=["project.deleted", "content.committed"], project_id=space.project)
        whole = hook("whole", events=["project.deleted"])
        save(space)
        space.me.delete(f"/project/{space.project}").ok()
        world.work_off()
        types = [orjson.loads(call.body)["type"] for call in one.received]
        assert types == ["content.committed", "project.deleted"]
        one.me.get(one.path).fails(404)
        assert len(whole.received) == 1
        assert whole.shown()["state"] == "active"

    def test_deletion_of_the_organization_removes_webhooks_with_their_messages(
        self, world: World, space: Workspace, hook: Make
    ) -> None:
        one = hook(events=["project.deleted", "content.committed"])
        save(space)
        space.me.delete(f"/organization/{space.org}").ok()
        world.work_off()
        assert one.received == []
        with space.me.app.app_context():
            mine = sa.select(sa.func.count()).where(WebhookMessage.organization_id == space.org)
            assert db.session.scalar(mine) == 0

    def test_webhooks_of_a_moved_project_end(self, world: World, space: Workspace, hook: Make) -> None:
        destination = space.me.new_organization()
        one = hook(events=["project.moved", "project.updated"], project_id=space.project)
        there = Hook.create(space.me, destination, one.receiver, "there", events=["project.moved", "project.updated"])
        space.me.patch(f"/project/move/{destination}/{space.project}").ok()
        space.me.patch(f"/project/{space.project}", {"site_url": "https://harbour.example.org"}).ok()
        world.work_off()
        assert [orjson.loads(call.body)["type"] for call in one.received] == ["project.moved"]
        assert [orjson.loads(call.body)["type"] for call in there.received] == ["project.moved", "project.updated"]
        one.me.get(one.path).fails(404)


class TestDeployHooks:
    @pytest.fixture
    def deploy(self, space: Workspace, hook: Make) -> Hook:
        return hook("deploy", format="empty", events=None, project_id=space.project)

    def test_hook_is_called_without_a_body(self, world: World, space: Workspace, deploy: Hook) -> None:
        save(space)
        world.work_off()
        [call] = deploy.received
        assert call.body == b""
        assert {name.lower() for name in call.headers} == {"host", "accept-encoding", "content-length", "user-agent"}
        [item] = deploy.deliveries()
        details = deploy.me.get(f"{deploy.path}/delivery/{item['id']}").ok()
        assert (details["body"], details["attempts"][0]["response"]) == ("", None)

    def test_hook_is_called_once_a_minute_with_a_last_call(self, space: Workspace, deploy: Hook, later: Later) -> None:
        # The clock runs on during the calls, so no step is close to the end of a minute.
        for seconds, expected in ((0, 1), (10, 1), (40, 1), (61, 2), (62, 2), (100, 2), (140, 3), (220, 3)):
            with later(seconds=seconds):
                if seconds in (0, 10, 40, 62):
                    save(space)
                    save(space)
                deploy.run()
            assert len(deploy.received) == expected, seconds
        assert deploy.states() == ["delivered"] * 3

    def test_commits_of_other_branches_call_no_hook(self, space: Workspace, deploy: Hook) -> None:
        space.me.post(f"/project/{space.project}/branches", {"branch": "work", "from": "main"}).ok(201)
        file = {"path": "a.md", "action": "create", "content": "A\n"}
        body = {"message": "Add", "base_sha": space.git.head("work"), "files": [file], "branch": "work"}
        space.me.post(f"/project-content/{space.project}/commit", body).ok(201)
        deploy.run()
        assert deploy.deliveries() == []

    def test_push_calls_the_hook(self, world: World, space: Workspace, deploy: Hook) -> None:
        world.work_off()
        space.git.commit({"content/pushed.md": b"# Pushed\n"})
        space.me.post(f"/project-content/{space.project}/reindex").ok(202)
        world.work_off()
        assert len(deploy.received) == 1

    def test_event_during_a_call_needs_another_call(self, space: Workspace, deploy: Hook, later: Later) -> None:
        deploy.receiver.faults.append(Fault("POST /deploy", first=lambda: save(space)))
        save(space)
        deploy.run()
        assert deploy.states() == ["delivered", "waiting"]
        with later(seconds=61):
            deploy.run()
        assert len(deploy.received) == 2

    def test_newer_call_replaces_a_failed_one(self, space: Workspace, deploy: Hook, later: Later) -> None:
        _fail(deploy, 500)
        save(space)
        deploy.run()
        save(space)
        with later(seconds=61):
            deploy.run()
        assert deploy.states() == ["discarded", "delivered"]

    def test_parallel_events_leave_one_call(self, space: Workspace, deploy: Hook) -> None:
        def publish() -> None:
            with reading_context(space.me.app), write_transaction():
                row = db.session.get_one(WebhookEndpoint, deploy.id)
                messages.publish_to(row, WEBHOOK_TEST, {"webhook_id": deploy.id})

        publish()
        together([publish] * 6)
        deploy.run()
        assert len(deploy.received) == 1
        with space.me.app.app_context():
            rows = db.session.scalars(sa.select(WebhookDelivery).where(WebhookDelivery.endpoint_id == deploy.id))
            assert len(rows.all()) == 1
