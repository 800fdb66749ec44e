"""Tests of the limits on request bodies in flight: per worker, per address, and before authentication."""

import threading
from typing import Any

import pytest
from flask import Flask

from app.core.errors import NotAuthenticated, ServiceUnavailable, TooManyRequests
from app.core.limits import MIB, InputLimits
from app.http.body_admission import BodyAdmission, BodyBudget
from app.http.endpoint import find_endpoint
from tests.support.world import World

pytestmark = pytest.mark.one_database

LIMITS = InputLimits(bodies_bytes=100, bodies_address_bytes=40, unauthenticated_bytes=10)


class UnreadableBody:
    """A body that fails the test at the first read."""

    def read(self, *_: object) -> bytes:
        raise AssertionError("the body was read")


@pytest.fixture
def budget() -> BodyBudget:
    return BodyBudget(LIMITS)


class TestBodyBudget:
    def test_reserve_above_the_address_limit_raises_too_many_requests(self, budget: BodyBudget) -> None:
        budget.reserve("192.0.2.1", 40)
        with pytest.raises(TooManyRequests) as refused:
            budget.reserve("192.0.2.1", 1)
        assert int(refused.value.headers["Retry-After"]) > 0
        budget.reserve("192.0.2.2", 40)

    def test_reserve_above_the_worker_limit_raises_service_unavailable(self, budget: BodyBudget) -> None:
        for number in range(2):
            budget.reserve(f"192.0.2.{number}", 40)
        with pytest.raises(ServiceUnavailable) as refused:
            budget.reserve("192.0.2.9", 21)
        assert int(refused.value.headers["Retry-After"]) > 0
        budget.reserve("192.0.2.9", 20)

    def test_release_makes_the_memory_available_again(self, budget: BodyBudget) -> None:
        budget.reserve("192.0.2.1", 40)
        budget.release("192.0.2.1", 40)
        assert budget.reserved_bytes == 0
        budget.reserve("192.0.2.1", 40)

    def test_reserve_in_parallel_never_exceeds_the_limit(self, budget: BodyBudget) -> None:
        admitted = []

        def reserve() -> None:
            for _ in range(50):
                try:
                    budget.reserve("192.0.2.1", 1)
                except TooManyRequests:
                    continue
                admitted.append(1)

        threads = [threading.Thread(target=reserve) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(admitted) == budget.reserved_bytes == 40


class TestBodyAdmission:
    def test_admit_above_the_unauthenticated_size_requires_a_session(self, budget: BodyBudget) -> None:
        def authenticate() -> None:
            raise NotAuthenticated

        admission = BodyAdmission(budget, "192.0.2.1", authenticate=authenticate, unauthenticated_bytes=10)
        admission.admit(10)
        with pytest.raises(NotAuthenticated):
            admission.admit(11)
        assert budget.reserved_bytes == 10

    def test_release_returns_each_step_that_was_admitted(self, budget: BodyBudget) -> None:
        admission = BodyAdmission(budget, "192.0.2.1", authenticate=lambda: None, unauthenticated_bytes=10)
        for size_bytes in (5, 20, 20, 30):
            admission.admit(size_bytes)
        assert budget.reserved_bytes == 30
        admission.release()
        assert budget.reserved_bytes == 0


class TestEndpoint:
    COMMIT = "/project-content/prj_01h455vb4pex5vsknk084sn02q/commit"

    def send(self, world: World, size_bytes: int | None, *, signed_in: bool) -> Any:
        length = {"wsgi.input_terminated": True} if size_bytes is None else {"CONTENT_LENGTH": str(size_bytes)}
        browser = world.person() if signed_in else world.anonymous()
        environ = {"wsgi.input": UnreadableBody(), "REMOTE_ADDR": "198.51.100.7", **length}
        return browser.call("POST", self.COMMIT, content_type="application/json", environ_overrides=environ)

    def test_large_body_without_a_session_is_refused_unread(self, world: World) -> None:
        self.send(world, 2 * MIB, signed_in=False).fails(401, "NOT_SIGNED_IN")

    def test_body_above_the_budget_of_its_address_receives_429_unread(self, app: Flask, world: World) -> None:
        budget: BodyBudget = app.extensions["body_budget"]
        budget.reserve("198.51.100.7", InputLimits.bodies_address_bytes)
        try:
            answer = self.send(world, 2 * MIB, signed_in=True)
        finally:
            budget.release("198.51.100.7", InputLimits.bodies_address_bytes)
        answer.fails(429, "TOO_MANY_REQUESTS")
        assert int(answer.headers["Retry-After"]) > 0

    @pytest.mark.parametrize("body", [{}, {"files": []}])
    def test_finished_request_returns_its_memory(self, app: Flask, world: World, body: dict[str, Any]) -> None:
        world.person().post("/user/check-limits", body)
        world.anonymous().post("/auth/sign-in/email", body)
        assert app.extensions["body_budget"].reserved_bytes == 0

    def test_public_route_accepts_no_body_above_the_unauthenticated_size(self, app: Flask) -> None:
        declared = filter(None, map(find_endpoint, app.view_functions.values()))
        large = [each.message for each in declared if each.guard.public and each.max_bytes > MIB]
        assert large == []
