"""Response headers of the pages: a strict content security policy and no referrer for other sites."""

from flask import Response, g

from app.console.blueprint import ROOT, blueprint
from app.extensions import current_settings
from app.http.headers import sources_below

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


@blueprint.after_request
def add_headers(response: Response) -> Response:
    """Add the headers to a page."""
    response.headers.setdefault("Content-Security-Policy", policy())
    # `no-referrer` would make browsers send `Origin: null` with the forms.
    response.headers.setdefault("Referrer-Policy", "same-origin")
    response.vary.update(("Cookie", "Accept-Language"))
    return response
