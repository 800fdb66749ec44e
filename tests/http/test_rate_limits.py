"""The rate-limit table through the API, with the true numbers."""

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from app.core.limits import RateLimits
from app.core.rates import RateCounter
from app.http.endpoint import declaration_of
from app.http.rate_limits import is_row
from tests.world import Browser, World


@pytest.fixture(autouse=True)
def strict(app: Flask) -> Iterator[None]:
    """One process without scale, with fresh counts."""
    known = app.extensions["rates"]
    app.extensions["rates"] = RateCounter()
    yield
    app.extensions["rates"] = known


def email() -> str:
    return f"r{uuid.uuid4().hex[:10]}@mail.example.org"


def at(address: str) -> dict[str, Any]:
    return {"environ_overrides": {"REMOTE_ADDR": address}}


def statuses(times: int, call: Callable[[], Any]) -> list[int]:
    return [call().status for _ in range(times)]


class TestSignIn:
    def test_of_one_account_fails_ten_times_at_most_wherever_from(self, world: World) -> None:
        body, browser = {"email": email(), "password": "Wrong-password-1"}, world.anonymous()
        answers = [browser.post("/auth/sign-in/email", body, **at(f"192.0.2.{n}")) for n in range(11)]
        assert [answer.status for answer in answers] == [401] * 10 + [429]
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 900
        answers[-1].fails(429, "TOO_MANY_REQUESTS")

    def test_from_one_address_fails_thirty_times_at_most_whoever_it_is(self, world: World) -> None:
        browser = world.anonymous()
        got = statuses(
            31, lambda: browser.post("/auth/sign-in/email", {"email": email(), "password": "Wrong-password-1"})
        )
        assert got == [401] * 30 + [429]

    def test_that_succeeds_forgives_the_account(self, world: World) -> None:
        person = world.person()
        person.patch("/user/set-password", {"newPassword": "Another-Harbour-1"}).ok()
        browser, wrong = world.anonymous(), {"email": person.email, "password": "Wrong-password-1"}
        for n in range(3):
            assert set(statuses(9, lambda n=n: browser.post("/auth/sign-in/email", wrong, **at(f"192.0.2.{n}")))) == {
                401
            }
            browser.post("/auth/sign-in/email", wrong | {"password": "Another-Harbour-1"}).ok()

    def test_guessed_in_parallel_still_fails_ten_times_at_most(self, world: World) -> None:
        body, got = {"email": email(), "password": "Wrong-password-1"}, []

        def guess(number: int) -> None:
            got.append(world.anonymous().post("/auth/sign-in/email", body, **at(f"192.0.2.{number}")).status)

        threads = [threading.Thread(target=guess, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got.count(401) == 10
        assert got.count(429) == 10


class TestAddressRows:
    @pytest.mark.parametrize(
        ("path", "body", "times"),
        [
            ("/auth/sign-up/email", {}, 30),
            ("/auth/verify-email", {}, 30),
            ("/auth/email-otp/verify-email", {}, 30),
            ("/auth/forget-password", {}, 20),
            ("/auth/request-password-reset", {}, 20),
            ("/auth/reset-password", {}, 30),
            ("/auth/sign-in/social", {}, 30),
            ("/auth/sign-in/email", {}, 120),
        ],
    )
    def test_count_every_request(self, world: World, path: str, body: dict[str, str], times: int) -> None:
        got = statuses(times + 1, lambda: world.anonymous().post(path, body))
        assert got == [400] * times + [429]

    def test_the_callbacks(self, world: World) -> None:
        got = statuses(31, lambda: world.anonymous().get("/auth/callback/social_a"))
        assert got == [302] * 30 + [429]

    def test_an_alias_shares_its_row(self, world: World) -> None:
        statuses(30, lambda: world.anonymous().post("/auth/verify-email", {}))
        world.anonymous().post("/auth/email-otp/verify-email", {}).fails(429)

    def test_a_subscribers_ipv6_network_counts_as_one(self, world: World) -> None:
        def ask(n: int) -> int:
            return world.anonymous().post("/auth/sign-up/email", {}, **at(f"2001:db8::{n:x}")).status

        assert [ask(n) for n in range(1, 32)] == [400] * 30 + [429]
        assert world.anonymous().post("/auth/sign-up/email", {}, **at("2001:db8:0:1::1")).status == 400

    def test_a_forwarded_address_that_nobody_vouches_for_counts_for_nothing(self, world: World) -> None:
        def ask(n: int) -> int:
            return world.anonymous().post("/auth/sign-up/email", {}, headers={"X-Forwarded-For": f"192.0.2.{n}"}).status

        assert [ask(n) for n in range(31)][-1] == 429

    def test_come_before_the_body_is_read(self, world: World) -> None:
        statuses(30, lambda: world.anonymous().post("/auth/sign-up/email", {}))
        world.anonymous().call("POST", "/auth/sign-up/email", data=b"{", content_type="text/plain").fails(429)


class TestForgetPassword:
    def test_of_one_account_mails_three_times_an_hour_and_says_nothing(self, app: Flask, world: World) -> None:
        person = world.person()
        for n in range(5):
            world.anonymous().post("/auth/forget-password", {"email": person.email}, **at(f"192.0.2.{n}")).ok()
            world.work_off()
        folder = app.config["SETTINGS"].mail.directory
        assert sum(person.email.encode() in file.read_bytes() for file in folder.glob("*.eml")) == 3


class TestOthers:
    def test_anonymous_ones_are_sixty_a_minute(self, world: World) -> None:
        got = statuses(61, lambda: world.anonymous().get("/auth/get-session"))
        assert got == [401] * 60 + [429]

    def test_a_made_up_cookie_counts_as_none(self, world: World) -> None:
        def ask() -> Any:
            browser: Browser = world.anonymous()
            browser.client.set_cookie("session_token", "A" * 43)
            return browser.get("/auth/get-session")

        assert statuses(61, ask) == [401] * 60 + [429]

    def test_signed_in_writes_are_a_hundred_and_twenty_a_minute(self, world: World) -> None:
        person = world.person()
        got = statuses(121, lambda: person.post("/user/check-limits", {}))
        assert got == [200] * 120 + [429]
        person.get("/auth/get-session").ok()

    def test_signed_in_requests_are_six_hundred_a_minute(self, world: World) -> None:
        person, other = world.person(), world.person()
        got = statuses(601, lambda: person.get("/auth/get-session"))
        assert got == [200] * 600 + [429]
        other.get("/auth/get-session").ok()

    def test_the_health_check_is_never_refused(self, world: World) -> None:
        assert set(statuses(100, lambda: world.anonymous().get("/healthz"))) == {200}


class TestTable:
    def test_every_row_a_route_names_exists(self, app: Flask) -> None:
        named = {declared.rate for view in app.view_functions.values() if (declared := declaration_of(view))}
        assert all(is_row(name) for name in named if name)

    def test_a_misspelt_row_is_noticed(self) -> None:
        assert not is_row("sing_up")
        assert is_row("sign_up")

    def test_the_numbers_are_the_published_ones(self) -> None:
        rates = RateLimits()
        assert [(rate.times, rate.per_s) for rate in rates.invite] == [(20, 3600), (50, 86400)]
        assert [(rate.times, rate.per_s) for rate in rates.sign_in_failures] == [(10, 900)]
