"""Tests of the states of `db.session`, and the check before outbound calls."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask
from structlog.testing import capture_logs

from app.concurrency.threadpool import is_patched
from app.core import outbound
from app.core.ids import new_id
from app.database import transactions
from app.database.transactions import TransactionState, transaction_state
from app.drivers.git.local.processes import CatFiles, ProcessPool
from app.extensions import db
from app.models.request import RateEvent
from tests.support.samples.gitrepo import GitRepo

SIGN_INS = 6


@pytest.fixture
def context(app: Flask) -> Iterator[None]:
    with app.app_context():
        yield
        db.session.rollback()


def read() -> None:
    db.session.execute(sa.text("SELECT 1"))


def row(row_id: str) -> RateEvent:
    return RateEvent(id=row_id, name="other", key="a")


def add_row() -> None:
    db.session.add(row(new_id("rte")))
    db.session.flush()


def rows() -> int:
    return db.session.scalar(sa.select(sa.func.count()).select_from(RateEvent)) or 0


@pytest.mark.usefixtures("context")
class TestStates:
    def test_state_before_the_first_statement_is_idle(self) -> None:
        assert transaction_state() is TransactionState.IDLE

    def test_query_enters_reading_and_release_connection_returns_to_idle(self) -> None:
        transactions.start_reading()
        read()
        assert transaction_state() is TransactionState.READING
        transactions.release_connection()
        assert transaction_state() is TransactionState.IDLE

    @pytest.mark.parametrize("end", [transactions.commit, transactions.rollback])
    def test_after_begin_write_and_its_end_the_next_statement_reads(self, end: Callable[[], None]) -> None:
        transactions.begin_write()
        assert transaction_state() is TransactionState.WRITING
        end()
        assert transaction_state() is TransactionState.IDLE
        read()
        assert transaction_state() is TransactionState.READING

    def test_reading_context_starts_in_reading(self, app: Flask) -> None:
        with transactions.reading_context(app):
            read()
            assert transaction_state() is TransactionState.READING

    def test_flush_in_reading_raises(self) -> None:
        transactions.start_reading()
        with pytest.raises(RuntimeError, match="state READING"):
            add_row()

    def test_changing_statement_in_reading_raises(self) -> None:
        transactions.start_reading()
        with pytest.raises(RuntimeError, match="state READING"):
            db.session.execute(sa.delete(RateEvent))

    def test_assignment_of_the_same_value_in_reading_is_accepted(self) -> None:
        with transactions.write_transaction():
            add_row()
        loaded = db.session.scalars(sa.select(RateEvent)).first()
        assert loaded is not None
        loaded.name = str(loaded.name)
        db.session.flush()
        assert transaction_state() is TransactionState.READING

    def test_start_reading_in_a_transaction_raises(self) -> None:
        with transactions.write_transaction(), pytest.raises(RuntimeError, match="is open"):
            transactions.start_reading()

    def test_release_connection_in_a_transaction_raises(self) -> None:
        with transactions.write_transaction(), pytest.raises(RuntimeError, match="is open"):
            transactions.release_connection()


@pytest.mark.usefixtures("context")
class TestWriteTransaction:
    def test_rows_are_committed_and_the_next_statement_reads(self) -> None:
        before = rows()
        with transactions.write_transaction():
            assert transaction_state() is TransactionState.WRITING
            add_row()
        assert transaction_state() is TransactionState.IDLE
        assert rows() == before + 1
        assert transaction_state() is TransactionState.READING

    def test_failure_undoes_the_rows_and_the_next_statement_reads(self) -> None:
        before = rows()
        with pytest.raises(sa.exc.IntegrityError), transactions.write_transaction():
            db.session.add_all([row("a"), row("a")])
        assert transaction_state() is TransactionState.IDLE
        assert rows() == before
        assert transaction_state() is TransactionState.READING

    def test_transaction_that_cannot_begin_leaves_the_state_reading(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise sa.exc.TimeoutError

        with monkeypatch.context() as patch:
            patch.setattr(db.engine.pool, "connect", fail)
            with pytest.raises(sa.exc.TimeoutError), transactions.write_transaction():
                pass
        assert transactions.is_reading()
        assert not transactions.in_write_transaction()

    def test_nested_transaction_raises(self) -> None:
        with (
            transactions.write_transaction(),
            pytest.raises(RuntimeError, match="nested"),
            transactions.write_transaction(),
        ):
            pass


@pytest.mark.one_database
class TestBackgroundWrites:
    def test_request_is_not_starved_by_long_transactions_in_a_row(self, app: Flask) -> None:
        with app.app_context():
            if db.engine.dialect.name != "sqlite":
                pytest.skip("PostgreSQL locks rows")
        if is_patched():
            pytest.skip("Long transactions run in the worker, which has no green threads")
        stop, holds, refused = threading.Event(), threading.Event(), 0

        def index() -> None:
            with transactions.reading_context(app):
                while not stop.is_set():
                    with transactions.write_transaction():
                        holds.set()
                        time.sleep(0.3)

        thread = threading.Thread(target=index)
        thread.start()
        try:
            for _ in range(SIGN_INS):
                holds.clear()
                assert holds.wait(60)
                try:
                    with app.app_context(), transactions.write_transaction():
                        add_row()
                except sa.exc.OperationalError:
                    refused += 1
        finally:
            stop.set()
            thread.join(60)
        # A busy machine can miss the pauses of one request. Without pauses most requests are refused.
        assert refused <= SIGN_INS // 2


@pytest.mark.usefixtures("context")
class TestLockedRow:
    def test_row_is_read_again_and_its_change_is_committed(self) -> None:
        with transactions.write_transaction():
            add_row()
        loaded = db.session.scalars(sa.select(RateEvent)).first()
        assert loaded is not None
        with transactions.locked_row(RateEvent, loaded.id) as current:
            assert current is loaded
            current.key = "b"
        assert transactions.is_reading()
        assert db.session.scalar(sa.select(RateEvent.key).where(RateEvent.id == loaded.id)) == "b"

    def test_missing_row_is_none(self) -> None:
        with transactions.locked_row(RateEvent, "rte_0") as current:
            assert current is None


@pytest.mark.usefixtures("context")
class TestOutsideTransaction:
    def test_block_has_no_connection_and_the_next_statement_reads(self) -> None:
        transactions.start_reading()
        read()
        with transactions.outside_transaction():
            assert transaction_state() is TransactionState.IDLE
            outbound.before_call("http")
        read()
        assert transaction_state() is TransactionState.READING

    def test_failure_returns_to_reading(self) -> None:
        read()
        with pytest.raises(KeyError), transactions.outside_transaction():
            raise KeyError
        read()
        assert transaction_state() is TransactionState.READING

    def test_block_in_a_write_transaction_is_refused_and_the_transaction_continues(self) -> None:
        before = rows()
        with transactions.write_transaction():
            add_row()
            with pytest.raises(RuntimeError, match="is open"), transactions.outside_transaction():
                pass
            assert transaction_state() is TransactionState.WRITING
        assert rows() == before + 1

    def test_block_in_a_block_keeps_both_without_a_connection(self) -> None:
        transactions.start_reading()
        with transactions.outside_transaction():
            with transactions.outside_transaction():
                outbound.before_call("http")
            outbound.before_call("http")
        assert transactions.is_reading()

    def test_block_with_a_write_transaction_has_no_connection_after_it(self) -> None:
        before = rows()
        with transactions.outside_transaction():
            with transactions.write_transaction():
                add_row()
            outbound.before_call("http")
        assert rows() == before + 1

    def test_block_with_an_unfinished_transaction_raises(self) -> None:
        with pytest.raises(RuntimeError, match="is open"), transactions.outside_transaction():
            transactions.begin_write()

    def test_block_before_the_first_statement_creates_no_session(self) -> None:
        with transactions.outside_transaction():
            pass
        assert not db.session.registry.has()
        assert transactions.is_reading()

    def test_loaded_objects_stay_loaded(self) -> None:
        with transactions.write_transaction():
            add_row()
        loaded = db.session.scalar(sa.select(RateEvent).where(RateEvent.name == "other").limit(1))
        with transactions.outside_transaction():
            assert loaded is not None
            assert loaded.name == "other"
            assert transaction_state() is TransactionState.IDLE


@pytest.mark.usefixtures("context")
class TestOutboundCheck:
    def test_call_in_idle_passes(self) -> None:
        outbound.before_call("http")

    @pytest.mark.parametrize("begin", [transactions.start_reading, transactions.begin_write])
    def test_call_with_a_connection_raises(self, begin: Callable[[], None]) -> None:
        begin()
        read()
        with pytest.raises(RuntimeError, match="during a call of the client 'http'"):
            outbound.before_call("http")

    def test_second_use_of_a_git_process_with_a_connection_raises(self, tmp_path: Path) -> None:
        repo = GitRepo(tmp_path / "r.git", {"a.md": b"a\n"})
        pool = ProcessPool(timeout_s=10)
        sha = next(iter(repo.entries().values()))[2]
        assert CatFiles(pool).one(repo.folder, sha, max_bytes=10)[1] == b"a\n"
        read()
        with pytest.raises(RuntimeError, match="during a call of the client 'git'"):
            CatFiles(pool).one(repo.folder, sha, max_bytes=10)
        pool.close()

    def test_call_with_a_connection_in_production_is_logged(self, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(app.config, "SETTINGS", replace(app.config["SETTINGS"], env="production"))
        read()
        with capture_logs() as lines:
            outbound.before_call("http")
        assert [(line["event"], line["client"]) for line in lines] == [("database.held_during_call", "http")]
