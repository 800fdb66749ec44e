"""Tests of targets as rows: read once with the session, and read again by every other resolution."""

import pytest
import sqlalchemy as sa

from app.access.caller import Caller, caller_of
from app.access.target_rows import organization_row
from app.core.errors import NotFound
from app.core.permissions import Role
from app.database.transactions import start_reading
from app.extensions import db
from app.models.organization import Membership
from tests.support import factories
from tests.support.assertions.statements import counted
from tests.support.world import Person, World

FIND = organization_row("org_id")


def find_caller(person: Person, org: str) -> Caller:
    caller = caller_of(person.token, FIND.with_session({"org_id": org}))
    assert caller is not None
    return caller


class TestRowTarget:
    def test_target_is_read_with_the_session(self, world: World) -> None:
        person = world.person()
        org = factories.organization(world, person)
        with world.app.app_context(), counted(world.app) as sent:
            start_reading()
            found = FIND(find_caller(person, org), {"org_id": org})
            assert (found["organization"].id, found["role"], len(sent)) == (org, Role.OWNER, 1)

    def test_second_resolution_reads_the_present_role(self, world: World) -> None:
        person = world.person()
        org = factories.organization(world, person)
        with world.app.app_context():
            caller = find_caller(person, org)
            db.session.execute(sa.delete(Membership).where(Membership.organization_id == org))
            db.session.commit()
            assert FIND(caller, {"org_id": org})["role"] is Role.OWNER
            assert FIND(caller, {"org_id": org})["role"] is None

    def test_another_target_is_read(self, world: World) -> None:
        person, stranger = world.person(), world.person()
        own, foreign = factories.organization(world, person), factories.organization(world, stranger)
        with world.app.app_context():
            found = FIND(find_caller(person, own), {"org_id": foreign})
            assert (found["organization"].id, found["role"]) == (foreign, None)

    @pytest.mark.parametrize("org", ["org_01h455vb4pex5vsknk084sn02q", "org_x", ""])
    def test_unknown_target_raises_not_found(self, world: World, org: str) -> None:
        person = world.person()
        with world.app.app_context():
            caller = find_caller(person, org)
            for _ in ("read with the session", "read again"):
                with pytest.raises(NotFound):
                    FIND(caller, {"org_id": org})

    def test_caller_of_an_unknown_token_is_none(self, world: World) -> None:
        org = factories.organization(world, world.person())
        with world.app.app_context():
            assert caller_of("x" * 43, FIND.with_session({"org_id": org})) is None
