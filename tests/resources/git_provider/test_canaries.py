"""Tests with known tokens at every source, which must occur in no response, log line or stored row."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask, Response

from tests.support.assertions.canaries import dump
from tests.support.git_hosts import Hosts, connect_github, connect_gitlab, login_of, new_project
from tests.support.world import Person, World

pytestmark = [pytest.mark.slow, pytest.mark.one_database]


@pytest.fixture
def answers(app: Flask) -> Iterator[list[bytes]]:
    """The bodies and headers of all responses during the test."""
    seen: list[bytes] = []

    def record(response: Response) -> Response:
        if not response.is_streamed:
            body = response.get_data()
            seen.append(gzip.decompress(body) if response.headers.get("Content-Encoding") == "gzip" else body)
        seen.append(str(response.headers).encode())
        return response

    app.after_request_funcs.setdefault(None, []).insert(0, record)
    yield seen
    app.after_request_funcs[None].remove(record)


def run_connection_lifecycle(me: Person, hosts: Hosts, world: World) -> None:
    """Run every operation of a connection with its failures."""
    a, b = hosts.on_github(login_of(me)), hosts.on_gitlab(login_of(me))
    connect_github(me, hosts, a.installation)
    connect_gitlab(me, hosts)
    org = me.new_organization()
    for provider, repository in (("github", a.name), ("gitlab", b.name)):
        project = new_project(me, org, provider, repository)
        world.work_off()
        me.get(f"/project/{project}/branches").ok()
        me.get(f"/project-content/{project}/file?file=content/a.md").ok()
        me.get(f"/git-provider/repositories?provider={provider}").ok()
    for provider in ("provider_a", "provider_b"):
        me.post(f"/api/auth/{provider}/refresh", {}).ok()
        me.post(f"/api/auth/{provider}", {"code": "canary-code", "installation_id": a.installation}).fails(422)
    me.get(f"/git-provider/{me.id}").ok()
    bad = {"provider": "gitlab", "access_token": "canary-rejected-access", "refresh_token": "canary-rejected-refresh"}
    me.post("/git-provider/create", bad).fails(422)
    me.post("/git-provider/create", bad | {"provider": 7}).fails(400)
    brought = {
        "provider": "gitlab",
        "access_token": hosts.gitlab.token(login_of(me)),
        "refresh_token": "canary-brought-refresh",
    }
    me.post("/git-provider/create", brought, headers={"Idempotency-Key": "k1"}).ok(200)
    pair = {"old_refresh_token": "canary-brought-refresh", "access_token": "canary-rotated-access"}
    me.post("/git-provider/rotate", {"provider": "gitlab", "refresh_token": "canary-rotated-refresh", **pair}).ok()
    me.post("/git-provider/rotate", {"provider": "gitlab", "refresh_token": "canary-x", **pair}).fails(409)
    installation = {
        "provider": "github",
        "access_token": hosts.github.user_token(login_of(me)),
        "installation_id": a.installation,
        "installation_access_token": "canary-installation",
    }
    me.post("/git-provider/create", installation).ok(200)
    me.get("/git-provider/repositories?provider=gitlab").fails(409)
    for one in me.get(f"/git-provider/{me.id}").ok():
        me.delete(f"/git-provider/{one['id']}").ok()


def test_tokens_are_not_returned_logged_or_stored(
    app: Flask,
    world: World,
    hosts: Hosts,
    answers: list[bytes],
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    me = world.person()
    before = set(hosts.github.grants) | set(hosts.gitlab.grants)
    seen: set[str] = set()
    hosts.github.journal.clear()
    run_connection_lifecycle(me, hosts, world)
    jobs_waiting = dump(app)
    world.work_off()
    for call in (*hosts.github.journal, *hosts.gitlab.journal):
        seen.add(call.headers.get("Authorization", "").removeprefix("Bearer "))
        if call.body and "oauth" in call.path:
            seen |= {value for name, value in call.data.items() if name in ("refresh_token", "code", "token")}
    seen |= (set(hosts.github.grants) | set(hosts.gitlab.grants)) - before
    seen |= {token for token, login in hosts.github.refreshing.items() if login == login_of(me)}
    seen |= {"canary-rejected-access", "canary-rejected-refresh", "canary-brought-refresh", "canary-rotated-access"}
    seen |= {"canary-rotated-refresh", "canary-installation", hosts.github.client_secret, hosts.gitlab.client_secret}
    seen -= {""}
    assert len(seen) > 20
    out, err = capfd.readouterr()
    logged = (out + err + caplog.text).encode()
    places = {"answers": b"\n".join(answers), "logs": logged, "waiting": jobs_waiting, "left": dump(app)}
    leaks = [(where, token[:12]) for where, text in places.items() for token in seen if token.encode() in text]
    assert leaks == []
    assert b"git_provider.revoke" in jobs_waiting


def test_canary_that_may_be_returned_is_detected(
    app: Flask, world: World, answers: list[bytes], tmp_path: Path
) -> None:
    """The search finds a canary that is not secret. This proves that the search works."""
    me = world.person()
    me.post("/organization", {"org_name": "canary-name"}).ok(201)
    assert b"canary-name" in b"\n".join(answers)
    assert b"canary-name" in dump(app)
