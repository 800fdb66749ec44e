"""A valid request for every endpoint, as an authorized caller sends it."""

import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from app.core import clock
from app.models.login import CodePurpose
from tests.contract import (
    build_requests,
    change_set_requests,
    factor_requests,
    git_requests,
    link_requests,
    passkey_requests,
)
from tests.contract.scene import PASSWORD, Scene
from tests.resources.ai.questions import BODIES as QUESTIONS
from tests.resources.ai.questions import GOOD as ANSWERS
from tests.resources.bucket.uploads import form
from tests.support.samples.pictures import picture
from tests.support.world import Browser, Person

Key = tuple[str, str]
Make = Callable[[Scene, Browser], dict[str, Any]]


AI, WITHOUT_PROJECT = "/api/ai/", "without a project"


def _random_name() -> str:
    return secrets.token_hex(6)


def _email(who: Browser, scene: Scene) -> str:
    return who.email if isinstance(who, Person) else scene.extra.email


def _verify(scene: Scene, _who: Browser) -> dict[str, Any]:
    email, code = scene.newcomer(CodePurpose.VERIFY_EMAIL)
    return {"email": email, "otp": code}


def _reset(scene: Scene, _who: Browser) -> dict[str, Any]:
    _, token = scene.newcomer(CodePurpose.RESET_PASSWORD)
    return {"newPassword": PASSWORD, "token": token}


def _signed_up(_scene: Scene, _who: Browser) -> dict[str, Any]:
    return {"email": f"n{_random_name()}@mail.example.org", "password": PASSWORD, "name": "Newcomer"}


def _new_password(_scene: Scene, _who: Browser) -> dict[str, Any]:
    return {"newPassword": PASSWORD, "currentPassword": PASSWORD}


def _project(scene: Scene, _who: Browser) -> dict[str, Any]:
    return {
        "org_id": scene.org,
        "project_name": _random_name(),
        "provider": "local",
        "repository": scene.repository,
        "branch": "main",
    }


def _commit(scene: Scene, _who: Browser) -> dict[str, Any]:
    file = {"path": f"content/{_random_name()}.md", "action": "create", "content": "# New\n"}
    return {"message": "Add a page", "base_sha": scene.head, "files": [file]}


def _unchanged(scene: Scene, _who: Browser) -> dict[str, Any]:
    return {"file": "content/posts/hello.md", "base_sha": scene.head, "set": {"title": "Hello"}}


def _restored(scene: Scene, _who: Browser) -> dict[str, Any]:
    return {"file": "content/posts/hello.md", "base_sha": scene.head, "commit_sha": scene.head}


def _repository(scene: Scene, _who: Browser) -> dict[str, Any]:
    return {"provider": "local", "org_id": scene.org, "name": _random_name()}


def _token(scene: Scene, _who: Browser) -> dict[str, Any]:
    return {"name": "Deploy", "scopes": ["read"]}


def _webhook(_scene: Scene, _who: Browser) -> dict[str, Any]:
    return {"url": "https://hooks.harbour.example.org/galley", "events": ["content.committed", "branch.moved"]}


def _yesterday(_scene: Scene, _who: Browser) -> dict[str, Any]:
    return {"since": clock.iso(clock.now() - timedelta(days=1))}


def _email_of_extra_user(scene: Scene, _who: Browser) -> dict[str, Any]:
    return {"email": scene.extra.email}


def _model_request(scene: Scene, path: str) -> dict[str, Any]:
    """Return a valid body and prepare a successful response of the model."""
    name, _, variant = path.removeprefix(AI).partition("#")
    scene.outside.models.script = [ANSWERS.get(name, ANSWERS["command"])]
    body = QUESTIONS.get(name, QUESTIONS["command"])
    return body if variant == WITHOUT_PROJECT else body | {"projectId": scene.project}


_OTHERS: dict[Key, Make] = git_requests.BODIES | change_set_requests.BODIES | build_requests.BODIES
_OTHERS |= link_requests.BODIES | passkey_requests.BODIES | factor_requests.BODIES

BODIES = _OTHERS | {
    ("POST", "/auth/sign-up/email"): _signed_up,
    ("POST", "/auth/sign-in/email"): lambda scene, who: {"email": _email(who, scene), "password": PASSWORD},
    ("POST", "/auth/verify-email"): _verify,
    ("POST", "/auth/email-otp/verify-email"): _verify,
    ("POST", "/auth/send-verification-otp"): _email_of_extra_user,
    ("POST", "/auth/email-otp/send-verification-otp"): _email_of_extra_user,
    ("POST", "/auth/forget-password"): _email_of_extra_user,
    ("POST", "/auth/request-password-reset"): _email_of_extra_user,
    ("POST", "/auth/reset-password"): _reset,
    ("POST", "/auth/sign-in/social"): lambda *_: {"provider": "social_a"},
    ("POST", "/auth/change-password"): _new_password,
    ("POST", "/auth/reauthenticate"): lambda *_: {"password": PASSWORD},
    ("POST", "/auth/revoke-session"): lambda *_: {"token": "ses_unknown"},
    ("POST", "/auth/update-user"): lambda *_: {"name": "Another name"},
    ("PATCH", "/user/set-password"): _new_password,
    ("PATCH", "/user/update-country/:id"): lambda *_: {"country": "DE"},
    ("PATCH", "/user/update-newsletter/:id"): lambda *_: {"subscribed": True},
    ("POST", "/organization"): lambda *_: {"org_name": _random_name()},
    ("PATCH", "/organization/member/:org_id"): lambda *_: {
        "email": f"{_random_name()}@mail.example.org",
        "role": "editor",
    },
    ("PATCH", "/organization/update-role/:org_id"): lambda scene, _: {"member_id": scene.extra.id, "role": "editor"},
    ("PATCH", "/organization/remove-member/:org_id"): lambda scene, _: {"member_id": scene.extra.id},
    ("PATCH", "/organization/status/:org_id"): lambda *_: {"status": "active"},
    ("PATCH", "/organization/:org_id"): lambda *_: {"org_name": _random_name()},
    ("POST", "/organization/transfer/:org_id"): lambda scene, _: {"member_id": scene.extra.id},
    ("PATCH", "/user-preference/theme/:id"): lambda *_: {"theme": "dark"},
    ("PATCH", "/user-preference/language/:id"): lambda *_: {"language": "de"},
    ("PATCH", "/user-preference/timezone/:id"): lambda *_: {"timezone": "Europe/Berlin"},
    ("PATCH", "/user-preference/impersonate/:id"): lambda *_: {"impersonate": True},
    ("PATCH", "/user-preference/:id"): lambda *_: {"theme": "light"},
    ("POST", "/project/create"): _project,
    ("PATCH", "/project/:projectId"): lambda *_: {"project_name": _random_name()},
    ("PATCH", "/project/visibility/:projectId"): lambda *_: {"visibility": "public"},
    ("PATCH", "/project/status/:projectId"): lambda *_: {"status": "active"},
    ("PATCH", "/project/generator/:projectId"): lambda *_: {"generator": "hugo"},
    ("POST", "/project/:projectId/branches"): lambda *_: {"branch": f"work/{_random_name()}", "from": "main"},
    ("PUT", "/project-preview/:project_id"): lambda *_: {"state": "running"},
    ("POST", "/order/cancel"): lambda scene, _: {"subscription_id": scene.outside.subscribed(scene.owner)},
    ("POST", "/order/pre-order"): lambda *_: {"plan": "Pro"},
    ("POST", "/api/sandbox/create"): lambda scene, _: {"projectId": scene.project, "onlyIfActive": True},
    ("POST", "/api/sandbox/heartbeat"): lambda scene, _: {"projectId": scene.project},
    ("POST", "/api/sandbox/stop"): lambda scene, _: {"projectId": scene.project},
    ("POST", "/git-provider/repositories"): _repository,
    ("POST", "/provider/repositories"): _repository,
    ("POST", "/project-content/:project_id/commit"): _commit,
    ("POST", "/project-content/:project_id/merge-preview"): _commit,
    ("POST", "/project-content/:project_id/restore"): _restored,
    ("PATCH", "/project-content/:project_id/front-matter"): _unchanged,
    ("PUT", "/project-draft/:project_id"): lambda *_: {"content": "typed"},
    ("POST", "/tokens"): _token,
    ("PATCH", "/tokens/:id"): lambda *_: {"name": "Renamed"},
    ("POST", "/organization/:org_id/service-accounts"): _token,
    ("PATCH", "/organization/:org_id/service-accounts/:id"): lambda *_: {"name": "Renamed"},
    ("POST", "/organization/:org_id/webhooks"): _webhook,
    ("PATCH", "/webhook/:id"): lambda *_: {"state": "paused", "description": "Rebuilds the site"},
    ("POST", "/webhook/:id/recover"): _yesterday,
    ("POST", "/project-log/:project_id"): lambda *_: {"action": "update", "file": "content/posts/hello.md"},
}
"""Endpoints that are not listed take an empty object."""

QUERIES = {
    ("GET", "/project-content/:project_id/file"): {"file": "hugo.toml"},
    ("GET", "/project-content/:project_id/raw"): {"file": "hugo.toml"},
    ("GET", "/project-content/:project_id/compare"): {"base": "main"},
    ("GET", "/project-content/:project_id/search"): {"q": "hello"},
    ("GET", "/project-preview/:project_id/marks"): {"numbers": "12,13"},
    ("GET", "/project-content/:project_id/backlinks"): {"file": "hugo.toml"},
    ("PUT", "/project-draft/:project_id"): {"file": "hugo.toml"},
    ("DELETE", "/project-draft/:project_id"): {"file": "hugo.toml"},
    ("GET", "/git-provider/repositories"): {"provider": "local"},
    ("GET", "/provider/repositories"): {"provider": "local"},
}

SPOILS = frozenset(
    {
        ("PATCH", "/organization/remove-member/:org_id"),
        ("PATCH", "/organization/leave/:org_id"),
        ("POST", "/organization/transfer/:org_id"),
        ("DELETE", "/organization/:org_id"),
        ("PATCH", "/project/git/:projectId"),
        ("PATCH", "/project/move/:orgId/:projectId"),
        ("DELETE", "/project/:projectId"),
        ("DELETE", "/project-preview/:project_id"),
    }
)
"""Endpoints whose success changes the scene of the table."""

DOUBLES = frozenset(
    {
        ("POST", "/auth/sign-out"),
        ("POST", "/auth/change-password"),
        ("POST", "/auth/revoke-sessions"),
        ("POST", "/auth/revoke-other-sessions"),
        ("POST", "/auth/two-factor/generate-backup-codes"),
        ("POST", "/auth/two-factor/verify-totp"),
        ("POST", "/auth/two-factor/verify-otp"),
        ("POST", "/auth/two-factor/verify-backup-code"),
        ("PATCH", "/user/set-password"),
    }
)
"""Endpoints whose success ends or replaces sessions. A second user with the same rights sends the request."""


def ids_of(scene: Scene, key: Key, who: Browser) -> dict[str, str]:
    """Return the path variables: O, P, the owner of O, the destination of a move, a cover of O."""
    owner = scene.owner.id
    if key[1].startswith("/tokens/:id"):
        owner = scene.token().id
    if "/service-accounts/:id" in key[1]:
        owner = scene.token(organization=scene.org).id
    delivery = ""
    if key[1].startswith("/webhook/:id"):
        owner, delivery = scene.webhook()
    values = {
        "delivery_id": delivery,
        "org_id": scene.org,
        "orgId": scene.org2 if key[1].startswith("/project/move/") else scene.org,
        "projectId": scene.project,
        "project_id": scene.project,
        "id": owner,
        "userId": scene.owner.id,
        "subscriptionId": scene.outside.subscribed(scene.owner) if ":subscriptionId" in key[1] else "",
        "key": scene.asset() if key == ("DELETE", "/bucket/delete/:key") else scene.served_key,
    }
    values |= git_requests.ids_of(scene, key, who) | change_set_requests.ids_of(scene, key)
    values |= build_requests.ids_of(scene, key) | link_requests.ids_of(scene, key)
    return values | factor_requests.ids_of(scene, key)


def arguments(scene: Scene, key: Key, who: Browser) -> dict[str, Any]:
    """Return the body and the query for the test client."""
    values: dict[str, Any] = {}
    if key in QUERIES:
        values["query_string"] = QUERIES[key]
    if key[1].startswith("/bucket/upload"):
        return form(picture(), **({"org_id": scene.org} if key[1].endswith("#to O") else {}))
    if key[1].startswith(AI):
        return {"json": _model_request(scene, key[1])}
    if key[1] == "/api/sandbox/create":
        values["headers"] = {"Accept": "application/json"}
    if key[0] != "GET":
        values["json"] = BODIES[key](scene, who) if key in BODIES else {}
    return values
