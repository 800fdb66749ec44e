"""The only place where a failure becomes an answer."""

import structlog
from flask import Flask, Response, request
from gunicorn.http.errors import NoMoreData, ParseException
from sqlalchemy import exc as sql
from sqlalchemy.orm.exc import ObjectDeletedError, StaleDataError
from werkzeug.exceptions import HTTPException

from app.core import errors
from app.drivers import errors as outside
from app.drivers.git import port as git
from app.drivers.git import pull_requests
from app.extensions import db
from app.http import envelope

log = structlog.get_logger(__name__)

_SAID = {
    404: ("NOT_FOUND", "There is nothing at this address"),
    405: ("METHOD_NOT_ALLOWED", "This address does not take that method"),
    413: ("TOO_LARGE", "That is too large"),
    415: ("WRONG_MEDIA_TYPE", "Send application/json"),
}


_BUSY = frozenset({502, 503, 504})
_PASSING = ("08", "25", "40", "53", "55", "57", "58")
"""Classes of PostgreSQL's error codes that speak of its state: connection, read-only, deadlock, full, locked, stopping."""


def init_app(app: Flask) -> None:
    """Render every exception as the envelope."""
    app.register_error_handler(errors.AppError, _render)
    app.register_error_handler(outside.DriverError, lambda error: _render(from_driver(error)))
    app.register_error_handler(HTTPException, _http)
    for unframed in (ParseException, NoMoreData):  # found where the body is read; the server hangs up afterwards
        app.register_error_handler(unframed, lambda _error: _render(errors.Unframed()))
    for gone in (ObjectDeletedError, StaleDataError):  # deleted by another request since the guard found it
        app.register_error_handler(gone, lambda _error: _render(errors.NotFound()))
    for kind in (sql.DBAPIError, sql.TimeoutError):
        app.register_error_handler(kind, _database)
    app.register_error_handler(Exception, _bug)


def from_driver(error: outside.DriverError) -> errors.AppError:
    """Our answer to a failure of the outer world (house, section 4)."""
    text = str(error) or None
    match error:
        case git.ObjectNotFound():
            return errors.NotFound(text)
        case git.TooLargeToRead():
            return errors.TooLarge(text)
        case git.BranchExists() | git.BranchMoved() | git.RepositoryExists() | git.PathConflict():
            return errors.Conflict(text)
        case pull_requests.PullRequestExists() | pull_requests.NotMergeable():
            return errors.Conflict(text)
        case outside.Rejected():
            return errors.Refused(text, code=error.code)
        case outside.NeedsReconnect():
            return errors.Conflict(text, code="NEEDS_RECONNECT")
        case outside.Absent():
            return errors.Unavailable(text, code=error.code, retry_after_s=error.retry_after_s)
        case outside.Throttled():
            return errors.Unavailable(text, code="UPSTREAM_THROTTLED", retry_after_s=error.retry_after_s)
        case outside.Late():
            return errors.UpstreamLate(text)
        case _:
            return errors.UpstreamBroken(text)


def _render(error: errors.AppError) -> Response:
    db.session.rollback()
    if error.status in _BUSY:
        error.headers.setdefault("Retry-After", "2")
    return envelope.failure(request, error)


def _http(error: HTTPException) -> Response:
    status = error.code or 500
    if error.response is not None or status < 400:
        return Response(error.get_response().get_data(), status, error.get_headers())
    code, message = _SAID.get(status, (f"HTTP_{status}", error.description))
    answer = errors.AppError(message, code=code)
    answer.status = status
    if status == 405:
        answer.headers["Allow"] = ", ".join(sorted(getattr(error, "valid_methods", None) or ()))
    if status in (429, 503):
        answer.headers.setdefault("Retry-After", "1")
    return _render(answer)


def _database(error: Exception) -> Response:
    if not _passes(error):
        return _bug(error)
    log.warning("database.unavailable", error=type(error).__name__, cause=str(getattr(error, "orig", ""))[:200])
    return _render(errors.Unavailable("The database is not available right now; try again shortly", retry_after_s=2))


def _passes(error: Exception) -> bool:
    """Whether the same statement may succeed later; a fault of the statement itself is a bug."""
    if isinstance(error, sql.OperationalError | sql.InterfaceError | sql.TimeoutError):
        return True
    state = str(getattr(getattr(error, "orig", None), "sqlstate", None) or "")
    return state.startswith(_PASSING) or bool(getattr(error, "connection_invalidated", False))


def _bug(error: Exception) -> Response:
    log.error("request.failed", exc_info=error, path=request.path, method=request.method)
    return _render(errors.AppError())
