"""Pages that replace a preview which is starting, failed, ended or forbidden."""

from html import escape
from urllib.parse import quote

from flask import Response

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:12vh auto;padding:0 1rem}"
    "pre{overflow:auto;background:#f4f4f4;color:#222;padding:1rem}"
)
REFRESH_S, BUILD_REFRESH_S = 1, 5


def no_preview() -> Response:
    """Return the page for an unknown preview name."""
    return _page(404, "There is no preview here", "Open it again from the editor.")


def forbidden() -> Response:
    """Return the page for a visitor without a valid link or cookie."""
    return _page(
        403, "This preview is not open to you", "Open it from the editor, signed in as a member of its organization."
    )


def link_ended() -> Response:
    """Return the page for a guest whose review link does not open this build, or has ended."""
    return _page(403, "This page is not open to you", "Open it from the link that you have received.")


def another_site() -> Response:
    """Return the page for a WebSocket of another origin."""
    return _page(403, "Only the preview's own pages may do this", "Open the preview itself.")


def starting() -> Response:
    """Return the page of a starting preview. It reloads itself."""
    response = _page(503, "The preview is starting", "This page reloads automatically.")
    response.headers["Refresh"] = response.headers["Retry-After"] = str(REFRESH_S)
    return response


def failed(problem: str, log: str) -> Response:
    """Return the page of a failed preview with the complete log."""
    return _page(502, "The preview could not be started", problem, log)


def ended() -> Response:
    """Return the page of a preview that has expired or was stopped."""
    return _page(410, "The preview has ended", "Start it again from the editor.")


def building() -> Response:
    """Return the page of a build that is not ready. It reloads itself."""
    response = _page(503, "The site is being built", "This page reloads automatically.")
    response.headers["Refresh"] = response.headers["Retry-After"] = str(BUILD_REFRESH_S)
    return response


def not_built(problem: str, log: str) -> Response:
    """Return the page of a failed build with its log."""
    return _page(502, "The site could not be built", problem, log)


def expired() -> Response:
    """Return the page of a build whose files were deleted."""
    return _page(410, "This version of the site is no longer stored", "Build it again from the change set.")


def missing_page() -> Response:
    """Return the page for an address that a built site does not have."""
    return _page(404, "The site has no such page", "The page may have been moved or removed.")


def bad_gateway() -> Response:
    """Return the page for an interrupted response of the site."""
    return _page(502, "The server of the site did not respond", "It may be restarting. Try again in a moment.")


def invalid_body() -> Response:
    """Return the page for invalid chunks in a request."""
    return _page(400, "This request cannot be read", "The transfer encoding of its body is invalid.")


def too_many(wait_s: int) -> Response:
    """Return the page for too many requests to one preview."""
    response = _page(429, "Too many requests", "This preview has exceeded its request rate. Wait a moment and reload.")
    response.headers["Retry-After"] = str(wait_s)
    return response


def unavailable() -> Response:
    """Return the page for a membership check that failed temporarily."""
    response = _page(503, "Not available right now", "Try again shortly.")
    response.headers["Retry-After"] = "2"
    return response


def admitted(
    path: str, query: str, *, name: str, value: str, max_age_s: int, secure: bool, is_framed: bool
) -> Response:
    """Return a redirect to the page that sets the cookie.

    In a frame of another site, browsers store partitioned, secure cookies only. They permit these without TLS for
    hosts below `localhost`.
    """
    partitioned = secure or is_framed
    location = quote(path, safe="/:@!$&'()*+,;=~-._") + (f"?{query}" if query else "")
    response = Response(
        status=302, headers={"Location": location, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    )
    response.set_cookie(
        name,
        value,
        max_age=max_age_s,
        httponly=True,
        secure=partitioned,
        samesite="None" if partitioned else "Lax",
        partitioned=partitioned,
    )
    return response


def _page(status: int, title: str, text: str, log: str = "") -> Response:
    shown = f"<pre>{escape(log)}</pre>" if log else ""
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
        f"<h1>{escape(title)}</h1><p>{escape(text)}</p>{shown}</html>"
    )
    response = Response(body, status, content_type="text/html; charset=utf-8")
    response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
