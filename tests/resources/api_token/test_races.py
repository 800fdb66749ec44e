"""Tests of races between rotation, change, deletion and the end of a membership."""

from concurrent.futures import ThreadPoolExecutor, wait

from app.core.limits import TokenLimits
from app.database.transactions import write_transaction
from app.extensions import db
from app.models.login import ApiToken
from app.models.organization import Organization
from app.models.user import User
from app.resources.api_token import service
from tests.support.parallel import patiently, statuses, together
from tests.support.tokens import Program, new_token
from tests.support.workspace import make_workspace
from tests.support.world import Answer, World

CALLS = 8


def _is_valid(world: World, secret: str) -> bool:
    return Program(world.app, secret).get("/organization/user").status == 200


class TestRaces:
    def test_parallel_rotations_leave_exactly_one_valid_secret(self, world: World) -> None:
        me = world.person()
        made = new_token(me, "read")
        path = f"/tokens/{made['id']}/rotate"
        answers = together([patiently(lambda: me.again().post(path, {})) for _ in range(CALLS)])
        assert statuses(answers) == {200: CALLS}
        secrets = [response.ok()["token"] for response in answers]
        assert len(set(secrets)) == CALLS
        assert [_is_valid(world, secret) for secret in secrets].count(True) == 1
        assert not _is_valid(world, made["token"])

    def test_rotation_during_deletion_leaves_no_valid_secret(self, world: World) -> None:
        me = world.person()
        made = new_token(me, "read")
        path = f"/tokens/{made['id']}"

        def rotate() -> Answer:
            return me.again().post(f"{path}/rotate", {})

        def delete() -> Answer:
            return me.again().delete(path)

        answers = together([patiently(send) for send in (rotate, rotate, delete, rotate, delete, rotate)])
        assert {response.status for response in answers} <= {200, 404}
        assert [response.status for response in (answers[2], answers[4])].count(200) == 1
        secrets = [
            response.ok()["token"] for response in answers if response.status == 200 and "token" in response.ok()
        ]
        assert not any(_is_valid(world, secret) for secret in [made["token"], *secrets])
        me.get(path).fails(404)

    def test_secret_created_during_the_end_of_the_membership_is_invalid(self, world: World) -> None:
        space, admin = make_workspace(world), world.person()
        space.me.patch(f"/organization/member/{space.org}", {"email": admin.email, "role": "admin"}).ok()
        accounts = f"/organization/{space.org}/service-accounts"
        path = f"{accounts}/{new_token(admin, organization=space.org)['id']}"

        def rotate() -> Answer:
            return admin.again().post(f"{path}/rotate", {})

        def create() -> Answer:
            return admin.again().post(accounts, {"name": "A", "scopes": ["read"]})

        def leave() -> Answer:
            return admin.again().patch(f"/organization/leave/{space.org}", {})

        answers = together([patiently(send) for send in (rotate, create, leave, create, rotate)])
        assert answers[2].status == 200
        assert {response.status for response in answers} <= {200, 201, 403, 409}
        for response in answers:
            if response.status in (200, 201) and "token" in response.json["result"]:
                Program(world.app, response.json["result"]["token"]).get(f"/project/{space.project}").fails(401)

    def test_service_account_taken_over_by_a_leaving_member_is_revoked(self, world: World) -> None:
        space, admin = make_workspace(world), world.person()
        space.me.patch(f"/organization/member/{space.org}", {"email": admin.email, "role": "admin"}).ok()
        made = new_token(space.me, organization=space.org)
        leave = patiently(lambda: admin.again().patch(f"/organization/leave/{space.org}", {}))
        with ThreadPoolExecutor(1) as pool:
            with world.app.app_context(), write_transaction():
                token, owner = db.session.get_one(ApiToken, made["id"]), db.session.get_one(User, admin.id)
                organization = db.session.get_one(Organization, space.org)
                service.rotate(token, by=owner, organization=organization, limits=TokenLimits())
                leaving = pool.submit(leave)
                wait([leaving], timeout=0.5)
            assert leaving.result().status == 200
        shown = space.me.get(f"/organization/{space.org}/service-accounts/{made['id']}").ok()
        assert (shown["user_id"], shown["status"]) == (admin.id, "revoked")

    def test_parallel_creations_respect_the_token_limit(self, world: World) -> None:
        me = world.person()
        limit = world.app.config["SETTINGS"].limits.tokens.per_user
        for _ in range(limit - 2):
            new_token(me, "read")
        body = {"name": "A", "scopes": ["read"]}
        answers = together([patiently(lambda: me.again().post("/tokens", body)) for _ in range(CALLS)])
        assert statuses(answers) == {201: 2, 403: CALLS - 2}
        assert len(me.get("/tokens").ok()) == limit
