"""Addresses of routes, however they are spelt: nothing is redirected."""

import pytest

from tests.support.world import World


class TestSlashes:
    @pytest.mark.parametrize("path", ["/api/v1/auth/get-session/", "/healthz/"])
    def test_one_at_the_end_does_not_count(self, world: World, path: str) -> None:
        browser = world.anonymous()
        assert browser.get(path).status == browser.get(path.rstrip("/")).status

    @pytest.mark.parametrize("path", ["/api/v1//auth/get-session", "/api//v1/auth/get-session"])
    def test_two_are_another_address(self, world: World, path: str) -> None:
        told = world.anonymous().get(path, headers={"Host": "evil.example"})
        told.fails(404, "NOT_FOUND")
        assert "Location" not in told.headers
