"""Connections beside the pool."""

import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.core.database import Aside, engine_options, reading_engine


class TestAside:
    def test_no_more_than_its_number_are_open_at_once_and_all_get_their_turn(self, tmp_path: Path) -> None:
        aside = Aside(sa.make_url(f"sqlite:///{tmp_path}/x.db"), at_once=3)
        lock, open_now, most, done = threading.Lock(), [0], [0], []

        def use() -> None:
            with aside.reading() as connection:
                with lock:
                    open_now[0] += 1
                    most[0] = max(most[0], open_now[0])
                time.sleep(0.02)
                done.append(connection.scalar(sa.text("SELECT 1")))
                with lock:
                    open_now[0] -= 1

        threads = [threading.Thread(target=use) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert (done, most) == ([1] * 12, [3])

    def test_reading_goes_on_while_another_writes(self, tmp_path: Path) -> None:
        aside = Aside(sa.make_url(f"sqlite:///{tmp_path}/x.db"))
        with aside.writing() as writer:
            writer.execute(sa.text("CREATE TABLE t (n INTEGER)"))
        with aside.writing() as writer:
            writer.execute(sa.text("INSERT INTO t VALUES (1)"))
            with aside.reading() as reader:
                assert reader.scalar(sa.text("SELECT count(*) FROM t")) == 0
        with aside.reading() as reader:
            assert reader.scalar(sa.text("SELECT count(*) FROM t")) == 1


class TestPool:
    @pytest.mark.parametrize(("most", "kept", "beyond"), [(20, 10, 10), (6, 6, 0)])
    def test_no_more_connections_than_told_are_taken(self, most: int, kept: int, beyond: int) -> None:
        options = engine_options("postgresql+psycopg://h/d", most=most)
        assert (options["pool_size"], options["max_overflow"]) == (kept, beyond)


class TestErrors:
    def test_errors_of_statements_tell_no_values(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/x.db"
        writing = sa.create_engine(url, **engine_options(url))
        aside = Aside(sa.make_url(url))
        wrong = sa.text("INSERT INTO nowhere VALUES (:value)").bindparams(value="a secret value")
        for opened in (writing.begin(), aside.writing(), aside.reading(), reading_engine(url, writing).connect()):
            with pytest.raises(sa.exc.OperationalError) as told, opened as connection:
                connection.execute(wrong)
            assert "a secret value" not in str(told.value)
        writing.dispose()
