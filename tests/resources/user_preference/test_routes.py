"""Tests of the preferences through the API."""

import threading
import time

import pytest

from app.core.locales import LANGUAGES
from tests.support.world import World


class TestRead:
    def test_read_without_stored_preferences_returns_the_defaults(self, world: World) -> None:
        person = world.person()
        result = person.get(f"/user-preference/{person.id}").ok()
        assert result.items() >= {"theme": "system", "language": "en", "timezone": "UTC", "impersonate": False}.items()
        assert result["user_id"] == person.id

    @pytest.mark.one_database
    def test_read_of_another_user_returns_403(self, world: World) -> None:
        person, admin = world.person(), world.person(admin=True)
        admin.get(f"/user-preference/{person.id}").fails(403)
        world.anonymous().get(f"/user-preference/{person.id}").fails(401)
        world.person(verified=False).get(f"/user-preference/{person.id}").fails(403)


class TestChange:
    @pytest.mark.parametrize(
        ("field", "good", "bad"),
        [
            ("theme", ["light", "dark", "system"], ["blue", "", None, 1]),
            ("language", LANGUAGES, ["xx", "", None, 5]),
            ("timezone", ["Europe/Berlin", "UTC"], ["Mars/Olympus", "../etc/passwd", "/etc/localtime", "", None]),
            ("impersonate", [True, False], ["yes", None, "", 1]),
        ],
    )
    def test_single_preference_is_validated_and_stored(
        self, world: World, field: str, good: list[object], bad: list[object]
    ) -> None:
        person = world.person()
        path = f"/user-preference/{field}/{person.id}"
        for value in good:
            assert person.patch(path, {field: value}).ok()[field] == value
        for value in bad:
            person.patch(path, {field: value}).fails(400, None, field)
        person.patch(path, {}).fails(400, None, field)
        assert person.get(f"/user-preference/{person.id}").ok()[field] == good[-1]

    def test_invalid_preference_stores_none(self, world: World) -> None:
        person = world.person()
        path = f"/user-preference/{person.id}"
        person.patch(path, {"theme": "dark", "language": "ja"}).ok()
        person.patch(path, {"theme": "light", "language": "xx", "timezone": "x"}).fails(
            400, None, "language", "timezone"
        )
        assert person.get(path).ok()["theme"] == "dark"

    def test_omitted_preference_is_unchanged(self, world: World) -> None:
        person = world.person()
        path = f"/user-preference/{person.id}"
        person.patch(path, {"language": "ja", "user_id": "usr_x"}).ok()
        result = person.patch(path, {"theme": "light"}).ok()
        assert (result["language"], result["user_id"]) == ("ja", person.id)

    def test_empty_change_is_ignored(self, world: World) -> None:
        person = world.person()
        path = f"/user-preference/{person.id}"
        assert person.patch(path, {}).ok() == person.get(path).ok()
        saved = person.patch(path, {"theme": "dark"}).ok()
        time.sleep(0.002)  # Times have a resolution of one millisecond.
        assert person.patch(path, {}).ok() == saved

    def test_parallel_first_writes_succeed(self, world: World) -> None:
        person = world.person()
        statuses: list[int] = []
        browsers = [person.again() for _ in range(10)]

        def choose(browser) -> None:
            statuses.append(browser.patch(f"/user-preference/theme/{person.id}", {"theme": "dark"}).status)

        threads = [threading.Thread(target=choose, args=(browser,)) for browser in browsers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [200] * 10

    def test_stale_if_match_returns_412(self, world: World) -> None:
        person = world.person()
        path = f"/user-preference/{person.id}"
        tag = person.get(path).headers["ETag"]
        person.patch(path, {"theme": "dark"}, headers={"If-Match": tag}).ok()
        person.patch(path, {"theme": "light"}, headers={"If-Match": tag}).fails(412)
