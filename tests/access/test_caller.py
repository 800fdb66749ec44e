"""Tests of the caller of a request."""

import pytest
import sqlalchemy as sa

from app.access.caller import Caller, caller_of
from app.access.scope import Scope
from app.database import transactions as transactions
from app.extensions import db
from app.models.user import User
from tests.support.assertions.statements import counted
from tests.support.world import World


def find_caller(token: str) -> Caller:
    caller, _ = caller_of(token)
    assert caller is not None
    return caller


class TestCaller:
    def test_caller_and_its_session_are_read_with_one_statement(self, world: World) -> None:
        token = world.person().token
        with world.app.app_context(), counted(world.app) as sent:
            transactions.start_reading()
            caller = find_caller(token)
            assert caller.session.user_id == caller.id
            assert len(sent) == 1
            assert not db.session.registry.has()

    def test_change_of_the_user_object_is_written(self, world: World) -> None:
        token = world.person().token
        with world.app.app_context():
            scope = Scope(optional_caller=find_caller(token))
            transactions.begin_write()
            scope.user.name = "Somebody else"
            db.session.commit()
            assert find_caller(token).name == "Somebody else"

    def test_user_object_of_a_deleted_account_raises_no_result_found(self, world: World) -> None:
        token = world.person().token
        with world.app.app_context():
            scope = Scope(optional_caller=find_caller(token))
            db.session.delete(scope.user)
            db.session.commit()
            with pytest.raises(sa.exc.NoResultFound):
                _ = scope.user

    def test_unknown_token_has_no_caller(self, world: World) -> None:
        with world.app.app_context():
            assert caller_of("x" * 43) == (None, None)


class TestReading:
    def test_reading_state_ends_with_the_database_session(self, world: World) -> None:
        with world.app.app_context():
            transactions.start_reading()
            assert transactions.is_reading()
            db.session()
            assert transactions.is_reading()
            db.session.remove()
            assert not transactions.is_reading()

    def test_flush_while_reading_raises(self, world: World) -> None:
        token = world.person().token
        with world.app.app_context():
            transactions.start_reading()
            Scope(optional_caller=find_caller(token)).user.name = "Somebody else"
            with pytest.raises(RuntimeError, match="state READING"):
                db.session.flush()

    def test_transaction_reads_the_user_again(self, world: World) -> None:
        token = world.person().token
        with world.app.app_context():
            transactions.start_reading()
            scope = Scope(optional_caller=find_caller(token))
            assert scope.user.name != "Changed"
            with db.engine.begin() as connection:
                connection.execute(sa.update(User).where(User.id == scope.caller.id).values(name="Changed"))
            transactions.begin_write()
            assert scope.user.name == "Changed"
            db.session.rollback()
