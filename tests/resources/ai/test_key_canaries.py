"""Tests of the secrecy of keys: no log line, row or response contains one, even if a provider repeats it."""

import logging
from typing import Any

import pytest
import sqlalchemy as sa
import structlog

from app.extensions import db
from tests.resources.ai.conftest import OPERATOR_KEY, Limits
from tests.resources.ai.test_faults import AS_JSON, CALLS, JSONS, STREAMS
from tests.resources.project_content.conftest import Site
from tests.support.doubles.ai import AiDouble, say
from tests.support.world import Answer, World

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

IN_HEADER, IN_BODY = "sk-canary-header-1185", "sk-canary-body-7730"
KEYS = (IN_HEADER, IN_BODY, OPERATOR_KEY)
MODEL = {"provider": "openai", "model": "m"}
WAYS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "header": (IN_HEADER, {"X-AI-Key": IN_HEADER, "X-AI-Provider": "anthropic", "X-AI-Model": "m"}, {}),
    "body": (IN_BODY, {}, MODEL | {"apiKey": IN_BODY}),
    "operator": (OPERATOR_KEY, {}, {}),
}
FAULTS = (None, 400, 401, 402, 403, 404, 422, 429, 500, 503, "html", "silent", "stall", "cut", "garbage", "error")


@pytest.fixture(autouse=True)
def short_timeouts(limits: Limits) -> None:
    limits.set(first_byte_timeout_s=0.3, idle_timeout_s=0.3, operator_tokens_a_day=10**9)


def response_text(answer: Answer) -> str:
    """Return status, headers and body of a response."""
    return f"{answer.status} {answer.headers}\n{answer.response.get_data(as_text=True)}"


def stored_rows(world: World) -> str:
    """Return every row of every table."""
    with world.app.app_context(), db.engine.connect() as connection:
        tables = sa.inspect(connection).get_table_names()
        return "\n".join(
            str(row) for table in tables for row in connection.execute(sa.text(f'SELECT * FROM "{table}"'))
        )


class TestKeys:
    @pytest.mark.parametrize("way", WAYS)
    def test_key_is_received_only_by_its_provider(
        self, world: World, site: Site, double: AiDouble, caplog: pytest.LogCaptureFixture, way: str
    ) -> None:
        key, headers, more = WAYS[way]
        caplog.set_level(logging.DEBUG)
        double.script = [say("one\n", "two\n", "three\n", "four\n")]
        double.fault_body = f'{{"error": {{"message": "wrong token {key} ({key[:60]})", "param": "{key}"}}}}'.encode()
        double.fault_headers = {"X-Request-Id": key, "Retry-After": "1", "X-Key": key}
        items = []
        with structlog.testing.capture_logs() as lines:
            for name, as_json in CALLS:
                body: dict[str, Any] = (JSONS if as_json else STREAMS)[name] | more | {"projectId": site.project}
                for fault in FAULTS:
                    double.fault = fault
                    sent = headers | (AS_JSON if as_json and name == "code-edit" else {})
                    items.append(response_text(site.owner.again().post(f"/api/ai/{name}", body, headers=sent)))
        assert any(key in str(asked.headers) for asked in double.asked)
        assert not [asked.path for asked in double.asked if key in str(asked.body)]
        assert not [each for each in items for canary in KEYS if canary in each]
        written = str(lines) + caplog.text
        assert "outbound.call" in written
        assert not [canary for canary in KEYS if canary in written]
        assert not [canary for canary in KEYS if canary in stored_rows(world)]

    def test_invalid_key_returns_400_without_the_key(
        self, site: Site, double: AiDouble, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        with structlog.testing.capture_logs() as lines:
            for broken in (f"{IN_BODY} with space", f"{IN_BODY}\u00fc", IN_BODY * 40):
                refused = site.owner.post("/api/ai/copilot", {"prompt": "x", "apiKey": broken} | MODEL)
                refused.fails(400, None, "apiKey")
                assert IN_BODY not in response_text(refused)
        assert IN_BODY not in str(lines) + caplog.text
        assert double.asked == []
