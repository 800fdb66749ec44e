"""Organizations over HTTP."""

from tests.world import World


class TestCreate:
    def test_makes_the_creator_its_owner(self, world: World) -> None:
        me = world.person()
        made = me.post("/organization", {"org_name": "Acme", "settings": {"a": 1}}).ok(201)
        assert (made["org_name"], made["owner"], made["default"], made["status"]) == ("Acme", me.id, False, "active")
        (member,) = made["members"]
        assert (member["user_id"], member["role"], member["status"]) == (me.id, "owner", "active")
        assert me.get(f"/organization/{made['org_id']}").ok() == made

    def test_a_name_the_owner_uses_is_taken(self, world: World) -> None:
        me = world.person()
        me.new_organization("Acme")
        me.post("/organization", {"org_name": "Acme"}).fails(409, "NAME_TAKEN")
        world.person().new_organization("Acme")
