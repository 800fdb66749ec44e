"""Conversion of exceptions into responses."""

import structlog
from flask import Flask, Response, has_request_context, request
from gunicorn.http.errors import NoMoreData, ParseException
from werkzeug.exceptions import HTTPException

from app.access import authentication
from app.core import errors
from app.database import transactions
from app.database.errors import is_transient, is_unique_violation, is_vanished_row
from app.drivers import errors as driver_errors
from app.drivers.git import errors as git
from app.drivers.git import port
from app.http import envelope

log = structlog.get_logger(__name__)

_HTTP_ERRORS = {
    404: ("NOT_FOUND", "This URL does not exist"),
    405: ("METHOD_NOT_ALLOWED", "The method is not allowed for this URL"),
    413: ("TOO_LARGE", "The content is too large"),
    415: ("WRONG_MEDIA_TYPE", "The media type is not supported. Send application/json"),
}


_BUSY = frozenset({502, 503, 504})

DAMAGE_RETRY_S = 60
"""Interval after which a client may read a damaged repository again. An operator must repair it."""


def init_app(app: Flask) -> None:
    """Register the handlers that render every exception as the envelope."""
    app.register_error_handler(HTTPException, _http_error)
    # gunicorn raises `ParseException` and `NoMoreData` while the body is read, and closes the connection afterwards.
    app.register_error_handler(Exception, _render)


def to_app_error(error: Exception) -> errors.AppError:
    """Return the error that the caller receives. It contains no details of an internal error."""
    if isinstance(error, driver_errors.DriverError):
        return from_driver(error)
    if is_vanished_row(error):
        return _vanished_row()
    if is_unique_violation(error):
        return errors.Conflict()
    if is_transient(error):
        return errors.ServiceUnavailable("The database is temporarily unavailable. Try again shortly", retry_after_s=2)
    return error if isinstance(error, errors.AppError) else errors.AppError()


def convert(error: Exception) -> errors.AppError:
    """Roll back, log a defect or a failure of the database, and return the error that the caller receives."""
    transactions.rollback()
    if isinstance(error, errors.AppError):
        app_error = error
    elif isinstance(error, HTTPException):
        app_error = _from_http(error)
    elif isinstance(error, ParseException | NoMoreData):
        app_error = errors.InvalidChunkedBody()
    else:
        if not isinstance(error, driver_errors.DriverError):
            _log(error)
        app_error = to_app_error(error)
    if app_error.status in _BUSY:
        app_error.headers.setdefault("Retry-After", "2")
    _release_frames(error)
    return app_error


def _release_frames(error: BaseException) -> None:
    """Delete the tracebacks of a handled error and its causes.

    Their frames refer to the body of the request, and to the error itself: such a cycle stays in memory until the next
    full garbage collection.
    """
    waiting: list[BaseException | None] = [error]
    while waiting:
        linked = waiting.pop()
        if linked is not None and linked.__traceback__ is not None:
            linked.__traceback__ = None
            waiting += [linked.__cause__, linked.__context__]


def from_driver(error: driver_errors.DriverError) -> errors.AppError:
    """Return the error for a failure of a driver (architecture, section 4)."""
    text = str(error) or None
    match error:
        case git.RepositoryDamaged():
            return errors.ServiceUnavailable(text, code=error.code, retry_after_s=DAMAGE_RETRY_S)
        case git.GitObjectMissing():
            return errors.NotFound(text)
        case git.TooLargeToRead():
            return errors.PayloadTooLarge(text)
        case git.BranchExists() | git.BranchMoved() | git.RepositoryExists() | git.PathConflict():
            return errors.Conflict(text)
        case port.PullRequestExists() | port.NotMergeable():
            return errors.Conflict(text)
        case driver_errors.UpstreamRejected():
            return errors.UnprocessableEntity(text, code=error.code)
        case driver_errors.ReconnectRequired():
            return errors.Conflict(text, code="NEEDS_RECONNECT")
        case driver_errors.UpstreamUnavailable():
            return errors.ServiceUnavailable(text, code=error.code, retry_after_s=error.retry_after_s)
        case driver_errors.UpstreamThrottled():
            return errors.ServiceUnavailable(text, code="UPSTREAM_THROTTLED", retry_after_s=error.retry_after_s)
        case driver_errors.UpstreamTimeout():
            return errors.GatewayTimeout(text)
        case _:
            return errors.BadGateway(text)


def _render(error: Exception) -> Response:
    return envelope.failure(request, convert(error))


def _http_error(error: HTTPException) -> Response:
    if error.response is not None or (error.code or 500) < 400:
        return Response(error.get_response().get_data(), error.code or 500, error.get_headers())
    return _render(error)


def _from_http(error: HTTPException) -> errors.AppError:
    status = error.code or 500
    code, message = _HTTP_ERRORS.get(status, (f"HTTP_{status}", error.description))
    app_error = errors.AppError(message, code=code)
    app_error.status = status
    if status == 405:
        app_error.headers["Allow"] = ", ".join(sorted(getattr(error, "valid_methods", None) or ()))
    if status in (429, 503):
        app_error.headers.setdefault("Retry-After", "1")
    return app_error


def _log(error: Exception) -> None:
    """Log a failure of the database or a defect. The clients of other systems log their own calls."""
    details = {"error": type(error).__name__, "cause": str(getattr(error, "orig", ""))[:200]}
    if is_vanished_row(error):
        log.info("database.row_vanished", **details)
    elif is_unique_violation(error):
        log.warning("database.unique_violation", **details)
    elif is_transient(error):
        log.warning("database.unavailable", **details)
    else:
        log.error("request.failed", exc_info=error, path=str(request.url_rule or request.path), method=request.method)


def _vanished_row() -> errors.AppError:
    """Return the error for a row that another request deleted: 401 if it was the account of the caller, else 404."""
    if has_request_context() and not authentication.is_authentication_valid():
        return authentication.not_authenticated()
    return errors.NotFound()
