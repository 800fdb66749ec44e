"""Following an index over server-sent events."""

import json
import threading
from typing import Any

from app.resources.project_content.progress import A_USER
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.world import World


def follow(site: Site, **query: str) -> list[Any]:
    response = site.owner.again().client.get(f"/api/v1{site.path('/index/events')}", query_string=query, buffered=False)
    assert response.headers["Content-Type"].startswith("text/event-stream")
    text = b"".join(response.response).decode()
    response.close()
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


class TestIndexEvents:
    def test_a_ready_index_is_told_once(self, site: Site) -> None:
        assert follow(site) == [
            {"status": "ready", "commit_sha": site.repo.head(), "files": len(FILES), "problem": None}
        ]

    def test_one_in_the_making_is_followed_to_its_end(self, world: World) -> None:
        site = make_site(world, FILES, indexed=False)
        told: list[Any] = []
        reader = threading.Thread(target=lambda: told.extend(follow(site)))
        reader.start()
        world.work_off()
        reader.join(30)
        assert told[0]["status"] in ("queued", "indexing", "ready")
        assert (told[-1]["status"], told[-1]["commit_sha"]) == ("ready", site.repo.head())

    def test_another_branch_is_indexed_when_it_is_first_followed(self, site: Site) -> None:
        site.repo.git("branch", "work", "main")
        told: list[Any] = []
        reader = threading.Thread(target=lambda: told.extend(follow(site, ref="work")))
        reader.start()
        while reader.is_alive():
            site.world.work_off()
        assert told[0]["status"] in ("queued", "indexing", "ready")
        assert (told[-1]["status"], told[-1]["commit_sha"]) == ("ready", site.repo.head())

    def test_a_failed_one_tells_why(self, world: World) -> None:
        site = make_site(world, FILES, indexed=False)
        site.repo.folder.rename(site.repo.folder.with_name("away.git"))
        world.work_off()
        [*_, last] = follow(site)
        assert last["status"] == "failed"
        assert last["problem"]

    def test_nobody_follows_more_than_their_share_and_places_come_free(self, world: World) -> None:
        site = make_site(world, FILES, indexed=False)
        client, path = site.owner.again().client, f"/api/v1{site.path('/index/events')}"
        begun = [client.get(path, buffered=False) for _ in range(A_USER)]
        site.owner.get(site.path("/index/events")).fails(429, "TOO_MANY_STREAMS")
        for each in begun:
            each.close()
        world.work_off()
        assert follow(site)[-1]["status"] == "ready"

    def test_who_only_asks_for_the_head_takes_no_place(self, world: World) -> None:
        site = make_site(world, FILES, indexed=False)
        client, path = site.owner.again().client, f"/api/v1{site.path('/index/events')}"
        assert {client.head(path, buffered=True).status_code for _ in range(A_USER + 1)} == {200}

    def test_strangers_and_bad_names_are_refused(self, site: Site) -> None:
        site.world.person().get(site.path("/index/events")).fails(403)
        site.owner.get(site.path("/index/events?ref=a..b")).fails(400, None, "ref")
        site.owner.get(site.path("/index/events?ref=nope")).fails(404)
