"""Tests of the routes of webhooks: creation, change, rotation, deliveries, and refused requests."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest

from app.core import clock
from app.core.limits import WebhookLimits
from app.database.transactions import reading_context
from app.extensions import db
from app.models.outbound_webhook import WebhookEndpoint
from app.resources.outbound_webhook import jobs
from tests.resources.outbound_webhook.hooks import Hook, save
from tests.support.parallel import patiently, statuses, together
from tests.support.workspace import Workspace, make_workspace
from tests.support.world import World

Make = Callable[..., Hook]
Later = Callable[..., AbstractContextManager[None]]
URL = "https://hooks.harbour.example.org/galley"
DEPLOY_URL = "https://api.deploy.example.org/build_hooks/5f0c6d2b4d1e"
GHOST = "7zzzzzzzzzzzzzzzzzzzzzzzzz"


def _all(space: Workspace) -> str:
    return f"/organization/{space.org}/webhooks"


def _ago(**by: float) -> str:
    return clock.iso(clock.now() - timedelta(**by))


class TestCreation:
    def test_create_returns_the_secret_once(self, space: Workspace) -> None:
        body = {"url": URL, "events": ["member.joined", "content.committed", "member.joined"], "description": "Chat"}
        made = space.me.post(_all(space), body).ok(201)
        assert made["secret"].startswith("whsec_")
        assert made["events"] == ["content.committed", "member.joined"]
        assert (made["state"], made["format"], made["url"], made["host"]) == (
            *("active", "standard"),
            *(URL, "hooks.harbour.example.org"),
        )
        shown = space.me.get(f"/webhook/{made['id']}").ok()
        assert shown == {name: value for name, value in made.items() if name != "secret"}
        assert space.me.get(_all(space)).ok() == [shown]

    def test_replay_of_an_idempotency_key_has_no_secret(self, space: Workspace) -> None:
        sent = {"headers": {"Idempotency-Key": "k1"}}
        body = {"url": URL, "events": ["content.committed"]}
        first, second = (space.me.post(_all(space), body, **sent).ok(201) for _ in range(2))
        assert second == first | {"secret": None}

    def test_deploy_hook_shows_its_host_only(self, space: Workspace) -> None:
        body = {"url": DEPLOY_URL, "format": "empty", "project_id": space.project}
        made = space.me.post(_all(space), body).ok(201)
        assert (made["url"], made["secret"], made["events"]) == (None, None, [])
        assert made["host"] == "api.deploy.example.org"
        for path in (f"/webhook/{made['id']}", _all(space)):
            assert "build_hooks" not in space.me.get(path).response.get_data(as_text=True)
        space.me.post(f"/webhook/{made['id']}/rotate").fails(409, "NO_SECRET")
        space.me.patch(f"/webhook/{made['id']}", {"events": ["content.committed"]}).fails(400, None, "events")

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({"url": "http://hooks.harbour.example.org/"}, "url"),
            ({"url": "ftp://hooks.harbour.example.org/"}, "url"),
            ({"url": "https://name:word@hooks.harbour.example.org/"}, "url"),
            ({"url": "https://hooks.harbour.example.org/#part"}, "url"),
            ({"url": "https://hooks.harbour.example.org\\@10.0.0.1/"}, "url"),
            ({"url": "https://hooks.harbour.example.org/ x"}, "url"),
            ({"url": "https://hooks.harbour.example.org:99999/"}, "url"),
            ({"url": "https://[fe80::1%25eth0]/"}, "url"),
            ({"url": "https://[::ffff:10.0.0.1]/"}, "url"),
            ({"url": "https://[64:ff9b::a00:1]/"}, "url"),
            ({"url": "https://10.0.0.1/"}, "url"),
            ({"url": "https://0x7f000002/"}, "url"),
            ({"url": "https://2130706434/"}, "url"),
            ({"url": "https://169.254.169.254/latest/meta-data"}, "url"),
            ({"url": "http://1.1.1.1/"}, "url"),
            ({"url": "https://unknown.localhost/"}, "url"),
            ({"url": f"https://hooks.harbour.example.org/{'a' * 2_048}"}, "url"),
            ({"url": 7}, "url"),
            ({"url": None}, "url"),
            ({"events": []}, "events"),
            ({"events": None}, "events"),
            ({"events": ["content.committed", "unknown"]}, "events.1"),
            ({"events": ["content.committed"] * 200}, "events"),
            ({"events": [{}]}, "events.0"),
            ({"format": "xml"}, "format"),
            ({"format": "empty"}, "events"),
            ({"format": "empty", "events": []}, "project_id"),
            ({"project_id": "nonsense"}, "project_id"),
            ({"description": "x" * 201}, "description"),
        ],
    )
    def test_invalid_body_is_rejected(self, space: Workspace, body: dict[str, Any], path: str) -> None:
        space.me.post(_all(space), {"url": URL, "events": ["content.committed"]} | body).fails(400, None, path)
        assert space.me.get(_all(space)).ok() == []

    def test_project_must_belong_to_the_organization(self, world: World, space: Workspace) -> None:
        other = make_workspace(world)
        for project in (other.project, f"prj_{GHOST}"):
            body = {"url": URL, "events": ["content.committed"], "project_id": project}
            space.me.post(_all(space), body).fails(404, "NOT_FOUND")

    def test_private_network_of_the_setting_is_permitted_also_with_http(self, space: Workspace) -> None:
        for url in ("http://127.0.0.1:1/x", "https://127.0.0.1/x", "http://[::1]:8080/x"):
            made = space.me.post(_all(space), {"url": url, "events": ["content.committed"]}).ok(201)
            assert made["url"] == url
        assert made["host"] == "[::1]:8080"

    def test_parallel_creations_do_not_exceed_the_limit(self, world: World, space: Workspace) -> None:
        body = {"url": URL, "events": ["content.committed"]}
        for _ in range(WebhookLimits.endpoints - 2):
            space.me.post(_all(space), body).ok(201)
        calls = [patiently(lambda: space.me.again().post(_all(space), body)) for _ in range(6)]
        assert statuses(together(calls)) == {201: 2, 403: 4}
        space.me.post(_all(space), body).fails(403, "LIMIT_REACHED")


class TestChange:
    def test_update_changes_the_sent_fields(self, space: Workspace, hook: Make) -> None:
        one = hook()
        before = one.shown()
        one.me.patch(one.path, {}).ok()
        assert one.shown() == before
        changed = one.me.patch(one.path, {"url": URL, "events": ["member.joined"], "state": "paused"}).ok()
        assert (changed["url"], changed["host"], changed["events"], changed["state"]) == (
            *(URL, "hooks.harbour.example.org"),
            *(["member.joined"], "paused"),
        )
        assert one.me.patch(one.path, {"description": "Chat"}).ok()["description"] == "Chat"
        assert one.me.patch(one.path, {"description": ""}).ok()["description"] == ""

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({"state": "disabled"}, "state"),
            ({"state": "unknown"}, "state"),
            ({"events": []}, "events"),
            ({"events": ["unknown"]}, "events.0"),
            ({"url": "https://10.0.0.1/"}, "url"),
            ({"url": ""}, "url"),
        ],
    )
    def test_invalid_change_is_rejected(self, hook: Make, body: dict[str, Any], path: str) -> None:
        one = hook()
        before = one.shown()
        one.me.patch(one.path, body).fails(400, None, path)
        assert one.shown() == before

    def test_stale_tag_is_refused(self, hook: Make) -> None:
        one = hook()
        tag = {"If-Match": one.me.get(one.path).headers["ETag"]}
        calls = [
            patiently(lambda n=n: one.me.again().patch(one.path, {"description": f"Note {n}"}, headers=tag))  # type: ignore[misc]
            for n in range(6)
        ]
        assert statuses(together(calls)) == {200: 1, 412: 5}
        one.me.delete(one.path, headers=tag).fails(412)

    def test_deletion_removes_the_deliveries(self, space: Workspace, hook: Make) -> None:
        one = hook()
        one.me.post(f"{one.path}/test").ok(202)
        assert one.me.delete(one.path).ok() == {"id": one.id, "deleted": True}
        for path in ("", "/deliveries"):
            one.me.get(f"{one.path}{path}").fails(404)
        one.me.delete(one.path).fails(404)
        assert space.me.get(_all(space)).ok() == []

    def test_parallel_rotations_leave_the_last_two_secrets(self, hook: Make) -> None:
        one = hook()
        answers = together([patiently(lambda: one.me.again().post(f"{one.path}/rotate")) for _ in range(6)])
        secrets = [answer.ok()["secret"] for answer in answers]
        assert len({one.secret, *secrets}) == 7
        assert "secret" not in one.shown()

    def test_archived_organization_refuses_changes_but_deletions(self, space: Workspace, hook: Make) -> None:
        one = hook()
        space.me.patch(f"/organization/status/{space.org}", {"status": "archived"}).ok()
        one.me.patch(one.path, {"state": "paused"}).fails(409, "ARCHIVED")
        one.me.post(f"{one.path}/test").fails(409, "ARCHIVED")
        space.me.post(_all(space), {"url": URL, "events": ["content.committed"]}).fails(409, "ARCHIVED")
        one.me.delete(one.path).ok()


class TestDeliveries:
    def test_list_is_newest_first_with_filters_and_pages(self, space: Workspace, hook: Make, later: Later) -> None:
        one = hook()
        commits = [save(space) for _ in range(3)]
        one.run()
        with later(seconds=2):
            one.me.post(f"{one.path}/test").ok(202)
            since = _ago(seconds=1)
        shown = one.deliveries()
        assert [delivery["type"] for delivery in shown] == ["webhook.test", *["content.committed"] * 3]
        assert [delivery["sequence"] for delivery in shown] == [None, 3, 2, 1]
        assert one.deliveries("?state=waiting") == shown[:1]
        assert one.deliveries("?type=content.committed") == shown[1:]
        assert one.deliveries(f"?since={since}") == shown[:1]
        first = one.me.get(f"{one.path}/deliveries?limit=3").json
        assert first["meta"]["total"] == 4
        assert first["result"] == shown[:3]
        rest = one.deliveries(f"?limit=3&cursor={first['meta']['next_cursor']}")
        assert rest == shown[3:]
        details = one.me.get(f"{one.path}/delivery/{shown[1]['id']}").ok()
        assert commits[-1] in details["body"]
        assert details["headers"]["webhook-id"] == shown[1]["message_id"]
        [attempt] = details["attempts"]
        assert (attempt["status"], attempt["error"]) == (204, None)

    @pytest.mark.parametrize("query", ["state=x", "type=x", "since=x", "cursor=x", "limit=0"])
    def test_invalid_filter_is_rejected(self, hook: Make, query: str) -> None:
        one = hook()
        one.me.get(f"{one.path}/deliveries?{query}").fails(400, None, query.partition("=")[0])

    def test_delivery_of_another_webhook_is_not_found(self, hook: Make) -> None:
        one, other = hook(), hook("other")
        delivery = one.me.post(f"{one.path}/test").ok(202)["id"]
        other.me.get(f"{other.path}/delivery/{delivery}").fails(404)
        other.me.post(f"{other.path}/delivery/{delivery}/replay").fails(404)
        for delivery_id in ("nonsense", f"dlv_{GHOST}", "dlv_%00"):
            one.me.get(f"{one.path}/delivery/{delivery_id}").fails(404)

    @pytest.mark.parametrize("body", [{}, {"since": "yesterday"}, {"since": None}, {"since": 7}])
    def test_invalid_recovery_is_rejected(self, hook: Make, body: dict[str, Any]) -> None:
        one = hook()
        one.me.post(f"{one.path}/recover", body).fails(400, None, "since")

    def test_messages_end_in_steps(self, space: Workspace, hook: Make, later: Later) -> None:
        one, paused = hook(), hook("paused")
        paused.me.patch(paused.path, {"state": "paused"}).ok()
        save(space)
        one.run()
        [delivery], [waiting] = one.deliveries(), paused.deliveries()
        with later(days=31), reading_context(space.me.app):
            jobs.purge()
        assert paused.states() == ["discarded"]
        for hooked, item in ((one, delivery), (paused, waiting)):
            path = f"{hooked.path}/delivery/{item['id']}"
            assert hooked.me.get(path).ok()["body"] is None
            hooked.me.post(f"{path}/replay").fails(410, "BODY_EXPIRED")
        one.me.post(f"{one.path}/recover", {"since": _ago(days=31)}).fails(400, None, "since")
        assert paused.me.post(f"{paused.path}/recover", {"since": _ago(days=29)}).ok(202) == {"recovered": 0}
        with later(days=91), reading_context(space.me.app):
            jobs.purge()
        assert one.deliveries() == []
        with space.me.app.app_context():
            assert db.session.get(WebhookEndpoint, one.id) is not None
