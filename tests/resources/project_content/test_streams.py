"""Tests of the index events over server-sent events."""

import json
import threading
from typing import Any

from app.resources.project_content.responses import MAX_STREAMS_PER_USER
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support.world import World


def read_events(site: Site, **query: str) -> list[Any]:
    response = site.owner.again().client.get(f"/api/v1{site.path('/index/events')}", query_string=query, buffered=False)
    assert response.headers["Content-Type"].startswith("text/event-stream")
    text = b"".join(response.response).decode()
    response.close()
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


class TestIndexEvents:
    def test_stream_of_a_ready_index_sends_one_event(self, site: Site) -> None:
        assert read_events(site) == [
            {"status": "ready", "commit_sha": site.repo.head(), "files": len(FILES), "problem": None}
        ]

    def test_stream_of_a_running_index_ends_with_status_ready(self, world: World) -> None:
        site = make_site(world, FILES, indexed=False)
        items: list[Any] = []
        reader = threading.Thread(target=lambda: items.extend(read_events(site)))
        reader.start()
        world.work_off()
        reader.join(30)
        assert items[0]["status"] in ("queued", "indexing", "ready")
        assert (items[-1]["status"], items[-1]["commit_sha"]) == ("ready", site.repo.head())

    def test_first_stream_of_another_branch_creates_its_index(self, site: Site) -> None:
        site.repo.git("branch", "work", "main")
        items: list[Any] = []
        reader = threading.Thread(target=lambda: items.extend(read_events(site, ref="work")))
        reader.start()
        while reader.is_alive():
            site.world.work_off()
        assert items[0]["status"] in ("queued", "indexing", "ready")
        assert (items[-1]["status"], items[-1]["commit_sha"]) == ("ready", site.repo.head())

    def test_stream_of_a_failed_index_reports_the_reason(self, world: World) -> None:
        site = make_site(world, FILES, indexed=False)
        site.repo.folder.rename(site.repo.folder.with_name("away.git"))
        world.work_off()
        [*_, last] = read_events(site)
        assert last["status"] == "failed"
        assert last["problem"]

    def test_stream_above_the_limit_of_a_user_returns_429_until_one_ends(self, world: World) -> None:
        site = make_site(world, FILES, indexed=False)
        client, path = site.owner.again().client, f"/api/v1{site.path('/index/events')}"
        begun = [client.get(path, buffered=False) for _ in range(MAX_STREAMS_PER_USER)]
        site.owner.get(site.path("/index/events")).fails(429, "TOO_MANY_STREAMS")
        for each in begun:
            each.close()
        world.work_off()
        assert read_events(site)[-1]["status"] == "ready"

    def test_head_request_opens_no_stream(self, world: World) -> None:
        site = make_site(world, FILES, indexed=False)
        client, path = site.owner.again().client, f"/api/v1{site.path('/index/events')}"
        assert {client.head(path, buffered=True).status_code for _ in range(MAX_STREAMS_PER_USER + 1)} == {200}

    def test_nonmember_or_invalid_branch_is_rejected(self, site: Site) -> None:
        site.world.person().get(site.path("/index/events")).fails(403)
        site.owner.get(site.path("/index/events?ref=a..b")).fails(400, None, "ref")
        site.owner.get(site.path("/index/events?ref=nope")).fails(404)
