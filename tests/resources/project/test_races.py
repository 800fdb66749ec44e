"""Tests of projects under parallel requests."""

from functools import partial
from typing import Any

import pytest

from app.core.permissions import Role
from tests.support.factories import organization, project, repository
from tests.support.parallel import THREADS, patiently, statuses, together
from tests.support.samples.sites import SMALL
from tests.support.workspace import Workspace
from tests.support.world import Person, World

pytestmark = pytest.mark.slow


def body(org: str, name: str, repo: str) -> dict[str, Any]:
    return {"org_id": org, "project_name": name, "provider": "local", "repository": repo, "branch": "main"}


def _create_many(me: Person, *bodies: dict[str, Any]) -> dict[int, int]:
    requests = (partial(me.again().post, "/project/create", bodies[i % len(bodies)]) for i in range(THREADS))
    return statuses(together([patiently(request) for request in requests]))


class TestCreate:
    def test_parallel_creations_below_the_limit_create_one(self, world: World) -> None:
        me = world.person()
        org, (repo, _) = organization(world, me), repository(world, SMALL)
        for _ in range(24):
            project(world, me, org, repo)
        bodies = [body(org, f"Racer {number}", repo) for number in range(THREADS)]
        assert _create_many(me, *bodies) == {201: 1, 403: THREADS - 1}
        assert len(me.get(f"/project/orgs/{org}").ok()) == 25

    def test_parallel_creations_of_one_name_create_one(self, workspace: Workspace) -> None:
        twin = body(workspace.org, "Twin", workspace.repository)
        assert _create_many(workspace.me, twin) == {201: 1, 409: THREADS - 1}

    def test_parallel_first_connections_assign_a_local_repository_to_one_organization(self, world: World) -> None:
        repo, _ = repository(world, SMALL)
        people = [world.person() for _ in range(8)]
        requests = [
            partial(who.post, "/project/create", body(organization(world, who), "Mine", repo)) for who in people
        ]
        assert statuses(together(requests)) == {201: 1, 422: 7}


class TestSetStatus:
    def test_parallel_activations_respect_the_limit(self, world: World) -> None:
        me = world.person()
        org, (repo, _) = organization(world, me), repository(world, SMALL)
        for _ in range(24):
            project(world, me, org, repo)
        put_away = [project(world, me, org, repo, status="archived") for _ in range(10)]
        requests = [partial(me.again().patch, f"/project/status/{one}", {"status": "active"}) for one in put_away]
        assert statuses(together(requests)) == {200: 1, 403: 9}


class TestMove:
    def test_parallel_moves_of_a_project_have_one_effect(self, workspace: Workspace) -> None:
        me = workspace.me
        targets = [me.new_organization() for _ in range(4)]
        requests = [partial(me.again().patch, f"/project/move/{org}/{workspace.project}") for org in targets]
        received = statuses(together(requests))
        assert set(received) <= {200, 404}, received
        lists = [me.get(f"/project/orgs/{org}").ok() for org in (workspace.org, *targets)]
        assert sum(map(len, lists)) == 1


class TestDelete:
    def test_parallel_deletions_have_one_effect(self, workspace: Workspace) -> None:
        requests = [partial(workspace.me.again().delete, f"/project/{workspace.project}") for _ in range(10)]
        assert statuses(together(requests)) == {200: 1, 404: 9}

    def test_writes_parallel_to_a_deletion_return_200_or_404(self, workspace: Workspace) -> None:
        me, path = workspace.me, f"/project/{workspace.project}"
        writes = [partial(me.again().patch, path, {"project_name": f"N {number}"}) for number in range(10)]
        previews = [
            partial(me.again().put, f"/project-preview/{workspace.project}", {"state": "running"}) for _ in range(10)
        ]
        received = statuses(together([*writes, partial(me.again().delete, path), *previews]))
        assert set(received) <= {200, 404}, received


class TestRemovedMembers:
    def test_parallel_removal_and_creation_leave_no_project_of_a_nonmember(self, world: World) -> None:
        me, admin = world.person(), world.person()
        org, (repo, _) = organization(world, me, (admin, Role.ADMIN)), repository(world, SMALL)
        answers = together(
            [
                partial(admin.post, "/project/create", body(org, "Late", repo)),
                partial(me.patch, f"/organization/remove-member/{org}", {"member_id": admin.id}),
            ]
        )
        assert answers[0].status in (201, 403)
        admin.get(f"/project/orgs/{org}").fails(403)
