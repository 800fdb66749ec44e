"""The preview of a project: start, address and stop."""

from typing import Any

from flask import Response

from app.access.scope import Scope
from app.console import api
from app.console.blueprint import blueprint
from app.console.forms import Form
from app.console.pages import Page, see_other
from app.console.project_home import BASE, MEMBER, project_url, read_preview
from app.console.rendering import page
from app.database import session
from app.http.validation import instance
from app.resources.sandbox import prepare
from app.resources.sandbox import routes as sandbox
from app.resources.sandbox.schemas import CreateSandbox


def _body(scope: Scope, **more: bool) -> Any:
    return instance(CreateSandbox).load({"projectId": scope.path["project_id"]} | more)


def _running(scope: Scope) -> str | None:
    """Return the address of the running preview with its access token, or None."""
    result = prepare.create(scope, _body(scope, onlyIfActive=True))
    if result.handle is None:
        return None
    session.release_connection()
    address: str | None = prepare.wait(result).get("previewUrl")
    return address


@blueprint.get(f"{BASE}/preview")
@Page(guard=MEMBER)
def preview(*, scope: Scope) -> Response:
    """Show the preview, or the log of a failed start."""
    record, address = read_preview(scope), None
    if record is not None and record["state"] == "running":
        session.release_connection()
        address = _running(scope)
        session.start_reading()
    return page("project/preview.html", record=record, address=address)


@blueprint.post(f"{BASE}/preview")
@Page(guard=MEMBER, takes_form=True, shown_by="preview")
def start_preview(*, scope: Scope, form: Form) -> Response:
    """Start the preview, or read the newest files into the running one."""
    session.release_connection()
    result = prepare.create(scope, _body(scope, forceSync=True))
    session.release_connection()
    prepare.wait(result)
    return see_other(project_url(scope, "/preview"))


@blueprint.post(f"{BASE}/preview/stop")
@Page(guard=MEMBER, takes_form=True, shown_by="preview")
def stop_preview(*, scope: Scope, form: Form) -> Response:
    """Stop the preview."""
    api.write(sandbox.stop, data={"projectId": scope.path["project_id"]})
    return see_other(project_url(scope, "/preview?done=stopped"))
