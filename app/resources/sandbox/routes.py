"""Preview sandboxes: create or connect, keep alive, stop (spec 4.12)."""

from flask import Response

from app.access.guards import member_of_org
from app.access.scope import ProjectScope
from app.core.limits import MIB
from app.extensions import current_settings, drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import GIT_READ, UPSTREAM, endpoint
from app.models.sandbox import Sandbox
from app.resources.sandbox import actions, connection, lifecycle, responses, service
from app.resources.sandbox import schemas as s
from app.resources.sandbox.connection import CreateResult
from app.resources.sandbox.guards import STOP, SandboxScope, member_of_named
from app.resources.sandbox.schemas import CreateSandboxBody

CREATE_BYTES = 5 * MIB
"""A file of a million characters in any encoding of JSON."""


def create_sandbox(scope: ProjectScope, body: CreateSandboxBody) -> tuple[CreateResult, dict[str, object] | None]:
    """Create the sandbox and wait for it if the caller accepts JSON only."""
    result = actions.connect(scope.project, scope.user, body, git=drivers.git, host=drivers.sandbox)
    return result, None if responses.accepts_events() and result.handle is not None else connection.wait(result)


def _sandbox_of(scope: SandboxScope) -> Sandbox | None:
    return scope.sandbox or service.find_active(scope.project.id)


blueprint = ApiBlueprint(
    "sandbox",
    __name__,
    title="Previews",
    noun="sandbox",
    description="Sandboxes that run a site for a preview.",
)


@blueprint.post("/create")
@endpoint(
    guard=member_of_org(in_body=True),
    body=s.CreateSandboxBody,
    result=s.CreatedSandboxSchema,
    events=(s.StartStepSchema, s.StartDoneSchema, s.StartFailedSchema),
    other_status=201,
    upstream=create_sandbox,
    max_bytes=CREATE_BYTES,
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
    *, scope: ProjectScope, body: s.CreateSandboxBody, prepared: tuple[CreateResult, dict[str, object] | None]
) -> Response:
    """Start the preview sandbox of the project or connect to it. Returns events, or JSON when it is ready."""
    return responses.render(*prepared)


@blueprint.post("/heartbeat")
@endpoint(
    operation_id="extendSandbox",
    guard=member_of_named(),
    body=s.SandboxNameBody,
    result=s.HeartbeatSchema,
    outside=True,
    any_type=True,
    allow_archived=True,
    message="Heartbeat",
    rate="sandbox_heartbeat",
    errors=("SANDBOX_UNAVAILABLE", *UPSTREAM),
)
def heartbeat(*, scope: SandboxScope, body: s.SandboxNameBody) -> dict[str, object]:
    """Extend the lease of a running sandbox by five minutes."""
    return lifecycle.heartbeat(_sandbox_of(scope), drivers.sandbox, limits=current_settings().limits.sandbox)


@blueprint.post("/stop")
@endpoint(
    **vars(STOP),
    body=s.SandboxNameBody,
    result=s.StoppedSandboxSchema,
    any_type=True,
    message="Preview stopped",
    errors=("SANDBOX_UNAVAILABLE", *UPSTREAM),
)
def stop(*, scope: SandboxScope, body: s.SandboxNameBody) -> dict[str, bool]:
    """Stop a sandbox for all its users."""
    return lifecycle.stop(_sandbox_of(scope), drivers.sandbox)
