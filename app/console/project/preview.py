"""The preview of a project: start, address and stop."""

from typing import Any

from flask import Response
from marshmallow import ValidationError

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.page_source import EDITOR_INPUTS, edited, open_edited
from app.console.files.scope import BASE, EDITOR, MEMBER, EditorScope, edit_url, project_url
from app.console.project.project_home import read_preview
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.core.errors import InvalidRequest
from app.extensions import drivers
from app.http.actions import run
from app.http.envelope import json_response
from app.http.loading import field_errors, instance
from app.models.sandbox import PreviewState
from app.resources.sandbox import actions, host_sync, lifecycle, service
from app.resources.sandbox.guards import STOP
from app.resources.sandbox.lifecycle import CreateResult
from app.resources.sandbox.schemas import CreateSandboxBody


def _body(scope: ProjectScope, **more: Any) -> Any:
    """Return the body of a start. A page of a change set starts a preview of the set."""
    branch = {"branch": scope.branch} if scope.branch != scope.project.branch else {}
    return instance(CreateSandboxBody.schema).load({"projectId": scope.path["project_id"]} | branch | more)


def _connect(scope: ProjectScope, body: Any) -> CreateResult:
    return actions.connect(scope.project, scope.user, body, git=drivers.git, host=drivers.sandbox)


def running_address(scope: ProjectScope, unsaved: dict[str, str] | None = None) -> str | None:
    """Return the address of the running preview with an access token, or None. `unsaved` is written into it.

    Raises:
        InvalidRequest: the unsaved text is too long for a preview.
    """
    try:
        body = _body(scope, onlyIfActive=True, uncommittedFile=unsaved)
    except ValidationError as error:
        raise InvalidRequest(fields=field_errors(error)) from error
    result = _connect(scope, body)
    if result.handle is None:
        return None
    address: str | None = lifecycle.wait(result).get("previewUrl")
    return address


def preview_state(scope: ProjectScope) -> tuple[dict[str, Any] | None, str | None]:
    """Return the preview record of the project with the step of its start, and the address of a running preview."""
    record = read_preview(scope)
    step = None
    if record is not None and record["state"] == PreviewState.STARTING:
        step = lifecycle.present_step(scope.project, drivers.sandbox)
        record = read_preview(scope)
    if record is None:
        return None, None
    failure = record["failure"] or {}
    address = running_address(scope) if record["state"] == PreviewState.RUNNING else None
    return record | {"step": step or failure.get("step")}, address


@blueprint.get(f"{BASE}/preview")
@Page(guard=MEMBER)
def preview(*, scope: ProjectScope) -> Response:
    """Show the preview, the steps of its start, or the complete log of a failed start."""
    record, address = preview_state(scope)
    is_failed = record is not None and record["state"] == PreviewState.FAILED
    log = service.complete_log(record["sandbox_id"]) if record is not None and is_failed else ""
    step = record["step"] if record is not None else None
    current = host_sync.IN_ORDER.index(step) if step in host_sync.IN_ORDER else -1
    return page("project/preview.html", record=record, address=address, log=log, current=current)


@blueprint.post(f"{BASE}/preview")
@Page(guard=EDITOR, inputs=("file",), shown_by="preview")
def start_preview(*, scope: EditorScope, form: Form) -> Response:
    """Start the preview, or read the newest files into the running one. The page shows the steps."""
    _connect(scope, _body(scope, forceSync=True))
    file = form.text("file")
    return see_other(edit_url(scope, file, "panel=preview") if file else project_url(scope, "/preview"))


@blueprint.post(f"{BASE}/preview-text/<path:file>")
@Page(guard=EDITOR, inputs=EDITOR_INPUTS)
def preview_text(*, scope: EditorScope, form: Form) -> Response:
    """Write the text of the editor's form into the running preview. Returns JSON: `active` and `changed`."""
    path = scope.path["file"]
    opened = open_edited(scope, form)
    data = edited(opened, form)
    address = running_address(scope, {"path": path, "content": data.decode()})
    # A running preview can show the site, which does not contain the version of a change set.
    is_changed = opened.is_new or data != opened.data or scope.change_set is not None
    return json_response({"active": address is not None, "changed": is_changed}, 200)


@blueprint.post(f"{BASE}/preview/stop")
@Page(guard=MEMBER, inputs=(), shown_by="preview")
def stop_preview(*, scope: ProjectScope, form: Form) -> Response:
    """Stop the preview."""
    run(lambda scope: lifecycle.stop(service.find_active(scope.project.id), drivers.sandbox), scope.path, STOP)
    return see_other(project_url(scope, "/preview?done=stopped"))
