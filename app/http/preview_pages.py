"""The few pages that stand where a preview cannot: starting, failed, ended, not for you."""

from html import escape
from urllib.parse import quote

from flask import Response

STYLE = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:12vh auto;padding:0 1rem}pre{overflow:auto;background:#f4f4f4;color:#222;padding:1rem}"
REFRESH_S = 1


def no_preview() -> Response:
    """No preview has such a name."""
    return _page(404, "There is no preview here", "Open it again from the editor.")


def not_a_member() -> Response:
    """Neither a good link nor a member's cookie."""
    return _page(
        403, "This preview is not open to you", "Open it from the editor, signed in as a member of its organization."
    )


def another_site() -> Response:
    """A page of another host wants an open connection."""
    return _page(403, "Only the preview's own pages may do this", "Open the preview itself.")


def starting() -> Response:
    """It is on its way; the page asks again by itself."""
    response = _page(503, "The preview is starting", "This page goes on by itself.")
    response.headers["Refresh"] = response.headers["Retry-After"] = str(REFRESH_S)
    return response


def failed(problem: str, log: str) -> Response:
    """What the site's own programs said last."""
    return _page(502, "The preview could not be started", problem, log)


def ended() -> Response:
    """Its time is over, or somebody stopped it."""
    return _page(410, "The preview has ended", "Start it again from the editor.")


def not_answering() -> Response:
    """The server inside broke off."""
    return _page(502, "The site's server did not answer", "It may be starting anew; try again in a moment.")


def unframed() -> Response:
    """The chunks of the visitor's body are none."""
    return _page(400, "This request cannot be read", "Its body is not framed as HTTP asks for.")


def too_many(wait_s: int) -> Response:
    """More requests than one preview gets, in a minute or at once."""
    response = _page(429, "Too many requests", "This preview asks for more than a preview gets; wait a moment.")
    response.headers["Retry-After"] = str(wait_s)
    return response


def unavailable() -> Response:
    """Who may see it cannot be asked right now."""
    response = _page(503, "Not available right now", "Try again shortly.")
    response.headers["Retry-After"] = "2"
    return response


def admitted(path: str, query: str, *, name: str, value: str, max_age_s: int, secure: bool) -> Response:
    """On to the page itself, with the cookie. In a frame of another site only a partitioned, secure cookie is kept."""
    place = quote(path, safe="/:@!$&'()*+,;=~-._") + (f"?{query}" if query else "")
    response = Response(
        status=302, headers={"Location": place, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    )
    response.set_cookie(
        name,
        value,
        max_age=max_age_s,
        httponly=True,
        secure=secure,
        samesite="None" if secure else "Lax",
        partitioned=secure,
    )
    return response


def _page(status: int, title: str, text: str, log: str = "") -> Response:
    shown = f"<pre>{escape(log)}</pre>" if log else ""
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style><h1>{escape(title)}</h1><p>{escape(text)}</p>{shown}</html>"
    )
    response = Response(body, status, content_type="text/html; charset=utf-8")
    response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
