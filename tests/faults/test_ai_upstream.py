"""Tests of an unreachable, silent or faulty model provider, and of readers that disconnect.

A failure before the first text is a status. A later failure is an error part, never text. The tests use the running service
and take some minutes. Run them with `make faults`.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.faults.ai_deployment import ASK, FREED_WITHIN_S, AiDeployment, AiWorkload
from tests.faults.steps import fault_of, until
from tests.resources.ai.streams import kinds, parts
from tests.support.doubles.ai import say
from tests.support.doubles.fault_proxy import Mode

WORDS = ("one ", "two ", "three ", "four ", "five ")
ERROR_WITHIN_S = 21
COPILOT, PROMPT = "/api/ai/copilot", {"prompt": "The quick"}
FAULTS_BEFORE_REPLY: tuple[tuple[int | str, set[int]], ...] = (
    (401, {503}), (429, {503}), (500, {502}), (503, {502}), ("html", {502}), ("json", {502}), ("silent", {504}),
)  # fmt: skip
NETWORK = ((Mode.REFUSE, {502, 503}), (Mode.RESET, {502, 503}), (Mode.BLACKHOLE, {504}), (Mode.STALL, {504}))
FAULTS_DURING_REPLY = ("stall", "reset", "cut", "garbage", "error", "not-utf8", "huge")
STREAMS = 4


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AiDeployment]:
    with AiDeployment(tmp_path_factory.mktemp("ai")) as created:
        assert isinstance(created, AiDeployment)
        yield created


@pytest.fixture
def workload(deployment: AiDeployment) -> Iterator[AiWorkload]:
    """Create a workload. At the end, check that calls work again, nothing is held and the invariants hold."""
    deployment.double.script, deployment.double.fault = [say(*WORDS)], None
    created = AiWorkload(deployment)
    assert created.send_prompt()[0].text == "".join(WORDS)
    connections = deployment.connections() + 1  # two calls run at once, and the pool keeps one connection
    yield created
    deployment.double.fault = None
    created.wait_until_released(connections)
    again = created.send_prompt()[0]
    assert (again.status, again.text) == (200, "".join(WORDS))
    assert created.check() == []


def statuses_of_two_calls(workload: AiWorkload) -> list[int]:
    """Return the statuses of a stream and of a JSON call that run at once, while other users work."""
    reply: dict[str, int] = {}
    calls = (("/api/ai/command", ASK), (COPILOT, PROMPT))
    threads = [
        threading.Thread(target=lambda p=path, b=body: reply.update({p: workload.send_prompt(p, b)[0].status}))
        for path, body in calls
    ]
    for thread in threads:
        thread.start()
    workload.check_other_users()
    for thread in threads:
        thread.join(60)
    return [reply[path] for path, _ in calls]


@pytest.mark.parametrize(
    ("fault", "statuses"), FAULTS_BEFORE_REPLY, ids=[str(fault) for fault, _ in FAULTS_BEFORE_REPLY]
)
def test_provider_failure_before_the_first_text_is_a_status(
    deployment: AiDeployment, workload: AiWorkload, fault: int | str, statuses: set[int]
) -> None:
    deployment.double.fault = fault
    assert set(statuses_of_two_calls(workload)) <= statuses


@pytest.mark.parametrize(("mode", "statuses"), NETWORK, ids=[mode for mode, _ in NETWORK])
def test_unreachable_provider_is_a_status(
    deployment: AiDeployment, workload: AiWorkload, mode: Mode, statuses: set[int]
) -> None:
    with fault_of(deployment.proxy, mode):
        assert set(statuses_of_two_calls(workload)) <= statuses


@pytest.mark.parametrize("fault", FAULTS_DURING_REPLY)
def test_provider_failure_during_text_is_an_error_part(
    deployment: AiDeployment, workload: AiWorkload, fault: str
) -> None:
    deployment.double.fault, deployment.double.fault_at = fault, 3
    reply = workload.send_prompt()[0]
    assert reply.status == 200
    assert reply.kinds.count("error") == 1
    assert reply.kinds[-1] == "error"
    assert reply.silence_s < ERROR_WITHIN_S
    assert "".join(WORDS).startswith(reply.text)
    assert b"rubbish" not in reply.raw
    assert workload.send_prompt(COPILOT, PROMPT)[0].status in (502, 504)
    workload.check_other_users()


@pytest.mark.parametrize("mode", [Mode.RESET, Mode.STALL, Mode.REFUSE])
def test_network_failure_during_text_is_an_error_part(
    deployment: AiDeployment, workload: AiWorkload, mode: Mode
) -> None:
    deployment.double.fault = "endless"
    reply, answer = workload.send_prompt(read=False)
    assert reply.status == 200
    pieces = answer.iter_content(None)
    while b"text-delta" not in reply.raw:
        reply.raw += next(pieces)
    with fault_of(deployment.proxy, mode):
        workload.check_other_users()
        reply.raw += b"".join(pieces)
    assert kinds(parts(reply.raw))[-1] == "error"
    assert re.fullmatch(r"(one )?(two )?(x )*", reply.text)


@pytest.mark.parametrize("fault", ["silent", "stall", "endless"])
def test_disconnected_readers_release_their_slots_and_connections(
    deployment: AiDeployment, workload: AiWorkload, fault: str
) -> None:
    before = deployment.connections()
    deployment.double.fault, deployment.double.fault_at = fault, 3
    deployment.double.asked.clear()
    with ExitStack() as open_ends:
        for _ in range(STREAMS):
            open_ends.enter_context(workload.open_stream())
        until(lambda: len(deployment.double.asked) == STREAMS, "not all are asked", 20)
        assert workload.running() == STREAMS
        assert workload.send_prompt()[0].status == 429
    for asked in deployment.double.asked[:STREAMS]:
        deployment.double.wait_closed(asked, FREED_WITHIN_S)
    workload.wait_until_released(before)
    deployment.double.fault = None
    assert [workload.send_prompt()[0].status for _ in range(STREAMS)] == [200] * STREAMS


def test_disconnected_readers_of_a_stalled_provider_release_their_slots(
    deployment: AiDeployment, workload: AiWorkload
) -> None:
    before = deployment.connections()
    deployment.double.fault = "endless"
    with fault_of(deployment.proxy, Mode.SLOW, delay_s=0.05), ExitStack() as open_ends:
        for _ in range(STREAMS):
            open_ends.enter_context(workload.open_stream())
        until(lambda: workload.running() == STREAMS, "not all are asked", 20)
        deployment.proxy.fail(Mode.STALL)
        open_ends.close()
        workload.wait_until_released(before)
