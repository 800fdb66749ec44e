"""Unversioned system endpoints (spec 4.1): health, readiness, metrics, welcome. They respond without the envelope."""

import time

from flask import Response, current_app, request
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from app.access.guards import no_authentication
from app.access.scope import Scope
from app.extensions import current_settings, drivers, limiter
from app.http import rate_limits
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.http.envelope import json_response
from app.http.streaming import response
from app.resources.system import health, metrics
from app.resources.system.schemas import HealthSchema, ReadinessSchema

CONSOLE = "/console"
"""The page to which a browser is redirected."""
STARTED_S = time.monotonic()


def welcome_text(base_url: str) -> str:
    """Return the text at `/`."""
    return (
        "Galley: every save is a commit.\n\n"
        f"Console:   {base_url}{CONSOLE}\n"
        f"API:       {base_url}/api/v1\n"
        f"Reference: {base_url}/api/v1/docs\n"
        f"OpenAPI:   {base_url}/api/v1/openapi.json\n"
        f"Health:    {base_url}/healthz\n"
    )


blueprint = ApiBlueprint(
    "system",
    __name__,
    title="System",
    description="State of the service.",
)


@blueprint.get("/healthz")
@endpoint(
    operation_id="getHealth",
    guard=no_authentication(),
    raw_response=True,
    without_envelope=True,
    result=HealthSchema,
    message="The process responds",
)
def healthz(*, scope: Scope) -> Response:
    """Report that the process responds, without a check of its dependencies."""
    return json_response({"status": "ok", "uptime": round(time.monotonic() - STARTED_S, 3)})


@blueprint.get("/readyz")
@endpoint(
    operation_id="getReadiness",
    guard=no_authentication(),
    raw_response=True,
    without_envelope=True,
    result=ReadinessSchema,
    other_status=503,
    message="State of the dependencies",
    errors=("TOO_MANY_REQUESTS",),
)
def readyz(*, scope: Scope) -> Response:
    """Report the state of each dependency; 503 if a required one is down or if this process is ending."""
    jobs = current_app.extensions["jobs"]
    rate_limits.check_address("readiness")
    settings = current_settings()
    folders = (settings.server.instance_dir, settings.storage.directory, settings.git.local_root)
    state = health.check_dependencies(jobs, drivers.storage, limiter, ending=response.draining(), folders=folders)
    return json_response(*state)


@blueprint.get("/metrics")
@endpoint(
    guard=no_authentication(),
    raw_response=True,
    media_type="text/plain",
    message="Metrics",
    errors=("NOT_ALLOWED", "NOT_FOUND"),
)
def show_metrics(*, scope: Scope) -> Response:
    """Return the metrics for Prometheus. Requires METRICS_TOKEN as a bearer token; 404 if no token is configured."""
    token, jobs = current_settings().metrics_token, current_app.extensions["jobs"]
    text = metrics.exposition(request.headers.get("Authorization"), token, jobs)
    return Response(text, content_type=CONTENT_TYPE_LATEST)


@blueprint.get("/")
@endpoint(
    operation_id="getWelcome", guard=no_authentication(), raw_response=True, media_type="text/plain", message="Welcome"
)
def welcome(*, scope: Scope) -> Response:
    """Return a welcome text with links to the documentation, or lead browsers to the console."""
    if request.accept_mimetypes.best_match(["text/plain", "text/html"]) == "text/html":
        response = Response(status=302, headers={"Location": CONSOLE})
    else:
        response = Response(welcome_text(current_settings().server.base_url), mimetype="text/plain")
    response.vary.add("Accept")
    return response
