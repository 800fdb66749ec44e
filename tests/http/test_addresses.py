"""Tests of paths with trailing slashes: no path is redirected."""

import pytest

from tests.support.world import World

pytestmark = pytest.mark.one_database


class TestTrailingSlashes:
    @pytest.mark.parametrize("path", ["/api/v1/auth/get-session/", "/healthz/"])
    def test_path_with_a_trailing_slash_is_equal(self, world: World, path: str) -> None:
        browser = world.anonymous()
        assert browser.get(path).status == browser.get(path.rstrip("/")).status

    @pytest.mark.parametrize("path", ["/api/v1//auth/get-session", "/api//v1/auth/get-session"])
    def test_path_with_two_trailing_slashes_is_not_found(self, world: World, path: str) -> None:
        response = world.anonymous().get(path, headers={"Host": "evil.example"})
        response.fails(404, "NOT_FOUND")
        assert "Location" not in response.headers
