"""Tests of rows of plain values."""

from datetime import datetime

import sqlalchemy as sa

from app.database import plain_rows
from app.database import transactions as transactions
from app.extensions import db
from app.models.project import Project
from app.models.user import User
from tests.support.world import World

NAMES = sa.select(User.name).where(User.id == sa.bindparam("user_id"))


class TestRead:
    def test_read_of_a_reading_request_creates_no_database_session(self, world: World) -> None:
        person = world.person()
        with world.app.app_context():
            transactions.start_reading()
            assert len(plain_rows.read(NAMES, {"user_id": person.id})) == 1
            assert not db.session.registry.has()

    def test_read_in_a_transaction_sees_its_changes(self, world: World) -> None:
        person = world.person()
        with world.app.app_context():
            transactions.begin_write()
            db.session.get_one(User, person.id).name = "Changed"
            db.session.flush()
            assert plain_rows.read(NAMES, {"user_id": person.id}) == [("Changed",)]
            db.session.rollback()


class TestPlain:
    def test_plain_columns_keep_their_names(self) -> None:
        columns = [plain_rows.plain(column) for column in Project.__table__.columns]
        assert [column.name for column in columns] == list(Project.__table__.columns.keys())

    def test_plain_time_is_read_as_the_database_stores_it(self, world: World) -> None:
        person = world.person()
        with world.app.app_context():
            transactions.start_reading()
            statement = sa.select(plain_rows.plain(User.__table__.c.created_at), plain_rows.plain(User.id, "name"))
            ((created_at, name),) = plain_rows.read(statement.where(User.id == person.id), {})
        assert isinstance(created_at, datetime)
        assert name == person.id
