"""Races of writes with `If-Match`, and of changes of one JSON column; used by the tests of both sizes."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.support.parallel import together
from tests.support.workspace import Workspace, make_workspace
from tests.support.world import Answer, Person, World

WRITERS = 10

Write = Callable[[Person, int, dict[str, str]], Answer]
Race = tuple[Callable[[Workspace], str], Callable[[Workspace], Write]]


def _send(method: str, path: str, body: Callable[[int], dict[str, Any]]) -> Write:
    return lambda who, number, headers: who.call(method, path, body(number), headers=headers)


def _git_body(space: Workspace, number: int) -> dict[str, Any]:
    return {"provider": "local", "repository": space.repository, "branch": f"b{number}"}


def _create_branches(space: Workspace) -> None:
    for number in range(WRITERS):
        space.git.git("branch", "-f", f"b{number}", "main")


def _connection(space: Workspace) -> Write:
    _create_branches(space)
    return _send("PATCH", f"/project/git/{space.project}", partial(_git_body, space))


GENERATORS = ("hugo", "astro", "nextjs", "eleventy", "jekyll", "nuxt", "sveltekit", "gatsby", "tanstack", "static")
LANGUAGES = ("de", "fr", "es", "it", "nl", "pl", "pt", "ja", "zh", "en")

RACES: dict[str, Race] = {
    "organization": (
        lambda space: f"/organization/{space.org}",
        lambda space: _send("PATCH", f"/organization/{space.org}", lambda n: {"org_name": f"Name {n}"}),
    ),
    "project": (
        lambda space: f"/project/{space.project}",
        lambda space: _send("PATCH", f"/project/{space.project}", lambda n: {"project_name": f"Name {n}"}),
    ),
    "generator": (
        lambda space: f"/project/{space.project}",
        lambda space: _send("PATCH", f"/project/generator/{space.project}", lambda n: {"generator": GENERATORS[n]}),
    ),
    "connection": (lambda space: f"/project/{space.project}", _connection),
    "preview": (
        lambda space: f"/project-preview/{space.project}",
        lambda space: _send("PUT", f"/project-preview/{space.project}", lambda n: {"sandbox_name": f"Name {n}"}),
    ),
    "preference": (
        lambda space: f"/user-preference/{space.me.id}",
        lambda space: _send("PATCH", f"/user-preference/{space.me.id}", lambda n: {"timezone": f"Etc/GMT+{n + 1}"}),
    ),
    "draft": (
        lambda space: f"/project-draft/{space.project}?file=a.md",
        lambda space: _send("PUT", f"/project-draft/{space.project}?file=a.md", lambda n: {"content": f"Text {n}"}),
    ),
    "country": (
        lambda space: f"/user/{space.me.id}",
        lambda space: _send(
            "PATCH",
            f"/user/update-country/{space.me.id}",
            lambda n: {"country": ("DE", "FR", "ES", "IT", "NL", "PL", "PT", "JP", "CN", "US")[n]},
        ),
    ),
}


def race_with_tag(world: World, name: str) -> Counter[int]:
    """Send ten parallel writes with the same `If-Match`. Return how often each status occurred."""
    space = make_workspace(world)
    read_path, make_write = RACES[name]
    write = make_write(space)
    write(space.me, 0, {})
    headers = {"If-Match": space.me.get(read_path(space)).headers["ETag"]}
    calls = [partial(write, space.me.again(), number, headers) for number in range(1, WRITERS)]
    return Counter(answer.status for answer in together(calls))


def race_of_paths(world: World) -> set[str]:
    """Set another key of `paths` in each of parallel requests. Return the keys that are missing afterwards."""
    space = make_workspace(world)
    path, keys = f"/project/{space.project}", ("content", "media", "public")
    calls = [partial(space.me.again().patch, path, {"paths": {key: f"folder/{key}"}}) for key in keys]
    for answer in together(calls):
        answer.ok()
    stored = space.me.get(path).ok()["paths"]
    return {key for key in keys if stored.get(key) != f"folder/{key}"}
