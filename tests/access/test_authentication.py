"""Tests of the caller of a request, which Flask-Login loads."""

import pytest
from flask_login import current_user

from app.access import authentication
from app.access.caller import Caller
from app.database import transactions
from tests.support.assertions.statements import counted
from tests.support.tokens import new_token
from tests.support.world import World


def headers(token: str, more: str = "") -> dict[str, str]:
    return {"Cookie": f"session_token={token}{more}"}


class TestCaller:
    def test_current_user_is_the_caller_and_loaded_once(self, world: World) -> None:
        person = world.person()
        with world.app.test_request_context(headers=headers(person.token)), counted(world.app) as sent:
            caller = authentication.caller()
            assert isinstance(caller, Caller)
            assert (current_user.id, current_user._get_current_object()) == (caller.id, caller)
            assert authentication.caller() is caller
            assert len(sent) == 1

    @pytest.mark.parametrize("credential", ["session", "token"])
    def test_loaded_caller_holds_no_connection_while_the_body_arrives(self, world: World, credential: str) -> None:
        person = world.person()
        bearer = {"Authorization": f"Bearer {new_token(person)['token']}"}
        sent = headers(person.token) if credential == "session" else bearer
        with world.app.test_request_context(headers=sent):
            transactions.start_reading()
            assert authentication.caller() is not None
            assert transactions.transaction_state() is transactions.TransactionState.IDLE

    def test_current_user_without_a_session_is_anonymous(self, world: World) -> None:
        with world.app.test_request_context():
            assert not current_user.is_authenticated
            assert authentication.caller() is None

    @pytest.mark.parametrize("cookie", ["; remember_token=1|x", "; =1|x", "; remember_token="])
    def test_remember_cookie_of_flask_login_has_no_effect(self, world: World, cookie: str) -> None:
        person = world.person()
        with world.app.test_request_context(headers=headers(person.token, cookie)):
            assert current_user.is_authenticated
