"""Which form of an answer a client gets."""

import pytest

from tests.world import World


class TestAcceptEncoding:
    @pytest.mark.parametrize(
        ("accepted", "coding"),
        [
            ("gzip", "gzip"),
            ("br;q=1, gzip;q=0.5", "br"),
            ("*", "gzip"),
            ("gzip;q=0", None),
            ("gzip;q=0.0, br", "br"),
            ("*, gzip;q=0", "br"),
            ("*;q=0", None),
            ("identity", None),
        ],
    )
    def test_names_what_is_taken_and_what_is_refused(self, world: World, accepted: str, coding: str | None) -> None:
        client = world.person().client
        answer = client.get("/api/v1/auth/get-session", headers={"Accept-Encoding": accepted})
        assert answer.status_code == 200
        assert answer.headers.get("Content-Encoding") == coding
        assert answer.headers["ETag"].endswith(f'-{coding}"' if coding else '"')
