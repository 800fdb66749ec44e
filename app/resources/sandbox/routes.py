"""Preview sandboxes: create or connect, keep alive, stop (spec 4.12)."""

from typing import Any

from flask import Response

from app.access.guards import member_of_org
from app.access.scope import ProjectScope
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.http.upstream_errors import GIT_READ, UPSTREAM
from app.resources.sandbox import prepare, responses
from app.resources.sandbox import schemas as s
from app.resources.sandbox.guards import SandboxScope, member_of_named

blueprint = ApiBlueprint(
    "sandbox",
    __name__,
    title="Previews",
    description="Sandboxes that run a site for a preview.",
)


@blueprint.post("/create")
@endpoint(
    guard=member_of_org(in_body=True),
    body=s.CreateSandboxBody,
    result=s.CreatedSandboxSchema,
    events=(s.StartStepSchema, s.StartDoneSchema, s.StartFailedSchema),
    other_status=201,
    upstream=responses.create,
    max_bytes=prepare.CREATE_BYTES,
    raw_response=True,
    message="Preview is running",
    rate="sandbox_create",
    errors=(
        "SANDBOX_FAILED",
        "SANDBOX_STOPPED",
        "SANDBOX_UNAVAILABLE",
        "RUNTIME_UNAVAILABLE",
        "LIMIT_REACHED",
        "CONFLICT",
        *GIT_READ,
    ),
)
def create(
    *, scope: ProjectScope, body: s.CreateSandboxBody, prepared: tuple[prepare.CreateResult, dict[str, Any] | None]
) -> Response:
    """Start the preview sandbox of the project or connect to it. Returns events, or JSON when it is ready."""
    return responses.render(*prepared)


@blueprint.post("/heartbeat")
@endpoint(
    guard=member_of_named(),
    body=s.SandboxNameBody,
    result=s.HeartbeatSchema,
    outside=True,
    any_type=True,
    allow_archived=True,
    message="Heartbeat",
    rate="sandbox_heartbeat",
    errors=(
        "SANDBOX_UNAVAILABLE",
        *UPSTREAM,
    ),
)
def heartbeat(*, scope: SandboxScope, body: s.SandboxNameBody) -> dict[str, object]:
    """Extend the lease of a running sandbox by five minutes."""
    return prepare.heartbeat(scope, body)


@blueprint.post("/stop")
@endpoint(
    guard=member_of_named(),
    body=s.SandboxNameBody,
    result=s.StoppedSandboxSchema,
    outside=True,
    any_type=True,
    allow_archived=True,
    message="Preview stopped",
    rate="sandbox_stop",
    errors=(
        "SANDBOX_UNAVAILABLE",
        *UPSTREAM,
    ),
)
def stop(*, scope: SandboxScope, body: s.SandboxNameBody) -> dict[str, bool]:
    """Stop a sandbox for all its users."""
    return prepare.stop(scope, body)
