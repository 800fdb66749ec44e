"""Valid requests that need a Git host: the login of each caller, and the accounts they have connected."""

import secrets
from collections.abc import Callable
from typing import Any

from tests.contract.scene import Scene
from tests.support.git_hosts import connect_gitlab, login_of
from tests.support.world import Browser, Person

Key = tuple[str, str]
PULLS = "/project/:projectId/pull-requests"


def _login(who: Browser) -> str:
    return login_of(who) if isinstance(who, Person) else "nobody"


def _installed(scene: Scene, who: Browser) -> dict[str, Any]:
    hosts, repository = scene.outside.hosts, scene.outside.on_github
    hosts.github.repositories[repository.name].collaborators.add(_login(who))
    return {"code": hosts.github.approve(_login(who)), "installation_id": repository.installation}


def _approved(scene: Scene, who: Browser) -> dict[str, Any]:
    gitlab, back = scene.outside.hosts.gitlab, "https://app.example.org/back"
    url = f"{gitlab.url}/oauth/authorize?client_id={gitlab.client_id}&response_type=code&redirect_uri={back}"
    return {"code": gitlab.approve(url, _login(who)), "redirect_uri": back}


def _installed_before(scene: Scene, who: Browser) -> dict[str, Any]:
    if scene.may_connect(who):
        who.post("/api/auth/provider_a", _installed(scene, who)).ok()
    return {}


def _approved_before(scene: Scene, who: Browser) -> dict[str, Any]:
    if scene.may_connect(who):
        who.post("/api/auth/provider_b", _approved(scene, who)).ok()
    return {}


def _brought(scene: Scene, who: Browser) -> dict[str, Any]:
    gitlab = scene.outside.hosts.gitlab
    return {"provider": "gitlab", "access_token": gitlab.token(_login(who)), "refresh_token": secrets.token_hex(8)}


def _rotated(scene: Scene, who: Browser) -> dict[str, Any]:
    before = _brought(scene, who)
    if scene.may_connect(who):
        who.post("/git-provider/create", before).ok(200, 201)
    return before | {"old_refresh_token": before["refresh_token"], "refresh_token": secrets.token_hex(8)}


def _proposal(scene: Scene, _who: Browser) -> dict[str, Any]:
    git, branch = scene.outside.on_github.git, f"work-{secrets.token_hex(4)}"
    git.commit({f"{branch}.md": b"# New\n"}, branch=branch, start=git.head())
    return {"title": "A page", "head": branch, "base": "main"}


BODIES: dict[Key, Callable[[Scene, Browser], dict[str, Any]]] = {
    ("POST", "/provider/rotate"): _rotated,
    ("POST", "/api/auth/provider_a"): _installed,
    ("POST", "/api/auth/provider_b"): _approved,
    ("POST", "/api/auth/provider_a/refresh"): _installed_before,
    ("POST", "/api/auth/provider_b/refresh"): _approved_before,
    ("POST", PULLS): _proposal,
}

WHOLE: dict[Key, Callable[[Scene, Browser], dict[str, Any]]] = {
    ("POST", "/git-provider/create"): _brought,
    ("POST", "/provider/create"): _brought,
    ("POST", "/git-provider/rotate"): _rotated,
}
"""Complete bodies of endpoints for which the authorization table sends an empty body."""


def ids_of(scene: Scene, key: Key, who: Browser) -> dict[str, str]:
    """Return the path variables: the caller's credential, a hosted project, a new pull request."""
    values = {}
    if key[1] in ("/git-provider/:id", "/provider/:id") and key[0] == "DELETE" and scene.may_connect(who):
        values["id"] = str(connect_gitlab(who, scene.outside.hosts)["id"]) if isinstance(who, Person) else ""
    if key[1].startswith(PULLS):
        values["projectId"] = scene.remote_project
    if key == ("DELETE", "/project/:projectId/branches/:name"):
        values["name"] = f"work-{secrets.token_hex(4)}"
        scene.owner.again().post(f"/project/{scene.project}/branches", {"branch": values["name"]}).ok(201)
    if key[1].endswith("/:number/merge"):
        path = f"/project/{scene.remote_project}/pull-requests"
        values["number"] = str(scene.owner.again().post(path, _proposal(scene, who)).ok(201)["number"])
    return values
