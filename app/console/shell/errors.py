"""Pages for errors, and the headers of all pages: a strict content security policy, and no referrer for other sites.

A form that failed is shown again with its values; a request without a session leads to the sign-in.
"""

from urllib.parse import urlencode

from flask import Response, current_app, g, request
from werkzeug.exceptions import InternalServerError

from app.console.blueprint import ROOT, blueprint, guest_blueprint
from app.console.shell import frame, identity, rendering
from app.console.shell.forms import Form
from app.console.shell.messages import error_text
from app.console.shell.pages import Page, page_again, see_other, wants_json
from app.core.errors import AppError, EmailNotVerified, NotAuthenticated, ReauthRequired, SecondFactorRequired
from app.database.errors import DatabaseError
from app.drivers.errors import DriverError
from app.extensions import current_settings
from app.http import envelope
from app.http.endpoint import find_endpoint
from app.http.error_handlers import convert
from app.http.headers import sources_below


@guest_blueprint.errorhandler(Exception)
@blueprint.errorhandler(Exception)
def handle(error: Exception) -> Response:
    """Return the page for an error. Flask passes a defect of a page that is shown again as `InternalServerError`."""
    app_error = convert(error)
    if wants_json():
        return envelope.failure(request, app_error)
    try:
        response = _error_page(app_error) if isinstance(error, InternalServerError) else _answer(app_error)
    except (AppError, DriverError, DatabaseError) as second:
        app_error = convert(second)
        frame.leave_out_user()
        response = _error_page(app_error)
    response.headers.extend(app_error.headers)
    return response


def _answer(error: AppError) -> Response:
    form: Form | None = g.get("console_form")
    if isinstance(error, NotAuthenticated) and not _is_public():
        if request.method == "GET":
            return see_other(f"{ROOT}/sign-in?{urlencode({'next': request.full_path.rstrip('?')})}")
        return _session_ended(form)
    if isinstance(error, EmailNotVerified) and form is None:
        return see_other(f"{ROOT}/verify")
    if isinstance(error, SecondFactorRequired):
        return see_other(f"{ROOT}/account/second-factor")
    declared = find_endpoint(current_app.view_functions[request.endpoint or ""])
    if form is not None and isinstance(declared, Page) and declared.shown_by is not None:
        form.error = error
        if isinstance(error, ReauthRequired):
            form.identity = identity.methods()
        response = page_again(declared.shown_by, dict(request.view_args or {}), form)
        response.status_code = error.status
        return response
    return _error_page(error)


def _error_page(error: AppError) -> Response:
    return rendering.page("error.html", status=error.status, text=error_text(error))


def _is_public() -> bool:
    declared = find_endpoint(current_app.view_functions[request.endpoint or ""])
    return declared is not None and declared.guard.public


def _session_ended(form: Form | None) -> Response:
    """Return a page that keeps the sent values, so that the form can be sent again after the sign-in.

    There are no values if the form was too large to be read without a session.
    """
    values = list(form.values.items(multi=True)) if form is not None else None
    return rendering.page("session_ended.html", status=401, action=request.full_path.rstrip("?"), values=values)


ASSETS = f"{ROOT}/static/"


def policy() -> str:
    """Return the content security policy of a page. Frames may show previews only."""
    settings = current_settings()
    scheme = "https" if settings.server.base_url.startswith("https:") else "http"
    nonce = f" 'nonce-{g.console_nonce}'" if "console_nonce" in g else ""
    assets = sources_below(ASSETS)
    frames = f"{scheme}://*.{settings.sandbox.preview_host}:*" if settings.sandbox.preview_host else "'none'"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {assets}",
            "worker-src 'none'",
            f"style-src {assets}{nonce}",
            "img-src 'self' data: blob:",
            "connect-src 'self'",
            f"frame-src {frames}",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


@guest_blueprint.after_request
@blueprint.after_request
def add_headers(response: Response) -> Response:
    """Add the headers to a page."""
    response.headers.setdefault("Content-Security-Policy", policy())
    # `no-referrer` would make browsers send `Origin: null` with the forms.
    response.headers.setdefault("Referrer-Policy", "same-origin")
    response.vary.update(("Cookie", "Accept-Language"))
    return response
