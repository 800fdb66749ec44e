"""Tests of the rate-limit table through the API with the production rates."""

import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.rates import RateLimits
from app.extensions import db
from app.http.endpoint import find_endpoint
from app.http.rate_limits import is_row
from app.models.request import RateEvent
from app.models.user import User
from app.rate_limiting.counter import RateCounter
from tests.support.assertions.mailbox import Mailbox
from tests.support.world import Answer, Browser, Person, World

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def strict(app: Flask) -> Iterator[None]:
    """Use an empty counter of one process without scale."""
    known, scaled = app.extensions["rates"], app.config["SETTINGS"]
    app.extensions["rates"] = RateCounter()
    app.config["SETTINGS"] = replace(scaled, server=replace(scaled.server, rate_limit_scale=1.0))
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(sa.delete(RateEvent))
    yield
    app.extensions["rates"], app.config["SETTINGS"] = known, scaled


def email() -> str:
    return f"r{uuid.uuid4().hex[:10]}@mail.example.org"


def reset_token(world: World, address: str) -> str:
    """Request a password reset. Return the token of the newest link in the mails to the address."""
    world.anonymous().post("/auth/forget-password", {"email": address}).ok()
    world.work_off()
    return Mailbox(world.app.config["SETTINGS"].mail.directory, address).tokens()[-1]


def at(address: str) -> dict[str, Any]:
    return {"environ_overrides": {"REMOTE_ADDR": address}}


def statuses(times: int, call: Callable[[], Any]) -> list[int]:
    return [call().status for _ in range(times)]


@pytest.mark.one_database
class TestSignIn:
    PASSWORD = "Another-Harbour-1"

    def owner(self, world: World) -> Person:
        person = world.person()
        person.patch("/user/set-password", {"newPassword": self.PASSWORD}).ok()
        return person

    def sign_in(self, world: World, email: str, password: str, address: str) -> Answer:
        body = {"email": email, "password": password}
        return world.anonymous().post("/auth/sign-in/email", body, **at(address))

    def fail(self, world: World, email: str, address: str, times: int) -> list[int]:
        return [self.sign_in(world, email, "Wrong-password-1", address).status for _ in range(times)]

    @pytest.mark.parametrize("is_known", [True, False])
    def test_sign_in_failures_of_an_account_and_address_are_limited_to_ten(self, world: World, is_known: bool) -> None:
        name = self.owner(world).email if is_known else email()
        assert self.fail(world, name, "192.0.2.1", 10) == [401] * 10
        refused = self.sign_in(world, name, "Wrong-password-1", "192.0.2.1")
        refused.fails(429, "TOO_MANY_REQUESTS")
        assert 1 <= int(refused.headers["Retry-After"]) <= 900
        assert "Try again in 15 minutes" in refused.json["message"]

    def test_owner_signs_in_from_another_address_during_an_attack(self, world: World) -> None:
        owner = self.owner(world)
        self.fail(world, owner.email, "192.0.2.1", 11)
        self.sign_in(world, owner.email, self.PASSWORD, "192.0.2.1").fails(429)
        self.sign_in(world, owner.email, self.PASSWORD, "192.0.2.2").ok()

    def test_sign_in_failures_of_an_account_are_limited_to_a_hundred(self, world: World) -> None:
        name = email()
        failed = [status for n in range(10) for status in self.fail(world, name, f"192.0.2.{n}", 10)]
        assert failed == [401] * 100
        assert self.fail(world, name, "192.0.2.99", 1) == [429]
        assert self.fail(world, email(), "192.0.2.99", 1) == [401]

    def test_password_reset_clears_the_failures_of_the_account(self, app: Flask, world: World) -> None:
        owner = self.owner(world)
        with app.app_context():
            account = f"{owner.email} {db.session.get_one(User, owner.id).password_hash}"
        workers, [rate] = [app.extensions["rates"], RateCounter()], RateLimits().sign_in_failures_account
        for worker in workers:
            app.extensions["rates"] = worker
            self.fail(world, owner.email, "192.0.2.1", 10)
            for _ in range(rate.times - 10):
                assert worker.try_acquire((rate,), "sign_in_failures_account", account) == 0
            self.sign_in(world, owner.email, self.PASSWORD, "192.0.2.99").fails(429)
        token = reset_token(world, owner.email)
        world.anonymous().post("/auth/reset-password", {"token": token, "newPassword": "Third-Harbour-1"}).ok()
        for worker in workers:
            app.extensions["rates"] = worker
            self.sign_in(world, owner.email, "Third-Harbour-1", "192.0.2.1").ok()

    def test_sign_in_failures_of_an_address_are_limited_to_thirty(self, world: World) -> None:
        browser = world.anonymous()
        received = statuses(
            31, lambda: browser.post("/auth/sign-in/email", {"email": email(), "password": "Wrong-password-1"})
        )
        assert received == [401] * 30 + [429]

    def test_success_clears_the_failures_of_account_and_address(self, world: World) -> None:
        owner = self.owner(world)
        for _ in range(3):
            assert self.fail(world, owner.email, "192.0.2.1", 9) == [401] * 9
            self.sign_in(world, owner.email, self.PASSWORD, "192.0.2.1").ok()

    def test_success_keeps_the_failures_of_all_addresses(self, world: World) -> None:
        owner = self.owner(world)
        for number in range(10):
            self.fail(world, owner.email, f"192.0.2.{number}", 9)
        self.sign_in(world, owner.email, self.PASSWORD, "192.0.2.50").ok()
        assert self.fail(world, owner.email, "192.0.2.51", 10) == [401] * 10
        self.sign_in(world, owner.email, self.PASSWORD, "192.0.2.52").fails(429)

    def test_parallel_sign_in_failures_are_limited_to_ten(self, world: World) -> None:
        name, got = email(), []

        def guess() -> None:
            got.extend(self.fail(world, name, "192.0.2.1", 1))

        threads = [threading.Thread(target=guess) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got.count(401) == 10
        assert got.count(429) == 10


@pytest.mark.one_database
class TestAddressRows:
    @pytest.mark.parametrize(
        ("path", "body", "times"),
        [
            ("/auth/verify-email", {}, 30),
            ("/auth/email-otp/verify-email", {}, 30),
            ("/auth/reset-password", {}, 30),
            ("/auth/sign-in/social", {}, 30),
            ("/auth/sign-in/email", {}, 120),
        ],
    )
    def test_address_rows_count_every_request(self, world: World, path: str, body: dict[str, str], times: int) -> None:
        received = statuses(times + 1, lambda: world.anonymous().post(path, body))
        assert received == [400] * times + [429]

    def test_callbacks_of_an_address_are_limited_to_thirty(self, world: World) -> None:
        received = statuses(31, lambda: world.anonymous().get("/auth/callback/social_a"))
        assert received == [302] * 30 + [429]

    def test_alias_of_a_route_shares_its_row(self, world: World) -> None:
        statuses(30, lambda: world.anonymous().post("/auth/verify-email", {}))
        world.anonymous().post("/auth/email-otp/verify-email", {}).fails(429)

    def test_ipv6_network_of_a_subscriber_counts_as_one_address(self, world: World) -> None:
        def ask(n: int) -> int:
            return world.anonymous().post("/auth/verify-email", {}, **at(f"2001:db8::{n:x}")).status

        assert [ask(n) for n in range(1, 32)] == [400] * 30 + [429]
        assert world.anonymous().post("/auth/verify-email", {}, **at("2001:db8:0:1::1")).status == 400

    def test_forwarded_address_without_a_trusted_proxy_is_ignored(self, world: World) -> None:
        def ask(n: int) -> int:
            return world.anonymous().post("/auth/verify-email", {}, headers={"X-Forwarded-For": f"192.0.2.{n}"}).status

        assert [ask(n) for n in range(31)][-1] == 429

    def test_address_rate_is_checked_before_the_body(self, world: World) -> None:
        statuses(30, lambda: world.anonymous().post("/auth/verify-email", {}))
        world.anonymous().call("POST", "/auth/verify-email", data=b"{", content_type="text/plain").fails(429)


class TestStoredAddressRows:
    def test_sign_ups_of_an_address_are_thirty_an_hour(self, world: World) -> None:
        def sign_up(address: str = "192.0.2.1") -> Answer:
            body = {"email": email(), "password": "Another-Harbour-1", "name": "Ada"}
            return world.anonymous().post("/auth/sign-up/email", body, **at(address))

        assert statuses(31, sign_up) == [200] * 30 + [429]
        assert sign_up("192.0.2.2").status == 200

    def test_invalid_sign_ups_count_in_the_anonymous_row(self, world: World) -> None:
        assert statuses(61, lambda: world.anonymous().post("/auth/sign-up/email", {})) == [400] * 60 + [429]

    @pytest.mark.parametrize("path", ["/auth/forget-password", "/auth/request-password-reset"])
    def test_reset_requests_of_an_address_are_twenty_an_hour(self, world: World, path: str) -> None:
        received = statuses(21, lambda: world.anonymous().post(path, {"email": email()}))
        assert received == [200] * 20 + [429]


class TestForgetPassword:
    def test_reset_mails_of_an_account_are_limited_to_three_and_all_requests_succeed(
        self, app: Flask, world: World
    ) -> None:
        person = world.person()
        for n in range(5):
            world.anonymous().post("/auth/forget-password", {"email": person.email}, **at(f"192.0.2.{n}")).ok()
            world.work_off()
        folder = app.config["SETTINGS"].mail.directory
        assert sum(person.email.encode() in file.read_bytes() for file in folder.glob("*.eml")) == 3


@pytest.mark.one_database
class TestRequestRows:
    def test_anonymous_requests_are_sixty_a_minute(self, world: World) -> None:
        received = statuses(61, lambda: world.anonymous().get("/auth/get-session"))
        assert received == [401] * 60 + [429]

    def test_invalid_cookie_counts_as_anonymous(self, world: World) -> None:
        def ask() -> Any:
            browser: Browser = world.anonymous()
            browser.client.set_cookie("session_token", "A" * 43)
            return browser.get("/auth/get-session")

        assert statuses(61, ask) == [401] * 60 + [429]

    def test_signed_in_writes_are_a_hundred_and_twenty_a_minute(self, world: World) -> None:
        person = world.person()
        received = statuses(121, lambda: person.post("/user/check-limits", {}))
        assert received == [200] * 120 + [429]
        person.get("/auth/get-session").ok()

    def test_signed_in_requests_are_six_hundred_a_minute(self, world: World) -> None:
        person, other = world.person(), world.person()
        received = statuses(601, lambda: person.get("/auth/get-session"))
        assert received == [200] * 600 + [429]
        other.get("/auth/get-session").ok()

    def test_health_check_is_not_limited(self, world: World) -> None:
        assert set(statuses(100, lambda: world.anonymous().get("/healthz"))) == {200}


class TestTable:
    def test_rows_of_all_routes_exist(self, app: Flask) -> None:
        named = {declared.rate for view in app.view_functions.values() if (declared := find_endpoint(view))}
        assert all(is_row(name) for name in named if name)

    def test_misspelt_row_does_not_exist(self) -> None:
        assert not is_row("sing_up")
        assert is_row("sign_up")

    def test_rates_equal_the_published_numbers(self) -> None:
        rates = RateLimits()
        assert [(rate.times, rate.per_s) for rate in rates.invite] == [(20, 3600), (50, 86400)]
        assert [(rate.times, rate.per_s) for rate in rates.sign_in_failures] == [(10, 900)]
