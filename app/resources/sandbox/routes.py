"""Preview sandboxes: create or connect, keep alive, stop (spec 4.12)."""

from flask import Blueprint, Response

from app.http.endpoint import endpoint
from app.http.guards import member_of_org
from app.http.scope import Scope
from app.resources.sandbox import flow
from app.resources.sandbox import schemas as s
from app.resources.sandbox.guards import member_of_named

blueprint = Blueprint("sandbox", __name__)


@blueprint.post("/create")
@endpoint(
    guard=member_of_org("projectId", in_body=True), body=s.CreateSandbox, result=s.CreatedSandbox,
    prepare=flow.create, max_bytes=flow.CREATE_BYTES, raw=True, message="Preview is running", rate="sandbox_create",
)  # fmt: skip
def create(_scope: Scope, _body: s.CreateBody, outcome: flow.Outcome) -> Response:
    """Start the project's preview sandbox or connect to the one there is; steps as events, or JSON when it is ready."""
    return flow.answer(outcome)


@blueprint.post("/heartbeat")
@endpoint(
    guard=member_of_named(), body=s.NameSandbox, result=s.Beat, prepare=flow.heartbeat,
    any_type=True, archived_too=True, message="Heartbeat", rate="sandbox_heartbeat",
)  # fmt: skip
def heartbeat(_scope: Scope, _body: dict[str, str | None], beat: dict[str, object]) -> dict[str, object]:
    """Let a running sandbox live five minutes longer."""
    return beat


@blueprint.post("/stop")
@endpoint(
    guard=member_of_named(), body=s.NameSandbox, result=s.Stopped, prepare=flow.stop,
    any_type=True, archived_too=True, message="Preview stopped", rate="sandbox_stop",
)  # fmt: skip
def stop(_scope: Scope, _body: dict[str, str | None], stopped: dict[str, bool]) -> dict[str, bool]:
    """Stop a sandbox, at once and for everybody."""
    return stopped
