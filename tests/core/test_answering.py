"""PostgreSQL behind a proxy that stalls."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from app.backup import snapshot
from app.core.answering import Impatient
from app.core.database import prepare_engine, take_time
from tests.conftest import postgresql_database
from tests.doubles.fault_proxy import FaultProxy, Mode


class InAHurry(Impatient):
    answer_s = 0.3


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    with postgresql_database() as url:
        parts = psycopg.conninfo.conninfo_to_dict(url.replace("+psycopg", ""))
        with FaultProxy(int(str(parts["port"]))) as made:
            made.database = str(parts["dbname"])  # type: ignore[attr-defined]
            yield made


def connect(proxy: FaultProxy) -> psycopg.Connection[object]:
    name = proxy.database  # type: ignore[attr-defined]
    return InAHurry.connect(host="127.0.0.1", port=proxy.port, user="postgres", dbname=name, connect_timeout=10)


class TestSilence:
    def test_a_server_that_answers_is_waited_for_by_statement(self, proxy: FaultProxy) -> None:
        with connect(proxy) as connection:
            for _ in range(3):
                connection.execute("SELECT pg_sleep(0.1)")

    @pytest.mark.parametrize("mode", [Mode.STALL, Mode.BLACKHOLE])
    def test_a_silent_one_is_given_up_and_its_connection_closed(self, proxy: FaultProxy, mode: Mode) -> None:
        connection = connect(proxy)
        connection.execute("SELECT 1")
        proxy.fail(mode)
        with pytest.raises(psycopg.OperationalError, match="does not answer"):
            connection.execute("SELECT 1")
        assert connection.closed


class TestLongWork:
    """An index of a large table, or a restore, takes longer than anybody waits for a request."""

    @pytest.fixture(autouse=True)
    def hurry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Impatient, "answer_s", 0.3)

    def test_is_waited_for_where_the_connection_takes_its_time(self) -> None:
        with postgresql_database() as url:
            engine = sa.create_engine(url, poolclass=sa.NullPool)
            prepare_engine(engine)
            with engine.connect() as connection, pytest.raises(sa.exc.OperationalError, match="does not answer"):
                connection.execute(sa.text("SELECT pg_sleep(1)"))
            with engine.connect() as connection:
                take_time(connection)
                connection.execute(sa.text("SELECT pg_sleep(1)"))
                assert connection.scalar(sa.text("SHOW statement_timeout")) == "0"

    @pytest.mark.parametrize("kind", [snapshot.reading, snapshot.writing, snapshot.filling])
    def test_of_a_backup_or_a_restore_is_waited_for(self, kind: Any) -> None:
        with postgresql_database() as url, kind(sa.make_url(url)) as connection:
            assert connection.scalar(sa.text("SELECT 1 FROM pg_sleep(1)")) == 1
