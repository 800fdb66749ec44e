"""Pages that mails name without the prefix of the console.

They lead to the page in the console; browsers keep the fragment.
"""

from flask import Blueprint, Response, request

from app.access.guards import no_authentication
from app.access.scope import Scope
from app.console.blueprint import ROOT
from app.console.shell.pages import Page

blueprint = Blueprint("console_links", __name__)


@blueprint.get("/sign-in")
@blueprint.get("/forgot-password", endpoint="forgot_password")
@blueprint.get("/reset-password", endpoint="reset_password")
@blueprint.get("/invitation", endpoint="invitation")
@Page(guard=no_authentication())
def follow_link(*, scope: Scope) -> Response:
    """Lead to the page of this name in the console."""
    query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    return Response(status=302, headers={"Location": f"{ROOT}{request.path}{query}", "Cache-Control": "no-store"})
