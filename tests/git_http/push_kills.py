"""Kills of the web server while Git moves the branches of a push whose answer no client reads."""

from collections.abc import Iterator
from pathlib import Path

from app.core.jobs import registry
from app.drivers.jobs.port import JobRun
from app.extensions import db
from app.worker import JobRunner
from tests.git_http.client import GitClient, Site
from tests.git_http.raw_push import ReviewedSet
from tests.support.servers.service import Service


def kill_pushes(service: Service, folder: Path, *, kills: int) -> list[str]:
    """Kill the server as soon as the branch of a set is moved. Return the faults: approvals and missing entries."""
    site, git = Site(service), GitClient(folder)
    return [
        fault for number in range(kills) for fault in _kill_push(service, site, ReviewedSet(site, git, f"c{number}"))
    ]


def _kill_push(service: Service, site: Site, made: ReviewedSet) -> Iterator[str]:
    site.owner.get(f"/project-content/{site.project}?ref={made.branch}").ok()
    with made.unread_push():
        site.wait_for(lambda: made.is_moved)
        service.kill()
    service.start()
    answer = made.pusher.post(f"/change-set/{made.id}/reviews", {"verdict": "approve"})
    if (answer.status, answer.json["code"]) != (403, "OWN_REVIEW"):
        yield f"{made.clone}: the pusher approved: {answer.json}"
    _follow(site)
    if {one["user_id"] for one in site.log() if one["commit_sha"] == made.sha} != {made.pusher.id}:
        yield f"{made.clone}: the log does not name the pusher"


def _follow(site: Site) -> None:
    """Run the jobs that follow permitted pushes, whose time comes later."""
    with site.world.app.app_context(), db.engine.connect() as connection:
        calls = list(site.world.app.extensions["jobs"].unfinished(connection))
    for call in calls:
        if call.name == "git_push.permitted":
            JobRunner(site.world.app, registry, lambda *_: None)(JobRun("1", call.name, dict(call.args), 1))
