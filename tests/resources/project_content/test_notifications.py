"""A fifth of all notifications lost, a fifth doubled, the rest disordered: at every quiet point the index is the branch.

`GALLEY_LONG=1` makes each life twenty times as long.
"""

import os

import pytest
from flask import Flask

from tests.resources.project_content.notifications import Life, live
from tests.resources.webhooks.routes.test_git import SiteA, SiteB
from tests.support import factories
from tests.support.git_hosts import FILES, Hosts
from tests.support.world import World

STEPS, EVERY = (400, 20) if os.environ.get("GALLEY_LONG") else (20, 10)


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    return hosted[0]


class TestUnreliableNotifications:
    @pytest.mark.parametrize("host", [SiteA, SiteB], ids=["github", "gitlab"])
    def test_index_of_a_remote_branch_follows_unreliable_notifications(
        self, world: World, hosts: Hosts, host: type[SiteA]
    ) -> None:
        site = host(world, hosts)

        def notify() -> object:
            payload = site.pushed()
            delivery = f"d{life.pushed}"
            return lambda: site.notify(payload, delivery=delivery).ok()

        life = Life(world, site.me, site.project, site.repository.git, 11, notify)
        live(life, STEPS, check_every=EVERY)
        _report(life)
        assert min(life.lost, life.twice, life.saved) > 0

    def test_index_of_a_local_branch_follows_without_notifications(self, world: World) -> None:
        me = world.person()
        name, repo = factories.repository(world, FILES)
        project = factories.project(world, me, factories.organization(world, me), name)
        life = Life(world, me, project, repo, 12, lambda: lambda: me.get(f"/project-content/{project}").ok())
        live(life, STEPS, check_every=EVERY)
        _report(life)
        assert life.pushed > STEPS / 3


def _report(life: Life) -> None:
    print(f"\n{life.pushed} pushes, {life.lost} never told, {life.twice} told twice, {life.saved} saves, no difference")
