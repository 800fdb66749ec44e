"""The unversioned system endpoints (spec 4.1): health, readiness, welcome. They answer bare, without the envelope."""

import time

from flask import Blueprint, Response, current_app, request

from app.extensions import drivers, limiter
from app.http import metrics, streaming
from app.http.configuration import settings
from app.http.endpoint import endpoint
from app.http.envelope import json_response
from app.http.guards import bare
from app.http.scope import Scope
from app.resources.system import readiness, service

blueprint = Blueprint("system", __name__)
STARTED_S = time.monotonic()


@blueprint.get("/healthz")
@endpoint(guard=bare(), raw=True, message="The process answers")
def healthz(_scope: Scope) -> Response:
    """Tell that the process answers; touches nothing else."""
    return json_response({"status": "ok", "uptime": round(time.monotonic() - STARTED_S, 3)})


@blueprint.get("/readyz")
@endpoint(guard=bare(), raw=True, message="What this depends on works")
def readyz(_scope: Scope) -> Response:
    """Tell the state of each dependency; 503 while a required one is down, and while this process ends."""
    jobs = current_app.extensions["jobs"]
    return json_response(*readiness.report(jobs, drivers["storage"], limiter, ending=streaming.draining()))


@blueprint.get("/metrics")
@endpoint(guard=bare(), raw=True, message="Metrics")
def show_metrics(_scope: Scope) -> Response:
    """Tell Prometheus how the service does; needs the METRICS_TOKEN as a bearer token, and is not there without one."""
    return metrics.exposition(request.headers.get("Authorization"), settings().metrics_token)


@blueprint.get("/")
@endpoint(guard=bare(), raw=True, message="Welcome")
def welcome(_scope: Scope) -> Response:
    """Greet, with the way to the documentation."""
    base = current_app.config["SETTINGS"].server.base_url
    return Response(service.welcome(base), mimetype="text/plain")
