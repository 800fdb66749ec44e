"""Tests of the index while 20 % of the notifications are lost, 20 % repeated and the others reordered.

`GALLEY_LONG=1` makes each simulation twenty times as long.
"""

import os

import pytest
from flask import Flask

from tests.resources.project_content.notifications import BranchSimulation, run_steps
from tests.resources.webhooks.routes.test_git import GitHubSite, GitLabSite
from tests.support import factories
from tests.support.git_hosts import FILES, Hosts
from tests.support.world import World

pytestmark = pytest.mark.slow

STEPS, EVERY = (400, 20) if os.environ.get("GALLEY_LONG") else (20, 10)


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    return hosted[0]


class TestUnreliableNotifications:
    @pytest.mark.parametrize("host", [GitHubSite, GitLabSite], ids=["github", "gitlab"])
    def test_index_of_a_remote_branch_is_updated_by_unreliable_notifications(
        self, world: World, hosts: Hosts, host: type[GitHubSite]
    ) -> None:
        site = host(world, hosts)

        def notify() -> object:
            payload = site.pushed()
            delivery = f"d{life.pushed}"
            return lambda: site.notify(payload, delivery=delivery).ok()

        life = BranchSimulation(world, site.me, site.project, site.repository.git, 11, notify)
        run_steps(life, STEPS, check_every=EVERY)
        _report(life)
        assert min(life.lost, life.twice, life.saved) > 0

    def test_index_of_a_local_branch_is_updated_without_notifications(self, world: World) -> None:
        me = world.person()
        name, repo = factories.repository(world, FILES)
        project = factories.project(world, me, factories.organization(world, me), name)
        life = BranchSimulation(
            world, me, project, repo, 12, lambda: lambda: me.get(f"/project-content/{project}").ok()
        )
        run_steps(life, STEPS, check_every=EVERY)
        _report(life)
        assert life.pushed > STEPS / 3


def _report(life: BranchSimulation) -> None:
    print(f"\n{life.pushed} pushes, {life.lost} never told, {life.twice} told twice, {life.saved} saves, no difference")
