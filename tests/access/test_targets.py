"""Tests of resolvers: an object that is read with the session, and read again by every other resolution."""

from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from app.access import targets
from app.access.caller import Caller, caller_of
from app.core.errors import NotFound
from app.core.permissions import Role
from app.database.transactions import start_reading
from app.extensions import db
from app.models.organization import Membership
from tests.support import factories
from tests.support.assertions.statements import counted
from tests.support.world import Person, World

ORGANIZATION, PROJECT = targets.organization("org_id"), targets.project("project_id")


class TestMemberResolver:
    def test_target_is_read_with_the_session(self, world: World) -> None:
        person = world.person()
        ids = {"org_id": factories.organization(world, person)}
        with world.app.app_context(), counted(world.app) as sent:
            start_reading()
            scope = ORGANIZATION.of_joined(*_arguments(person, ORGANIZATION, ids))
            assert (scope.organization.id, scope.role, len(sent)) == (ids["org_id"], Role.OWNER, 1)

    def test_both_statements_return_equal_objects(self, world: World) -> None:
        person = world.person()
        org = factories.organization(world, person)
        ids = {"project_id": factories.project(world, person, org, "Site")}
        with world.app.app_context():
            start_reading()
            caller, ids, values = _arguments(person, PROJECT, ids)
            first = _values(PROJECT.of_joined(caller, ids, values))
            db.session.expunge_all()
            assert _values(PROJECT.find(caller, ids)) == first

    def test_second_resolution_reads_the_present_role(self, world: World) -> None:
        person = world.person()
        ids = {"org_id": factories.organization(world, person)}
        with world.app.app_context():
            caller, ids, values = _arguments(person, ORGANIZATION, ids)
            db.session.execute(sa.delete(Membership).where(Membership.organization_id == ids["org_id"]))
            db.session.commit()
            assert ORGANIZATION.of_joined(caller, ids, values).role is Role.OWNER
            assert ORGANIZATION.find(caller, ids).role is None

    def test_object_of_another_organization_has_no_role(self, world: World) -> None:
        person = world.person()
        ids = {"org_id": factories.organization(world, world.person())}
        with world.app.app_context():
            scope = ORGANIZATION.of_joined(*_arguments(person, ORGANIZATION, ids))
            assert (scope.organization.id, scope.role) == (ids["org_id"], None)

    def test_unknown_object_raises_not_found(self, world: World) -> None:
        person, ids = world.person(), {"org_id": "org_01h455vb4pex5vsknk084sn02q"}
        with world.app.app_context():
            caller, ids, values = _arguments(person, ORGANIZATION, ids)
            with pytest.raises(NotFound):
                ORGANIZATION.of_joined(caller, ids, values)
            with pytest.raises(NotFound):
                ORGANIZATION.find(caller, ids)

    @pytest.mark.parametrize("org", ["org_x", ""])
    def test_malformed_id_raises_not_found_without_a_statement(self, world: World, org: str) -> None:
        with world.app.app_context(), counted(world.app) as sent:
            assert ORGANIZATION.with_session({"org_id": org}) is None
            with pytest.raises(NotFound):
                ORGANIZATION.find(None, {"org_id": org})
            assert not sent


def _arguments(
    person: Person, find: targets.MemberResolver[Any], ids: dict[str, str]
) -> tuple[Caller, dict[str, str], Sequence[Any]]:
    caller, values = caller_of(person.token, find.with_session(ids))
    assert caller is not None
    assert values is not None
    return caller, ids, values


def _values(scope: Any) -> list[dict[str, Any]]:
    return [
        {column.name: getattr(item, column.name) for column in item.__table__.columns}
        for item in (scope.project, scope.organization, scope.index)
        if item is not None
    ]
