"""Tests of the handlers' streams: parts, ends and disconnects."""

from typing import Any

import pytest
import sqlalchemy as sa

from app.core.permissions import Role
from app.extensions import db
from app.models.organization import Membership
from tests.resources.ai.conftest import Limits
from tests.resources.ai.questions import ASK, BODIES, CLAUDE, STREAMS, wait_for
from tests.resources.ai.streams import kinds, parts, text
from tests.resources.project_content.conftest import Site
from tests.support.doubles.ai import AiDouble, say
from tests.support.world import Person, World


class TestStreams:
    @pytest.mark.one_database
    @pytest.mark.parametrize("name", STREAMS)
    @pytest.mark.parametrize("headers", [{}, CLAUDE])
    def test_frames_and_headers_conform_to_the_protocol(
        self, me: Person, double: AiDouble, name: str, headers: dict[str, str]
    ) -> None:
        double.script = [say("one\n", "two\n", "three\n")]
        answer = me.post(f"/api/ai/{name}", BODIES[name], headers=headers)
        assert answer.headers["Content-Type"] == "text/event-stream"
        assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
        assert answer.headers["Cache-Control"] == "no-cache"
        assert answer.headers["X-Accel-Buffering"] == "no"
        stream_parts = parts(answer)
        order = [kind for kind in kinds(stream_parts) if kind not in ("text-delta", "data-diff")]
        assert order == ["start", "start-step", "text-start", "text-end", "finish-step", "finish"]
        assert stream_parts[0]["messageId"].startswith("msg_")
        assert {part["id"] for part in stream_parts if part["type"].startswith("text-")} == {stream_parts[2]["id"]}
        assert stream_parts[-1]["finishReason"] == "stop"
        assert text(stream_parts).startswith("one\ntwo\nthree")

    @pytest.mark.one_database
    @pytest.mark.parametrize("name", STREAMS)
    @pytest.mark.parametrize("fault", ["garbage", "cut", "reset", "error", "stall"])
    def test_answer_cut_by_the_provider_ends_with_an_error_part(
        self, me: Person, double: AiDouble, limits: Limits, name: str, fault: str
    ) -> None:
        limits.set(idle_timeout_s=0.4)
        double.script, double.fault = [say("one\n", "two\n", "three\n", "four\n")], fault
        stream_parts = parts(me.post(f"/api/ai/{name}", BODIES[name]))
        assert kinds(stream_parts)[-1] == "error"
        assert stream_parts[-1]["errorText"]
        assert "finish" not in kinds(stream_parts)
        assert "data-diff" not in kinds(stream_parts)
        assert "rubbish" not in text(stream_parts)

    @pytest.mark.one_database
    def test_endless_answer_ends_at_the_total_timeout(self, me: Person, double: AiDouble, limits: Limits) -> None:
        limits.set(total_timeout_s=0.6)
        double.fault = "endless"
        assert kinds(parts(me.post("/api/ai/command", ASK)))[-1] == "error"
        double.wait_closed(double.last, 2)

    @pytest.mark.one_database
    def test_pause_of_the_provider_sends_comments(self, me: Person, double: AiDouble, limits: Limits) -> None:
        limits.set(comment_interval_s=0.1)
        double.script = [say("a", "b", pause_s=0.4)]
        raw = me.post("/api/ai/command", ASK).response.get_data()
        assert b":\n\n" in raw
        assert text(parts(raw)) == "ab"

    def test_disconnect_closes_the_call_and_ends_the_usage(self, me: Person, double: AiDouble) -> None:
        double.script, double.fault = [say("a", "b", "c")], "stall"
        response = me.client.post("/api/ai/command", json=ASK, buffered=False)
        next(iter(response.response))
        response.close()
        double.wait_closed(double.last, 1)
        wait_for(lambda: me.get("/ai/usage").ok()["running"] == 0)

    def test_removed_member_receives_an_error_part(
        self, world: World, site: Site, double: AiDouble, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from app.http.streaming import response as streaming

        monkeypatch.setattr(
            streaming.StreamSettings, "__init__", _with_short_intervals(streaming.StreamSettings.__init__)
        )
        editor = world.person()
        with world.app.app_context():
            db.session.add(Membership(organization_id=site.organization, user_id=editor.id, role=Role.EDITOR))
            db.session.commit()
        double.fault = "endless"
        response = editor.client.post("/api/ai/command", json=ASK | {"projectId": site.project}, buffered=False)
        reading = iter(response.response)
        first = next(reading)
        with world.app.app_context():
            db.session.execute(sa.delete(Membership).where(Membership.user_id == editor.id))
            db.session.commit()
        stream_parts = parts(first + b"".join(reading))
        response.close()
        assert stream_parts[-1] == {"type": "error", "errorText": "You are not allowed to do this"}


def _with_short_intervals(init: Any) -> Any:
    def changed(self: Any, **given: Any) -> None:
        init(self, **{**given, "check_s": 0.2, "total_s": 20})

    return changed
