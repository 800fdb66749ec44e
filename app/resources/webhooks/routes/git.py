"""Routes for notifications of Git hosts (contract 4.12): their signatures, parsing and processing."""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import orjson

from app.access.guards import public
from app.access.scope import Scope
from app.core.limits import InputLimits
from app.extensions import current_settings
from app.http.blueprint import ApiBlueprint
from app.http.body import header, raw_body
from app.http.endpoint import endpoint
from app.resources.git_provider.schemas import PROVIDER_A, PROVIDER_B
from app.resources.webhooks.errors import BadSignature, UnreadableEvent
from app.resources.webhooks.schemas import AcknowledgedSchema, GitHubEventSchema, GitLabEventSchema
from app.resources.webhooks.service import AppUninstalled, BranchPushed, Notification, process_notification

BRANCH_PREFIX = "refs/heads/"
UNINSTALLED_ACTIONS = ("deleted", "suspend")

Event = BranchPushed | AppUninstalled | None
Parser = Callable[[Mapping[str, object]], Event]


def read_a(scope: Scope) -> Notification:
    """Verify the signature of the raw body and parse pushes and removed installations of provider A.

    Raises:
        BadSignature: no live secret signed the body.
        UnreadableEvent: the event is signed and cannot be parsed.
    """
    body = raw_body()
    signatures = [
        "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        for secret in current_settings().github.webhook_secrets
    ]
    _check(header("X-Hub-Signature-256") or "", signatures)
    parsers: dict[str, Parser] = {"push": _parse_push_a, "installation": _parse_installation}
    parser = parsers.get(header("X-GitHub-Event") or "")
    return Notification(PROVIDER_A, _delivery_id("X-GitHub-Delivery"), _parse(parser, body))


def read_b(scope: Scope) -> Notification:
    """Verify the token and parse pushes of provider B.

    Raises:
        BadSignature: the token is not a live secret.
        UnreadableEvent: the event cannot be parsed.
    """
    _check(header("X-Gitlab-Token") or "", current_settings().gitlab.webhook_secrets)
    is_push = header("X-Gitlab-Event") in ("Push Hook", "System Hook")
    event = _parse(_parse_push_b if is_push else None, raw_body())
    return Notification(PROVIDER_B, _delivery_id("X-Gitlab-Event-UUID"), event)


def _check(signature: str, expected: Iterable[str]) -> None:
    """Compare with every live secret in constant time."""
    matches = [hmac.compare_digest(signature.encode(), expected_signature.encode()) for expected_signature in expected]
    if not any(matches):
        raise BadSignature


def _delivery_id(name: str) -> str:
    """Return a hash of the delivery id and the body. GitLab uses one id for all hooks of a push."""
    return hashlib.sha256((header(name) or "").encode() + b"\n" + raw_body()).hexdigest()


def _parse(parser: Parser | None, body: bytes) -> Event:
    if parser is None:
        return None
    try:
        return parser(orjson.loads(body))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableEvent from error


def _parse_push_a(payload: Mapping[str, Any]) -> Event:
    repository = payload["repository"]
    return _branch_pushed(payload["ref"], repository["id"], repository["full_name"])


def _parse_push_b(payload: Mapping[str, Any]) -> Event:
    if payload.get("object_kind", payload.get("event_name")) != "push":
        return None
    project = payload["project"]
    return _branch_pushed(payload["ref"], project["id"], project["path_with_namespace"])


def _branch_pushed(ref: str, repository_id: object, name: str) -> BranchPushed | None:
    if not ref.startswith(BRANCH_PREFIX):
        return None
    return BranchPushed(str(repository_id), str(name), ref.removeprefix(BRANCH_PREFIX))


def _parse_installation(payload: Mapping[str, Any]) -> AppUninstalled | None:
    if payload["action"] not in UNINSTALLED_ACTIONS:
        return None
    return AppUninstalled(str(payload["installation"]["id"]))


blueprint = ApiBlueprint(
    "webhooks_git",
    __name__,
    title="Git notifications",
    description="Push events that Git hosts send.",
)


receive = partial(
    endpoint,
    guard=public("public+signature"),
    result=AcknowledgedSchema,
    message="Received",
    max_bytes=InputLimits.webhook_bytes,
    rate="webhook",
    errors=("BAD_SIGNATURE", "UNREADABLE_EVENT"),
)


@blueprint.post("/provider_a")
@receive(operation_id="receiveProviderAWebhook", documented_body=GitHubEventSchema, upstream=read_a)
def receive_a(*, scope: Scope, prepared: Notification) -> dict[str, bool]:
    """Process a notification of provider A."""
    process_notification(prepared)
    return {"received": True}


@blueprint.post("/provider_b")
@receive(operation_id="receiveProviderBWebhook", documented_body=GitLabEventSchema, upstream=read_b)
def receive_b(*, scope: Scope, prepared: Notification) -> dict[str, bool]:
    """Process a notification of provider B."""
    process_notification(prepared)
    return {"received": True}
