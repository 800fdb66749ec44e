"""The built assets. Their names contain a hash of the content, so browsers may keep them."""

from flask import Response, send_from_directory

from app.access.guards import no_authentication
from app.access.scope import Scope
from app.console.blueprint import blueprint
from app.console.shell.asset_manifest import STATIC
from app.console.shell.pages import Page

YEAR_S = 365 * 86_400


@blueprint.get("/static/<path:name>")
@Page(guard=no_authentication())
def static_file(*, scope: Scope) -> Response:
    """Return a built asset."""
    response: Response = send_from_directory(STATIC, scope.path["name"], max_age=YEAR_S)
    response.headers["Cache-Control"] = f"public, max-age={YEAR_S}, immutable"
    return response
