"""Tests of the states of the database session, and the check before outbound calls."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa
from flask import Flask
from structlog.testing import capture_logs

from app.core import outbound
from app.database import transactions
from app.database.transactions import SessionState, require_state, session_state
from app.extensions import db
from app.models.user import User
from tests.support.world import World


@pytest.fixture
def context(app: Flask) -> Iterator[None]:
    with app.app_context():
        yield
        db.session.rollback()


def read() -> None:
    db.session.execute(sa.text("SELECT 1"))


@pytest.mark.usefixtures("context")
class TestStates:
    def test_session_starts_idle(self) -> None:
        assert session_state() is SessionState.IDLE

    def test_query_enters_reading_and_release_connection_returns_to_idle(self) -> None:
        transactions.start_reading()
        read()
        assert session_state() is SessionState.READING
        transactions.release_connection()
        assert session_state() is SessionState.IDLE

    @pytest.mark.parametrize("end", [transactions.commit, transactions.rollback])
    def test_begin_write_enters_writing_and_its_end_returns_to_idle(self, end: Callable[[], None]) -> None:
        transactions.begin_write()
        assert session_state() is SessionState.WRITING
        end()
        assert session_state() is SessionState.IDLE

    def test_write_transaction_returns_to_idle(self) -> None:
        with transactions.write_transaction():
            assert session_state() is SessionState.WRITING
        assert session_state() is SessionState.IDLE

    def test_nested_transaction_raises(self) -> None:
        with (
            transactions.write_transaction(),
            pytest.raises(RuntimeError, match="nested"),
            transactions.write_transaction(),
        ):
            pass

    def test_release_connection_in_a_transaction_raises(self) -> None:
        with transactions.write_transaction(), pytest.raises(RuntimeError, match="commit"):
            transactions.release_connection()

    def test_require_state_in_another_state_raises(self) -> None:
        require_state(SessionState.IDLE, SessionState.READING)
        with pytest.raises(RuntimeError, match="idle"):
            require_state(SessionState.WRITING)


@pytest.mark.usefixtures("context")
class TestFlush:
    def test_new_object_in_reading_is_refused(self) -> None:
        transactions.start_reading()
        db.session.add(User(email="reading@example.org", name="Reading"))
        with pytest.raises(RuntimeError, match="state READING"):
            db.session.flush()

    def test_assignment_of_the_same_value_in_reading_is_accepted(self, world: World) -> None:
        person = world.person()
        transactions.start_reading()
        user = db.session.get_one(User, person.id)
        user.email = str(user.email)
        db.session.flush()


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

    def test_call_with_a_connection_in_production_is_logged(self, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(app.config, "SETTINGS", replace(app.config["SETTINGS"], env="production"))
        read()
        with capture_logs() as lines:
            outbound.before_call("http")
        assert [(line["event"], line["client"]) for line in lines] == [("session.held_during_call", "http")]
