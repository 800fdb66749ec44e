"""The preview of a project: start, address and stop."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from flask import Response
from marshmallow import ValidationError, fields

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.page_source import EDITOR_INPUTS, edited, open_edited, open_present, read_draft, read_schema
from app.console.files.scope import BASE, EDITOR, MEMBER, EditorScope, edit_url, project_url
from app.console.files.simple_page import SimplePage, simple_page
from app.console.project.project_home import read_preview
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.content.schema.model import ContentSchema
from app.core.errors import InvalidRequest, NotFound
from app.drivers.sandbox.none import NoSandboxes
from app.extensions import drivers
from app.http.actions import run
from app.http.envelope import json_response
from app.http.loading import field_errors, instance
from app.http.validation import Length, RequestQuery
from app.models.sandbox import PreviewState
from app.resources.project_draft.queries import drafts_on
from app.resources.sandbox import actions, connection, host_sync, lifecycle, service
from app.resources.sandbox.connection import CreateResult
from app.resources.sandbox.guards import STOP
from app.resources.sandbox.schemas import CreateSandboxBody


def _body(scope: ProjectScope, **more: Any) -> Any:
    """Return the body of a start. A page of a change set starts a preview of the set."""
    branch = {"branch": scope.branch} if scope.branch != scope.project.branch else {}
    return instance(CreateSandboxBody.schema).load({"projectId": scope.path["project_id"]} | branch | more)


def _connect(scope: ProjectScope, body: Any) -> CreateResult:
    return actions.connect(scope.project, scope.user, body, git=drivers.git, host=drivers.sandbox)


def running_address(
    scope: ProjectScope, unsaved: dict[str, str] | None = None, *, editable: bool = False
) -> str | None:
    """Return the address of the running preview with an access token, or None. `unsaved` is written into it.

    With `editable`, the preview is the one whose texts have source marks.

    Raises:
        InvalidRequest: the unsaved text is too long for a preview.
    """
    try:
        body = _body(scope, onlyIfActive=True, uncommittedFile=unsaved, editable=editable)
    except ValidationError as error:
        raise InvalidRequest(fields=field_errors(error)) from error
    result = _connect(scope, body)
    if result.handle is None:
        return None
    address: str | None = connection.wait(result).get("previewUrl")
    return address


def preview_state(scope: ProjectScope) -> tuple[dict[str, Any] | None, str | None]:
    """Return the preview record of the project with its step and note, and the address of a running preview."""
    record = read_preview(scope)
    step = None
    if record is not None and record["state"] == PreviewState.STARTING:
        step = lifecycle.present_step(scope.project, drivers.sandbox)
        record = read_preview(scope)
    if record is None:
        return None, None
    failure = record["failure"] or {}
    address = running_address(scope) if record["state"] == PreviewState.RUNNING else None
    active = service.find_active(scope.project.id) if address is not None else None
    note = active.hint if active is not None else None
    return record | {"step": step or failure.get("step"), "note": note}, address


@dataclass(frozen=True, kw_only=True)
class PreviewQuery(RequestQuery):
    """The file whose simple preview is shown while the site does not run."""

    file: Annotated[str, fields.String(load_default="", validate=Length(max=1_024))]


def shown_simply(
    scope: EditorScope, schema: ContentSchema, file: str, record: Mapping[str, Any] | None
) -> SimplePage | None:
    """Return a page without its site if no preview runs: the draft of the user, else the present version."""
    is_missing = record is not None and record["state"] in (PreviewState.STARTING, PreviewState.FAILED)
    if not (is_missing or isinstance(drivers.sandbox, NoSandboxes)):
        return None
    file = file or next((own.draft.file for own in drafts_on(scope.project, by=scope.caller, branch=scope.branch)), "")
    return page_without_site(scope, schema, file) if file else None


def page_without_site(scope: EditorScope, schema: ContentSchema, file: str) -> SimplePage | None:
    """Return a page without its site: the draft of the user, else the present version. None if there is none."""
    try:
        draft = read_draft(scope, file)
        data = draft["content"].encode() if draft else open_present(scope, file).data
    except (NotFound, InvalidRequest):
        return None
    return simple_page(scope, schema, file, data)


@blueprint.get(f"{BASE}/preview")
@Page(guard=EDITOR, query=PreviewQuery, upstream=read_schema)
def preview(*, scope: EditorScope, query: PreviewQuery, prepared: ContentSchema) -> Response:
    """Show the preview, the steps of its start, or after a failed start the page without its site and the log."""
    record, address = preview_state(scope)
    is_failed = record is not None and record["state"] == PreviewState.FAILED
    log = service.complete_log(record["sandbox_id"]) if record is not None and is_failed else ""
    step = record["step"] if record is not None else None
    current = host_sync.IN_ORDER.index(step) if step in host_sync.IN_ORDER else -1
    simple = shown_simply(scope, prepared, query.file, record)
    return page("project/preview.html", record=record, address=address, log=log, current=current, simple=simple)


@blueprint.post(f"{BASE}/preview")
@Page(guard=EDITOR, inputs=("file",), shown_by="preview")
def start_preview(*, scope: EditorScope, form: Form) -> Response:
    """Start the preview, or read the newest files into the running one. The page shows the steps."""
    _connect(scope, _body(scope, forceSync=True))
    file = form.text("file")
    return see_other(edit_url(scope, file, "panel=preview") if file else project_url(scope, "/preview"))


@dataclass(frozen=True, kw_only=True)
class PreviewTextQuery(RequestQuery):
    """The preview that shows a text: the plain one, or the editable one."""

    editable: Annotated[bool, fields.Boolean(load_default=False)]


@blueprint.post(f"{BASE}/preview-text/<path:file>")
@Page(guard=EDITOR, inputs=EDITOR_INPUTS, query=PreviewTextQuery, upstream=read_schema)
def preview_text(*, scope: EditorScope, form: Form, query: PreviewTextQuery, prepared: ContentSchema) -> Response:
    """Write the text of the editor's form into the running preview, and return JSON: `active`, `changed` and `html`.

    `html` is the page without its site if no preview runs.
    """
    path = scope.path["file"]
    opened = open_edited(scope, form)
    data = edited(opened, form)
    address = running_address(scope, {"path": path, "content": data.decode()}, editable=query.editable)
    # A running preview can show the site, which does not contain the version of a change set.
    is_changed = opened.is_new or data != opened.data or scope.change_set is not None
    if address is not None:
        return json_response({"active": True, "changed": is_changed}, 200)
    shown = page("project/simple_page.html", simple=simple_page(scope, prepared, path, data))
    return json_response({"active": False, "changed": is_changed, "html": shown.get_data(as_text=True)}, 200)


@blueprint.post(f"{BASE}/preview/stop")
@Page(guard=MEMBER, inputs=(), shown_by="preview")
def stop_preview(*, scope: ProjectScope, form: Form) -> Response:
    """Stop the preview."""
    run(lambda scope: lifecycle.stop(service.find_active(scope.project.id), drivers.sandbox), scope.path, STOP)
    return see_other(project_url(scope, "/preview?done=stopped"))
