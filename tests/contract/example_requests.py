"""Requests of operations that have several successes: one request for each status and media type, in the order of sending."""

import dataclasses
import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from app.extensions import drivers
from tests.contract import (
    build_requests,
    change_set_requests,
    factor_requests,
    git_requests,
    link_requests,
    mark_requests,
)
from tests.contract.requests import Key, arguments
from tests.contract.scene import Scene
from tests.support.world import Browser

JSON, EVENTS = {"Accept": "application/json"}, {"Accept": "text/event-stream"}
Requests = Iterable[dict[str, Any]]


def requests_of(operation_id: str, scene: Scene, key: Key, who: Browser) -> Requests:
    """Return the arguments for the test client. Each request is sent before the next one is made."""
    make = VARIANTS.get(operation_id)
    return make(scene, key, who) if make else [arguments(scene, key, who)]


def _connected_twice(scene: Scene, key: Key, who: Browser) -> Requests:
    sent = {"json": git_requests.WHOLE[key](scene, who)}
    return [sent, sent]


def _after_connecting(scene: Scene, key: Key, who: Browser) -> Requests:
    who.post("/git-provider/create", git_requests.WHOLE["POST", "/git-provider/create"](scene, who)).ok(200, 201)
    return [arguments(scene, key, who)]


def _rotated(scene: Scene, key: Key, who: Browser) -> Requests:
    return [{"json": git_requests.WHOLE["POST", "/git-provider/rotate"](scene, who)}]


def _twice(scene: Scene, key: Key, who: Browser) -> Requests:
    return [arguments(scene, key, who)] * 2


def _as_json_and_as_events(scene: Scene, key: Key, who: Browser) -> Iterator[dict[str, Any]]:
    for headers in (EVENTS, JSON):
        yield arguments(scene, key, who) | {"headers": headers}


def _unchanged_and_changed(scene: Scene, key: Key, who: Browser) -> Iterator[dict[str, Any]]:
    same = arguments(scene, key, who)
    yield same
    file = {"path": same["json"]["file"], "action": "update", "content": f"# {secrets.token_hex(6)}\n"}
    commit = {"message": "Change a page", "base_sha": scene.head, "files": [file]}
    saved = scene.owner.again().post(f"/project-content/{scene.project}/commit", commit).ok(201)
    yield {"json": same["json"] | {"base_sha": saved["commit_sha"]}}


def _merged_and_contained(scene: Scene, key: Key, who: Browser) -> Iterator[dict[str, Any]]:
    start, path = "---\ntitle: First\ndate: 2026-01-02\n---\n\nOne day.\n", f"content/{secrets.token_hex(6)}.md"
    create = {"path": path, "action": "create", "content": start}
    base = who.again().post(f"/project-content/{scene.project}/commit", _save(scene.head, create)).ok(201)
    theirs = {"path": path, "action": "update", "content": start.replace("First", "Theirs")}
    who.again().post(f"/project-content/{scene.project}/commit", _save(base["commit_sha"], theirs)).ok(201)
    mine = {"path": path, "action": "update", "content": start.replace("day", "night").replace("-02", "-03")}
    body = _save(base["commit_sha"], mine) | {"on_conflict": "merge"}
    yield {"json": body}
    if not key[1].endswith("merge-preview"):
        yield {"json": body | {"description": "Again"}}


def _preview_of_a_conflict(scene: Scene, key: Key, who: Browser) -> Iterator[dict[str, Any]]:
    [sent] = _merged_and_contained(scene, key, who)
    path = f"content/{secrets.token_hex(6)}.md"
    create = {"path": path, "action": "create", "content": "Theirs.\n"}
    who.again().post(f"/project-content/{scene.project}/commit", _save(scene.head, create)).ok(201)
    yield {"json": sent["json"] | {"files": [*sent["json"]["files"], create | {"content": "Mine.\n"}]}}


def _save(base: str, file: dict[str, Any]) -> dict[str, Any]:
    return {"message": "Change a page", "base_sha": base, "files": [file]}


def _preview(scene: Scene, key: Key, who: Browser) -> Iterator[dict[str, Any]]:
    site = [
        {"path": "index.html", "action": "create", "content": "<h1>A page</h1>\n"},
        *({"path": path, "action": "delete"} for path in ("hugo.toml", "content/posts/hello.md")),
    ]
    commit = {"message": "Serve a page", "base_sha": scene.head, "files": site}
    scene.owner.again().post(f"/project-content/{scene.project}/commit", commit).ok(201)
    body = {"projectId": scene.project}
    yield {"json": body, "headers": JSON}
    yield {"json": body, "headers": JSON}
    who.post("/api/sandbox/stop", body).ok()
    yield {"json": body, "headers": EVENTS}
    with scene.app.app_context():
        for name in drivers.sandbox.list_sandboxes():
            drivers.sandbox.stop(name)


SCHEMA = """\
collections:
  - name: posts
    folder: content/posts
    media_folder: static/img
    public_folder: /img
    fields:
      - {name: title, type: string, required: true, hint: A short title, maximum: 60, pattern: "^[A-Z]"}
      - {name: date, type: date, date_format: dd.MM.yyyy}
      - name: parts
        type: list
        item: {type: object, variant_key: kind, variants: [{name: quote, type: object, fields: [{name: text, type: text}]}]}
"""


def _with_schema_file(scene: Scene, key: Key, who: Browser) -> Iterator[dict[str, Any]]:
    file = {"path": ".galley.yml", "action": "create", "content": SCHEMA}
    commit = {"message": "Describe the posts", "base_sha": scene.head, "files": [file]}
    scene.owner.again().post(f"/project-content/{scene.project}/commit", commit).ok(201)
    yield arguments(scene, key, who)


def _with_metrics_token(scene: Scene, key: Key, who: Browser) -> Iterator[dict[str, Any]]:
    settings, token = scene.app.config["SETTINGS"], secrets.token_hex(16)
    scene.app.config["SETTINGS"] = dataclasses.replace(settings, metrics_token=token)
    yield {"headers": {"Authorization": f"Bearer {token}"}}
    scene.app.config["SETTINGS"] = settings


VARIANTS: dict[str, Callable[[Scene, Key, Browser], Requests]] = {
    "listTrustedDevices": factor_requests.with_listed_device,
    "editCode": _as_json_and_as_events,
    "createGitCredential": _connected_twice,
    "createGitCredentialAlias": _connected_twice,
    "listGitCredentials": _after_connecting,
    "listGitCredentialsAlias": _after_connecting,
    "rotateGitCredential": _rotated,
    "rotateGitCredentialAlias": _rotated,
    "commitFiles": _merged_and_contained,
    "previewMerge": _preview_of_a_conflict,
    "restoreFiles": _unchanged_and_changed,
    "adoptProjectSchema": _twice,
    "getProjectSchema": _with_schema_file,
    "createSandbox": _preview,
    "requestBuild": _twice,
    "getBuild": _as_json_and_as_events,
    "listSourceMarks": mark_requests.with_marked_file,
    "listChangedPages": build_requests.with_changed_page,
    "createReviewLink": _twice,
    "listReviewLinks": link_requests.with_listed_link,
    "listBuilds": build_requests.with_listed_build,
    "listChangeSets": change_set_requests.with_listed_set,
    "commitToChangeSet": change_set_requests.committed_and_contained,
    "publishChangeSet": change_set_requests.published_and_awaited,
    "resolveChangeSetConflicts": change_set_requests.conflict_resolved,
    "reviewChangeSet": change_set_requests.approval,
    "getMetrics": _with_metrics_token,
}
