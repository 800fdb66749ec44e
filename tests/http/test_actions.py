"""Actions that run without a URL: their guard, their transaction, and the record of an effect outside."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import FunctionType
from typing import Any

import pytest
import sqlalchemy as sa

from app.access.guards import permission
from app.access.scope import OrganizationScope
from app.core.errors import Archived, NotFound, PermissionDenied, PreconditionFailed
from app.core.outbound import LateRecord, OutsideResource, UnrecordedAct
from app.core.permissions import Permission, Role
from app.database import transactions
from app.database.transactions import TransactionState, transaction_state
from app.extensions import db
from app.http.actions import DeclaredAction, run
from app.http.endpoint import find_endpoint
from app.models.organization import ArchiveStatus, Organization
from tests.access.test_authentication import headers
from tests.support import factories
from tests.support.world import Person, World

GUARD = permission(Permission.MANAGE_PROJECTS)


def rename(scope: OrganizationScope, name: str = "Renamed") -> TransactionState:
    """Change the name of the organization and return the state in which it happens."""
    scope.organization.name = name
    return transaction_state()


def run_as(person: Person, org_id: str, view: Callable[..., Any], **more: Any) -> Any:
    with person.app.test_request_context(method="POST", headers=headers(person.token)):
        transactions.start_reading()
        return run(view, {"org_id": org_id}, guard=GUARD, **more)


def name_of(world: World, org_id: str) -> str | None:
    with world.app.app_context():
        return db.session.scalar(sa.select(Organization.name).where(Organization.id == org_id))


class Built(OutsideResource):
    """A resource that notes the state in which it is discarded."""

    def __init__(self) -> None:
        self.discarded: list[TransactionState] = []

    def discard(self) -> None:
        self.discarded.append(transaction_state())


class TestRun:
    def test_action_runs_in_a_transaction_that_is_committed(self, world: World) -> None:
        owner = world.person()
        org_id = factories.organization(world, owner)
        assert run_as(owner, org_id, rename) is TransactionState.WRITING
        assert name_of(world, org_id) == "Renamed"

    def test_caller_without_the_permission_is_refused(self, world: World) -> None:
        owner, editor, stranger = world.person(), world.person(), world.person()
        org_id = factories.organization(world, owner, (editor, Role.EDITOR))
        for person in (editor, stranger):
            with pytest.raises(PermissionDenied):
                run_as(person, org_id, rename)
        with pytest.raises(NotFound):
            run_as(owner, "org_unknown", rename)
        assert name_of(world, org_id) != "Renamed"

    def test_archived_target_is_refused(self, world: World) -> None:
        owner = world.person()
        org_id = factories.organization(world, owner)
        with world.app.app_context():
            db.session.get_one(Organization, org_id).status = ArchiveStatus.ARCHIVED
            db.session.commit()
        with pytest.raises(Archived):
            run_as(owner, org_id, rename)

    def test_declared_action_refuses_another_version_of_its_target(self, world: World) -> None:
        owner = world.person()
        org_id = factories.organization(world, owner)
        declared = DeclaredAction(guard=GUARD, etag_of="organization.details")
        for tag, is_present in (('"another"', False), (owner.get(f"/organization/{org_id}").headers["ETag"], True)):
            sent = {**headers(owner.token), "If-Match": tag}
            with owner.app.test_request_context(method="POST", headers=sent):
                transactions.start_reading()
                with nullcontext() if is_present else pytest.raises(PreconditionFailed):
                    run(rename, {"org_id": org_id}, declared)
            assert (name_of(world, org_id) == "Renamed") is is_present

    def test_error_of_the_action_rolls_its_transaction_back(self, world: World) -> None:
        owner = world.person()
        org_id = factories.organization(world, owner)

        def fail(scope: OrganizationScope) -> None:
            rename(scope)
            db.session.flush()
            raise NotFound

        with pytest.raises(NotFound):
            run_as(owner, org_id, fail)
        assert name_of(world, org_id) != "Renamed"

    def test_outside_action_runs_without_a_connection_and_is_recorded_in_a_transaction(self, world: World) -> None:
        owner = world.person()
        org_id = factories.organization(world, owner)
        states = []

        def call(scope: OrganizationScope) -> UnrecordedAct[TransactionState]:
            states.append(transaction_state())
            return UnrecordedAct(lambda: rename(scope, "From outside"))

        assert run_as(owner, org_id, call, outside=True) is TransactionState.WRITING
        assert states == [TransactionState.IDLE]
        assert name_of(world, org_id) == "From outside"

    def test_unrecorded_effect_returns_the_result_of_its_late_record(self, world: World) -> None:
        owner = world.person()
        org_id = factories.organization(world, owner)

        def fail() -> str:
            raise RuntimeError("the transaction fails")

        act = UnrecordedAct(fail, LateRecord("Done late"))
        assert run_as(owner, org_id, lambda scope: act, outside=True) == "Done late"

    @pytest.mark.parametrize(
        "error",
        [
            sa.exc.IntegrityError("INSERT", {}, Exception("UNIQUE constraint failed: users.email")),
            sa.exc.IntegrityError("INSERT", {}, Exception("FOREIGN KEY constraint failed")),
            sa.exc.NoResultFound(),
        ],
    )
    def test_row_that_another_request_changed_does_not_deny_an_effect(self, world: World, error: Exception) -> None:
        owner = world.person()
        org_id = factories.organization(world, owner)

        def fail() -> str:
            raise error

        act = UnrecordedAct(fail, LateRecord("Done late"))
        assert run_as(owner, org_id, lambda scope: act, outside=True) == "Done late"

    def test_resource_of_a_refused_transaction_is_discarded(self, world: World) -> None:
        owner = world.person()
        org_id, built = factories.organization(world, owner), Built()

        def refuse() -> None:
            raise NotFound

        with pytest.raises(NotFound):
            run_as(owner, org_id, lambda scope: UnrecordedAct(refuse, resource=built), outside=True)
        assert built.discarded == [TransactionState.IDLE]

    def test_resource_of_a_commit_with_an_unknown_outcome_stays(self, world: World) -> None:
        owner = world.person()
        org_id, built = factories.organization(world, owner), Built()

        def record() -> None:
            @sa.event.listens_for(db.session.connection(), "commit", once=True)
            def fail(_: object) -> None:
                raise RuntimeError("the answer of the database is lost")

        with pytest.raises(RuntimeError):
            run_as(owner, org_id, lambda scope: UnrecordedAct(record, resource=built), outside=True)
        assert built.discarded == []


def test_each_endpoint_has_a_url(world: World) -> None:
    """An action without a URL is a function that `run` receives."""
    served = {id(find_endpoint(view)) for view in world.app.view_functions.values()}
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("app.")]
    declared = {
        f"{module.__name__}.{name}": endpoint
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and (endpoint := find_endpoint(value)) is not None
    }
    assert len(declared) > 300
    assert [name for name, endpoint in declared.items() if id(endpoint) not in served] == []
