"""The list of all users."""

import pytest
from flask import Flask

from app.core.errors import InvalidRequest
from app.resources.user.service import list_users
from tests.support.world import World


def test_search_compares_a_part_of_the_address_without_case(app: Flask, world: World) -> None:
    person = world.person(email="Percent%Sign@directory.example.org")
    with app.app_context():
        assert [user.id for user in list_users(" PERCENT%sign@directory ", limit=5).users] == [person.id]
        assert list_users("percent_sign@directory", limit=5).users == []


def test_pages_contain_each_user_once(app: Flask, world: World) -> None:
    people = {world.person(email=f"user{number}@pages.example.org").id for number in range(3)}
    with app.app_context():
        first = list_users("@pages.example.org", limit=2)
        second = list_users("@pages.example.org", limit=2, cursor=first.next_cursor)
        assert (len(first.users), len(second.users), second.next_cursor) == (2, 1, None)
        assert {user.id for user in (*first.users, *second.users)} == people


def test_cursor_of_another_list_is_refused(app: Flask) -> None:
    with app.app_context(), pytest.raises(InvalidRequest):
        list_users(limit=1, cursor="eDp5")
