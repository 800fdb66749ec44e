"""Tests of the origin check of unsafe requests with the session cookie."""

import pytest

from tests.support.world import World

pytestmark = pytest.mark.one_database


class TestOrigin:
    @pytest.mark.parametrize("origin", ["https://evil.example.org", "null", "http://[::1", "http://a]b"])
    def test_request_with_another_or_invalid_origin_receives_403(self, world: World, origin: str) -> None:
        answer = world.person().post("/organization", {"org_name": "O"}, headers={"Origin": origin})
        answer.fails(403, "INVALID_ORIGIN")
