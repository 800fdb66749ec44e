"""Tests of the response timeouts of PostgreSQL, behind a proxy that stalls."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from app.backup import connections
from app.database.engines import disable_timeouts, prepare_engine
from app.database.postgres_timeouts import TimeoutConnection
from tests.support.databases import postgresql_database
from tests.support.doubles.fault_proxy import FaultProxy, Mode


class ShortTimeoutConnection(TimeoutConnection):
    response_timeout_s = 0.3


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    with postgresql_database() as url:
        parts = psycopg.conninfo.conninfo_to_dict(url.replace("+psycopg", ""))
        with FaultProxy(int(str(parts["port"]))) as fault_proxy:
            fault_proxy.database = str(parts["dbname"])  # type: ignore[attr-defined]
            yield fault_proxy


def connect(proxy: FaultProxy) -> psycopg.Connection[object]:
    name = proxy.database  # type: ignore[attr-defined]
    return ShortTimeoutConnection.connect(
        host="127.0.0.1", port=proxy.port, user="postgres", dbname=name, connect_timeout=10
    )


class TestResponseTimeout:
    def test_timeout_restarts_with_every_statement(self, proxy: FaultProxy) -> None:
        with connect(proxy) as connection:
            for _ in range(3):
                connection.execute("SELECT pg_sleep(0.1)")

    @pytest.mark.parametrize("mode", [Mode.STALL, Mode.BLACKHOLE])
    def test_silent_server_raises_and_closes_the_connection(self, proxy: FaultProxy, mode: Mode) -> None:
        connection = connect(proxy)
        connection.execute("SELECT 1")
        proxy.fail(mode)
        with pytest.raises(psycopg.OperationalError, match="did not respond in time"):
            connection.execute("SELECT 1")
        assert connection.closed


class TestDisabledTimeouts:
    """Timeouts of work that takes longer than a request, such as an index of a large table or a restore."""

    @pytest.fixture(autouse=True)
    def short_timeout(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(TimeoutConnection, "response_timeout_s", 0.3)

    def test_connection_without_timeouts_waits_for_long_statements(self) -> None:
        with postgresql_database() as url:
            engine = sa.create_engine(url, poolclass=sa.NullPool)
            prepare_engine(engine)
            with (
                engine.connect() as connection,
                pytest.raises(sa.exc.OperationalError, match="did not respond in time"),
            ):
                connection.execute(sa.text("SELECT pg_sleep(1)"))
            with engine.connect() as connection:
                disable_timeouts(connection)
                connection.execute(sa.text("SELECT pg_sleep(1)"))
                assert connection.scalar(sa.text("SHOW statement_timeout")) == "0"

    @pytest.mark.parametrize("kind", [connections.reading, connections.writing, connections.write_deferred])
    def test_connection_of_a_backup_waits_for_long_statements(self, kind: Any) -> None:
        with postgresql_database() as url, kind(sa.make_url(url)) as connection:
            assert connection.scalar(sa.text("SELECT 1 FROM pg_sleep(1)")) == 1
