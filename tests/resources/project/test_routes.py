"""Projects over HTTP."""

from tests.factories import repository
from tests.sites import SMALL
from tests.world import World


class TestCreate:
    def test_connects_a_branch_that_can_be_read(self, world: World) -> None:
        me = world.person()
        org, name = me.new_organization(), repository(world, SMALL)[0]
        made = me.post(
            "/project/create",
            {"org_id": org, "project_name": "Site", "provider": "Local", "repository": name, "branch": "main"},
        ).ok(201)
        assert (made["generator"], made["framework"], made["provider"]) == ("hugo", "hugo", "local")
        assert me.get(f"/project/{made['project_id']}").ok() == made
