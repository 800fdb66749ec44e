"""The only place where a failure becomes an answer."""

import structlog
from flask import Flask, Response, request
from gunicorn.http.errors import NoMoreData, ParseException
from sqlalchemy import exc as sql
from sqlalchemy.orm.exc import ObjectDeletedError, StaleDataError
from werkzeug.exceptions import HTTPException

from app.core import errors
from app.core.database import is_passing
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


def as_answer(error: Exception) -> errors.AppError:
    """What a caller is told of a failure of whatever kind; nothing of a fault of ours."""
    if isinstance(error, outside.DriverError):
        return from_driver(error)
    if is_passing(error):
        return errors.Unavailable("The database is not available right now; try again shortly", retry_after_s=2)
    return error if isinstance(error, errors.AppError) else errors.AppError()


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
    if not is_passing(error):
        return _bug(error)
    log.warning("database.unavailable", error=type(error).__name__, cause=str(getattr(error, "orig", ""))[:200])
    return _render(as_answer(error))


def _bug(error: Exception) -> Response:
    log.error("request.failed", exc_info=error, path=request.path, method=request.method)
    return _render(errors.AppError())
