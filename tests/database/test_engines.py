"""Tests of engines and side connections."""

import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.database.engines import SideConnections, engine_options, reading_engine


class TestSideConnections:
    def test_open_connections_are_limited_and_all_threads_finish(self, tmp_path: Path) -> None:
        side = SideConnections(sa.make_url(f"sqlite:///{tmp_path}/x.db"), max_connections=3)
        lock, open_count, peak, done = threading.Lock(), [0], [0], []

        def use() -> None:
            with side.read() as connection:
                with lock:
                    open_count[0] += 1
                    peak[0] = max(peak[0], open_count[0])
                time.sleep(0.02)
                done.append(connection.scalar(sa.text("SELECT 1")))
                with lock:
                    open_count[0] -= 1

        threads = [threading.Thread(target=use) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert (done, peak) == ([1] * 12, [3])

    def test_read_continues_during_a_write(self, tmp_path: Path) -> None:
        side = SideConnections(sa.make_url(f"sqlite:///{tmp_path}/x.db"))
        with side.write() as writer:
            writer.execute(sa.text("CREATE TABLE t (n INTEGER)"))
        with side.write() as writer:
            writer.execute(sa.text("INSERT INTO t VALUES (1)"))
            with side.read() as reader:
                assert reader.scalar(sa.text("SELECT count(*) FROM t")) == 0
        with side.read() as reader:
            assert reader.scalar(sa.text("SELECT count(*) FROM t")) == 1


class TestPool:
    @pytest.mark.parametrize(("pool_max", "pool_size", "max_overflow"), [(20, 10, 10), (10, 10, 0), (6, 6, 0)])
    def test_engine_options_limit_the_connections(self, pool_max: int, pool_size: int, max_overflow: int) -> None:
        options = engine_options("postgresql+psycopg://h/d", pool_max=pool_max)
        assert (options["pool_size"], options["max_overflow"]) == (pool_size, max_overflow)


class TestErrors:
    def test_statement_error_contains_no_values(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/x.db"
        writing = sa.create_engine(url, **engine_options(url))
        side = SideConnections(sa.make_url(url))
        wrong = sa.text("INSERT INTO nowhere VALUES (:value)").bindparams(value="a secret value")
        for opened in (writing.begin(), side.write(), side.read(), reading_engine(url, writing).connect()):
            with pytest.raises(sa.exc.OperationalError) as raised, opened as connection:
                connection.execute(wrong)
            assert "a secret value" not in str(raised.value)
        writing.dispose()
