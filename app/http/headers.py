"""What every answer carries, whatever route made it: request id, security headers, CORS; and the Origin rule."""

import re
import time
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

import structlog
from flask import Flask, Response, current_app, g, request
from flask_cors import CORS

from app.core.errors import AppError, NotAllowed
from app.core.limits import InputLimits
from app.core.urls import origin_of
from app.http import login

log = structlog.get_logger("app.request")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_HTTPS_ONLY = {"Strict-Transport-Security": "max-age=31536000"}


class InvalidOrigin(NotAllowed):
    """An unsafe request with our cookie from a page that is not ours (403)."""

    code, message = "INVALID_ORIGIN", "This page may not call the service"


class HeadersTooLarge(AppError):
    """More than the limit in all (431); of each alone the server sees to it."""

    status, code, message = 431, "HEADERS_TOO_LARGE", f"The headers may have at most {InputLimits.header_bytes} bytes"


def init_app(app: Flask, allowed_origins: tuple[str, ...]) -> None:
    """Install the hooks."""
    init_cors(app, allowed_origins)
    app.before_request(_start)
    app.before_request(_check_size)
    app.before_request(_check_origin)
    https = app.config["SETTINGS"].server.base_url.startswith("https:")
    carried = _SECURITY | (_HTTPS_ONLY if https else {})
    app.after_request(partial(_finish, carried))


def init_cors(app: Flask, allowed_origins: tuple[str, ...]) -> None:
    """Let pages of these origins, and of no others, read answers with credentials."""
    CORS(
        app,
        origins=[_exactly(origin) for origin in allowed_origins],
        supports_credentials=True,
        expose_headers=["ETag", "Link", "X-Request-Id", "Retry-After", "Idempotency-Replayed"],
        max_age=600,
        vary_header=False,  # Flask-Cors names Origin only where it lets one in
    )


def _exactly(origin: str) -> re.Pattern[str]:
    """That origin and no other: the brackets of an IPv6 address would be read as a pattern."""
    return re.compile(re.escape(origin) + r"\Z", re.IGNORECASE)


def _start() -> None:
    g.started_s = time.perf_counter()
    given = request.headers.get("X-Request-Id", "")
    g.request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
    structlog.contextvars.bind_contextvars(request_id=g.request_id)


def _check_size() -> None:
    given = (len(name) + len(value) for name, value in request.environ.items() if name.startswith("HTTP_"))
    if sum(given) > InputLimits.header_bytes:
        raise HeadersTooLarge


def _check_origin() -> None:
    origin = request.headers.get("Origin")
    if origin is None or request.method in ("GET", "HEAD", "OPTIONS") or login.cookie_name() not in request.cookies:
        return
    if origin_of(origin) not in current_app.config["SETTINGS"].server.allowed_origins:
        raise InvalidOrigin


def _finish(carried: Mapping[str, str], response: Response) -> Response:
    response.headers["X-Request-Id"] = g.get("request_id") or uuid.uuid4().hex
    for name, value in carried.items():
        response.headers.setdefault(name, value)
    response.vary.add("Origin")  # a shared cache must not give one page what another was told
    log.info("request", **_told(response))
    structlog.contextvars.clear_contextvars()
    return response


def _told(response: Response) -> dict[str, Any]:
    took_s = time.perf_counter() - g.get("started_s", time.perf_counter())
    return {
        "method": request.method,
        "route": str(request.url_rule or "-"),
        "status": response.status_code,
        "ms": round(took_s * 1000, 1),
    }
