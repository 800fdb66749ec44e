"""Tests of error responses: temporary failures receive 503 with Retry-After, defects receive 500."""

import psycopg
import pytest
import sqlalchemy as sa
from flask import Flask
from gunicorn.http.errors import InvalidChunkSize, LimitRequestHeaders, NoMoreData

from app.core import errors


def failed(app: Flask, error: Exception) -> tuple[int, str | None]:
    with app.test_request_context("/api/v1/user/x"):
        answer = app.handle_user_exception(error)
        assert not isinstance(answer, str)
        return answer.status_code, answer.headers.get("Retry-After")  # type: ignore[union-attr]


def raised(kind: type[sa.exc.DBAPIError], original: type[psycopg.Error]) -> sa.exc.DBAPIError:
    return kind("SELECT 1", {}, original("no"))


class TestDatabase:
    @pytest.mark.parametrize(
        "error",
        [
            raised(sa.exc.InternalError, psycopg.errors.ReadOnlySqlTransaction),
            raised(sa.exc.InternalError, psycopg.errors.IdleInTransactionSessionTimeout),
            raised(sa.exc.OperationalError, psycopg.errors.DiskFull),
            raised(sa.exc.OperationalError, psycopg.errors.AdminShutdown),
            sa.exc.TimeoutError("the pool is used up"),
        ],
        ids=lambda error: type(getattr(error, "orig", error)).__name__,
    )
    def test_temporary_database_error_receives_503(self, app: Flask, error: Exception) -> None:
        assert failed(app, error) == (503, "2")

    def test_invalid_statement_receives_500(self, app: Flask) -> None:
        assert failed(app, raised(sa.exc.ProgrammingError, psycopg.errors.UndefinedTable)) == (500, None)


@pytest.mark.one_database
class TestBodies:
    @pytest.mark.parametrize("error", [InvalidChunkSize(b"zz"), LimitRequestHeaders("trailers"), NoMoreData()])
    def test_invalid_chunks_receive_400(self, app: Flask, error: Exception) -> None:
        assert failed(app, error) == (400, None)


@pytest.mark.one_database
class TestUpstreams:
    @pytest.mark.parametrize("error", [errors.BadGateway(), errors.GatewayTimeout(), errors.ServiceUnavailable()])
    def test_throttled_or_unavailable_upstream_has_retry_after(self, app: Flask, error: errors.AppError) -> None:
        status, retry_after = failed(app, error)
        assert status == error.status
        assert retry_after is not None


def raise_with_cause() -> None:
    try:
        [].pop()
    except IndexError as error:
        raise errors.NotFound from error


@pytest.mark.one_database
def test_handled_error_and_its_cause_release_their_frames(app: Flask) -> None:
    """Frames refer to the body of the request, and a cycle with the error would keep it in memory."""
    with pytest.raises(errors.NotFound) as caught:
        raise_with_cause()
    assert caught.value.__cause__ is not None
    assert failed(app, caught.value) == (404, None)
    assert (caught.value.__traceback__, caught.value.__cause__.__traceback__) == (None, None)
