"""Tests of the common behaviour of all AI handlers with a scripted model on loopback."""

import pytest
import sqlalchemy as sa
import structlog

from app.extensions import db
from app.models.ai_usage import AiUsage
from tests.resources.ai.conftest import OPERATOR_KEY, Limits
from tests.resources.ai.questions import ASK, BODIES, CLAUDE, GOOD, OWN, STREAMS
from tests.resources.ai.streams import kinds, parts
from tests.resources.project_content.conftest import Site
from tests.support.doubles.ai import AiDouble, say
from tests.support.world import Person, World

pytestmark = [pytest.mark.slow, pytest.mark.one_database]


class TestEveryHandler:
    @pytest.mark.parametrize("name", BODIES)
    def test_without_a_session_returns_401(self, world: World, double: AiDouble, name: str) -> None:
        world.anonymous().post(f"/api/ai/{name}", BODIES[name]).fails(401)

    @pytest.mark.parametrize("name", BODIES)
    def test_unverified_caller_returns_403(self, world: World, double: AiDouble, name: str) -> None:
        world.person(verified=False).post(f"/api/ai/{name}", BODIES[name]).fails(403, "EMAIL_NOT_VERIFIED")

    @pytest.mark.parametrize("name", BODIES)
    def test_project_of_another_user_returns_403(self, me: Person, site: Site, double: AiDouble, name: str) -> None:
        double.script = [GOOD[name]]
        body = BODIES[name] | {"projectId": site.project}
        me.post(f"/api/ai/{name}", body).fails(403, "NOT_ALLOWED")
        assert site.owner.post(f"/api/ai/{name}", body).status == 200
        me.post(f"/api/ai/{name}", BODIES[name] | {"projectId": "prj_1"}).fails(400, None, "projectId")
        me.post(f"/api/ai/{name}", BODIES[name] | {"projectId": f"prj_{'7' + 'z' * 25}"}).fails(404)

    @pytest.mark.parametrize("name", BODIES)
    def test_without_own_key_uses_the_operators_key_and_model(self, me: Person, double: AiDouble, name: str) -> None:
        double.script = [GOOD[name]]
        assert me.post(f"/api/ai/{name}", BODIES[name] | {"model": "dear-model"}).status == 200
        assert double.last.headers["authorization"] == f"Bearer {OPERATOR_KEY}"
        assert double.last.body["model"] == "house-model"

    @pytest.mark.parametrize("name", BODIES)
    def test_own_key_is_read_from_headers_or_body(self, me: Person, double: AiDouble, name: str) -> None:
        double.script = [GOOD[name]]
        assert me.post(f"/api/ai/{name}", BODIES[name], headers=CLAUDE).status == 200
        assert (double.last.path, double.last.headers["x-api-key"]) == ("/v1/messages", "my-own-key")
        values = {"apiKey": "other-key", "provider": "google", "model": "gemini-x"}
        assert me.post(f"/api/ai/{name}", BODIES[name] | values).status == 200
        assert double.last.headers["authorization"] == "Bearer other-key"
        assert double.last.body["model"] == "gemini-x"

    def test_without_any_key_returns_400(self, world: World) -> None:
        world.person().post("/api/ai/copilot", BODIES["copilot"]).fails(400, "AI_KEY_REQUIRED")

    @pytest.mark.parametrize(
        ("headers", "path"),
        [
            (OWN | {"X-AI-Provider": "http://evil.example"}, "provider"),
            (OWN | {"X-AI-Model": "a b"}, "model"),
            (OWN | {"X-AI-Model": "x" * 81}, "model"),
            (OWN | {"X-AI-Key": "k" * 600}, "apiKey"),
            ({"X-AI-Key": "k", "X-AI-Provider": "xai"}, "model"),
        ],
    )
    def test_invalid_provider_model_or_key_returns_400_with_path(
        self, me: Person, double: AiDouble, headers: dict[str, str], path: str
    ) -> None:
        error = me.post("/api/ai/copilot", BODIES["copilot"], headers=headers).fails(400, None, path)
        assert "k" * 600 not in str(error)
        assert double.asked == []

    @pytest.mark.parametrize("name", BODIES)
    @pytest.mark.parametrize(
        ("fault", "own", "house"),
        [
            (401, 422, 503),
            (403, 422, 503),
            (402, 422, 503),
            (429, 429, 503),
            (500, 502, 502),
            ("html", 502, 502),
            (404, 422, 422),
        ],
    )
    def test_provider_error_before_the_answer_returns_its_status(
        self, me: Person, double: AiDouble, name: str, fault: int | str, own: int, house: int
    ) -> None:
        double.fault, double.fault_headers = fault, {"Retry-After": "9"}
        refused = me.post(f"/api/ai/{name}", BODIES[name], headers=OWN)
        error = refused.fails(own)
        assert error["code"] == "AI_KEY_REJECTED" or fault not in (401, 403)
        assert fault != 429 or refused.headers["Retry-After"] == "9"
        ours = me.post(f"/api/ai/{name}", BODIES[name])
        ours.fails(house)
        assert house != 503 or int(ours.headers["Retry-After"]) >= 1

    @pytest.mark.parametrize("name", BODIES)
    def test_silent_provider_returns_504(self, me: Person, double: AiDouble, limits: Limits, name: str) -> None:
        limits.set(first_byte_timeout_s=0.3)
        double.fault = "silent"
        me.post(f"/api/ai/{name}", BODIES[name]).fails(504)

    @pytest.mark.parametrize("name", sorted(set(BODIES) - set(STREAMS)))
    @pytest.mark.parametrize(
        ("fault", "status"), [("garbage", 502), ("cut", 502), ("reset", 502), ("error", 502), ("stall", 504)]
    )
    def test_json_answer_cut_by_the_provider_returns_502_or_504(
        self, me: Person, double: AiDouble, limits: Limits, name: str, fault: str, status: int
    ) -> None:
        limits.set(idle_timeout_s=0.4)
        double.script, double.fault = [say("a", "b", "c", "d")], fault
        me.post(f"/api/ai/{name}", BODIES[name]).fails(status)

    @pytest.mark.parametrize("name", BODIES)
    def test_key_and_text_are_not_logged_or_stored(self, me: Person, double: AiDouble, name: str) -> None:
        double.script = [GOOD[name]]
        with structlog.testing.capture_logs() as lines:
            me.post(f"/api/ai/{name}", BODIES[name] | {"apiKey": "body-secret", "provider": "xai", "model": "m"})
            double.fault = 401
            me.post(f"/api/ai/{name}", BODIES[name], headers=OWN)
        assert "body-secret" not in str(lines)
        assert OWN["X-AI-Key"] not in str(lines)
        with me.app.app_context(), db.engine.connect() as connection:
            rows = connection.execute(sa.select(AiUsage.__table__).where(AiUsage.user_id == me.id)).all()
        assert len(rows) == 2
        assert "body-secret" not in str(rows)

    def test_body_above_the_limit_returns_400_or_413(self, me: Person, double: AiDouble) -> None:
        large = "x" * (512 * 1024)
        me.post("/api/ai/code-explain", {"code": large}).fails(413)
        me.post("/api/ai/command", {"prompt": "x", "ctx": {"markdown": large}}).fails(400, None, "ctx")
        me.post("/api/ai/command", {"prompt": "x", "ctx": {"markdown": large * 2}}).fails(413)

    def test_repeated_request_with_idempotency_key_streams_again(self, me: Person, double: AiDouble) -> None:
        for _ in range(2):
            answer = me.post("/api/ai/command", ASK, headers={"Idempotency-Key": "k1"})
            assert kinds(parts(answer))[-1] == "finish"
        assert len(double.asked) == 2
