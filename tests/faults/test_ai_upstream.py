"""A model provider out of reach, silent, reset amid words and talking rubbish; and readers who leave.

Before the first words a failure is a status, after them an error part, and never text. Played on the running service;
takes some minutes; run by `make faults`.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.doubles.ai import say
from tests.doubles.fault_proxy import Mode
from tests.faults.ai_plant import ASK, FREED_WITHIN_S, AiLife, AiPlant
from tests.faults.playing import failing, until
from tests.resources.ai.streams import kinds, parts

WORDS = ("one ", "two ", "three ", "four ", "five ")
TOLD_WITHIN_S = 21
COPILOT, PROMPT = "/api/ai/copilot", {"prompt": "The quick"}
BEFORE: tuple[tuple[int | str, set[int]], ...] = (
    (401, {503}), (429, {503}), (500, {502}), (503, {502}), ("html", {502}), ("json", {502}), ("silent", {504}),
)  # fmt: skip
NETWORK = ((Mode.REFUSE, {502, 503}), (Mode.RESET, {502, 503}), (Mode.BLACKHOLE, {504}), (Mode.STALL, {504}))
AMID = ("stall", "reset", "cut", "garbage", "error", "not-utf8", "huge")
STREAMS = 4


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AiPlant]:
    with AiPlant(tmp_path_factory.mktemp("ai")) as made:
        assert isinstance(made, AiPlant)
        yield made


@pytest.fixture
def life(plant: AiPlant) -> Iterator[AiLife]:
    """Afterwards everything works again, nothing is held, and the invariants hold."""
    plant.double.script, plant.double.fault = [say(*WORDS)], None
    made = AiLife(plant)
    assert made.question()[0].text == "".join(WORDS)
    connections = plant.connections() + 1  # two are asked at once, and a good connection is kept for the next call
    yield made
    plant.double.fault = None
    made.freed(connections)
    again = made.question()[0]
    assert (again.status, again.text) == (200, "".join(WORDS))
    assert made.check() == []


def asked_twice(life: AiLife) -> list[int]:
    """The statuses of a stream and of an answer in JSON, asked at once while strangers go on."""
    heard: dict[str, int] = {}
    calls = (("/api/ai/command", ASK), (COPILOT, PROMPT))
    threads = [
        threading.Thread(target=lambda p=path, b=body: heard.update({p: life.question(p, b)[0].status}))
        for path, body in calls
    ]
    for thread in threads:
        thread.start()
    life.others()
    for thread in threads:
        thread.join(60)
    return [heard[path] for path, _ in calls]


@pytest.mark.parametrize(("fault", "statuses"), BEFORE, ids=[str(fault) for fault, _ in BEFORE])
def test_failure_before_the_first_words_is_a_status(
    plant: AiPlant, life: AiLife, fault: int | str, statuses: set[int]
) -> None:
    plant.double.fault = fault
    assert set(asked_twice(life)) <= statuses


@pytest.mark.parametrize(("mode", "statuses"), NETWORK, ids=[mode for mode, _ in NETWORK])
def test_provider_out_of_reach_is_a_status(plant: AiPlant, life: AiLife, mode: Mode, statuses: set[int]) -> None:
    with failing(plant.proxy, mode):
        assert set(asked_twice(life)) <= statuses


@pytest.mark.parametrize("fault", AMID)
def test_failure_amid_words_is_an_error_part_and_never_text(plant: AiPlant, life: AiLife, fault: str) -> None:
    plant.double.fault, plant.double.fault_at = fault, 3
    heard = life.question()[0]
    assert heard.status == 200
    assert heard.kinds.count("error") == 1
    assert heard.kinds[-1] == "error"
    assert heard.silence_s < TOLD_WITHIN_S
    assert "".join(WORDS).startswith(heard.text)
    assert b"rubbish" not in heard.raw
    assert life.question(COPILOT, PROMPT)[0].status in (502, 504)
    life.others()


@pytest.mark.parametrize("mode", [Mode.RESET, Mode.STALL, Mode.REFUSE])
def test_way_lost_amid_words_is_an_error_part(plant: AiPlant, life: AiLife, mode: Mode) -> None:
    plant.double.fault = "endless"
    heard, answer = life.question(read=False)
    assert heard.status == 200
    pieces = answer.iter_content(None)
    while b"text-delta" not in heard.raw:
        heard.raw += next(pieces)
    with failing(plant.proxy, mode):
        life.others()
        heard.raw += b"".join(pieces)
    assert kinds(parts(heard.raw))[-1] == "error"
    assert re.fullmatch(r"(one )?(two )?(x )*", heard.text)


@pytest.mark.parametrize("fault", ["silent", "stall", "endless"])
def test_readers_who_leave_free_their_slots_and_connections(plant: AiPlant, life: AiLife, fault: str) -> None:
    before = plant.connections()
    plant.double.fault, plant.double.fault_at = fault, 3
    plant.double.asked.clear()
    with ExitStack() as open_ends:
        for _ in range(STREAMS):
            open_ends.enter_context(life.asking())
        until(lambda: len(plant.double.asked) == STREAMS, "not all are asked", 20)
        assert life.running() == STREAMS
        assert life.question()[0].status == 429
    for asked in plant.double.asked[:STREAMS]:
        plant.double.wait_closed(asked, FREED_WITHIN_S)
    life.freed(before)
    plant.double.fault = None
    assert [life.question()[0].status for _ in range(STREAMS)] == [200] * STREAMS


def test_readers_who_leave_a_silent_way_free_their_slots(plant: AiPlant, life: AiLife) -> None:
    before = plant.connections()
    plant.double.fault = "endless"
    with failing(plant.proxy, Mode.SLOW, delay_s=0.05), ExitStack() as open_ends:
        for _ in range(STREAMS):
            open_ends.enter_context(life.asking())
        until(lambda: life.running() == STREAMS, "not all are asked", 20)
        plant.proxy.fail(Mode.STALL)
        open_ends.close()
        life.freed(before)
