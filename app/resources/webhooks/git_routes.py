"""Notifications of Git hosts (contract 4.12): who sent them is shown before anything of them is read."""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from flask import Blueprint, request

from app.core.limits import InputLimits
from app.http.configuration import settings
from app.http.endpoint import endpoint
from app.http.guards import public
from app.http.scope import Scope
from app.models.project import Provider
from app.resources.webhooks.billing import Acknowledged
from app.resources.webhooks.git_hosts import Notification, Pushed, Uninstalled, take_in
from app.resources.webhooks.intake import BadSignature, UnreadableEvent, raw_body
from app.resources.webhooks.schemas import EventOfA, EventOfB

blueprint = Blueprint("webhooks_git", __name__)

BRANCH = "refs/heads/"
GONE = ("deleted", "suspend")


def read_a(_scope: Scope) -> Notification:
    """Check the signature over the raw body; read pushes and installations that end.

    Raises:
        BadSignature: it is not signed with a live secret.
        UnreadableEvent: it is signed and makes no sense.
    """
    given, body = request.headers.get("X-Hub-Signature-256", ""), raw_body()
    signatures = [
        "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        for secret in settings().github.webhook_secrets
    ]
    _check(given, signatures)
    read = {"push": _pushed_a, "installation": _uninstalled}.get(request.headers.get("X-GitHub-Event", ""))
    return Notification(Provider.GITHUB, _delivery("X-GitHub-Delivery"), _read(read, body))


def read_b(_scope: Scope) -> Notification:
    """Check the token; read pushes.

    Raises:
        BadSignature: it is not a live secret.
        UnreadableEvent: the event makes no sense.
    """
    _check(request.headers.get("X-Gitlab-Token", ""), settings().gitlab.webhook_secrets)
    is_push = request.headers.get("X-Gitlab-Event", "") in ("Push Hook", "System Hook")
    return Notification(
        Provider.GITLAB, _delivery("X-Gitlab-Event-UUID"), _read(_pushed_b if is_push else None, raw_body())
    )


@blueprint.post("/provider_a")
@endpoint(
    guard=public("public+signature"), sent=EventOfA, result=Acknowledged, message="Received", prepare=read_a,
    max_bytes=InputLimits.webhook_bytes, rate="webhook",
)  # fmt: skip
def receive_a(_scope: Scope, notification: Notification) -> dict[str, bool]:
    """Take in what provider A tells."""
    take_in(notification)
    return {"received": True}


@blueprint.post("/provider_b")
@endpoint(
    guard=public("public+signature"), sent=EventOfB, result=Acknowledged, message="Received", prepare=read_b,
    max_bytes=InputLimits.webhook_bytes, rate="webhook",
)  # fmt: skip
def receive_b(_scope: Scope, notification: Notification) -> dict[str, bool]:
    """Take in what provider B tells."""
    take_in(notification)
    return {"received": True}


def _check(given: str, right: "tuple[str, ...] | list[str]") -> None:
    """Compare with every live secret, in the same time whichever it is."""
    found = [hmac.compare_digest(given.encode(), each.encode()) for each in right]
    if not any(found):
        raise BadSignature


def _delivery(header: str) -> str:
    """A delivery by its id and bytes: hooks that one push sets off share GitLab's id."""
    return hashlib.sha256(request.headers.get(header, "").encode() + b"\n" + raw_body()).hexdigest()


Told = Pushed | Uninstalled | None


def _read(read: Callable[[Mapping[str, Any]], Told] | None, body: bytes) -> Told:
    if read is None:
        return None
    try:
        return read(orjson.loads(body))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableEvent from error


def _pushed_a(payload: Mapping[str, Any]) -> Told:
    about = payload["repository"]
    return _on_branch(payload["ref"], about["id"], about["full_name"])


def _pushed_b(payload: Mapping[str, Any]) -> Told:
    if payload.get("object_kind", payload.get("event_name")) != "push":
        return None
    about = payload["project"]
    return _on_branch(payload["ref"], about["id"], about["path_with_namespace"])


def _on_branch(ref: str, number: object, name: str) -> Pushed | None:
    if not ref.startswith(BRANCH):
        return None
    return Pushed(str(number), str(name), ref.removeprefix(BRANCH))


def _uninstalled(payload: Mapping[str, Any]) -> Uninstalled | None:
    return Uninstalled(str(payload["installation"]["id"])) if payload["action"] in GONE else None
