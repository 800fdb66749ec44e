"""The reference page: Swagger UI of the package `flask-swagger-ui`, with a page, a script and styles of Galley."""

from importlib.resources import files
from pathlib import Path

import flask_swagger_ui
from flask import Blueprint, Response, send_from_directory

from app.http.headers import sources_below

PAGE_URL = "/api/v1/docs"
PAGE, OWN_FILES = "index.html", ("reference.js", "reference.css")

blueprint = Blueprint("reference", __name__, url_prefix=PAGE_URL)


@blueprint.get("/", defaults={"name": PAGE})
@blueprint.get("/<path:name>")
def show_file(name: str) -> Response:
    """Respond with the page or with one of its files. The page loads the OpenAPI document."""
    is_own = name == PAGE or name in OWN_FILES
    return send_from_directory(Path(__file__).parent if is_own else str(files(flask_swagger_ui) / "dist"), name)


@blueprint.after_request
def add_policy(response: Response) -> Response:
    """Permit the local files of the page. Swagger UI writes styles into the page."""
    sources = sources_below(f"{PAGE_URL}/")
    policy = (
        "default-src 'none'",
        f"script-src {sources}",
        f"style-src {sources} 'unsafe-inline'",
        f"img-src {sources} data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    response.headers["Content-Security-Policy"] = "; ".join(policy)
    return response
