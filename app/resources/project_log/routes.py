"""The project log (spec 4.9)."""

from app.access.guards import member_of_org
from app.access.scope import ProjectScope
from app.core.limits import InputLimits
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.project_log import ProjectLogEntry
from app.resources.project_log import service
from app.resources.project_log.schemas import (
    LogEntriesSchema,
    LogEntrySchema,
    LogQuery,
    RecordChangeBody,
)

blueprint = ApiBlueprint(
    "project_log",
    __name__,
    title="Activity",
    description="Changes of the files of a project, newest first.",
    parameters={
        "action": "Only entries of this action.",
    },
)


@blueprint.get("/<project_id>")
@endpoint(
    operation_id="listProjectLogEntries",
    guard=member_of_org(),
    query=LogQuery,
    result=LogEntriesSchema,
    message="Project log",
)
def read(*, scope: ProjectScope, query: LogQuery) -> service.LogPage:
    """Read recent file changes, newest first."""
    return service.read(scope.project.id, **vars(query))


@blueprint.post("/<project_id>")
@endpoint(
    operation_id="createProjectLogEntry",
    guard=member_of_org(),
    body=RecordChangeBody,
    result=LogEntrySchema,
    status=201,
    max_bytes=InputLimits.log_bytes,
    message="Change recorded",
)
def record(*, scope: ProjectScope, body: RecordChangeBody) -> ProjectLogEntry:
    """Record a file change."""
    return service.record(scope.project, body.action, body.file, body.file_type, by=scope.user, grant=scope.grant)
