"""Running servers, the requests that they receive, and the CPU time that they need for them."""

import contextlib
import http.client
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil

HERE = Path(__file__).parent
SERVER_CORE = 0


@dataclass
class Server:
    """A running server on the first core. Its CPU time contains that of its threads and of the programs that it runs."""

    pid: int
    port: int

    def __post_init__(self) -> None:
        for process in self._processes():
            process.cpu_affinity([SERVER_CORE])

    def cpu_s(self) -> float:
        return sum(_thread_seconds(process.pid) + sum(process.cpu_times()[2:4]) for process in self._processes())

    def memory_mb(self) -> list[float]:
        """Return the resident memory of each process in MB, the largest first."""
        return sorted((process.memory_info().rss / 1e6 for process in self._processes()), reverse=True)

    def _processes(self) -> list[psutil.Process]:
        server = psutil.Process(self.pid)
        return [server, *server.children(recursive=True)]


def _thread_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process. It is exact; the times of `/proc/PID/stat` have steps of 10 ms."""
    nanoseconds = 0
    for schedule in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            nanoseconds += int(schedule.read_text().split()[0])
    return nanoseconds / 1e9


@dataclass
class Candidate:
    """A request that one server receives repeatedly, on one connection per round."""

    name: str
    server: Server
    path: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Callable[[], bytes] = bytes
    status: int = 200
    rounds_ms: list[float] = field(default_factory=list)

    def send(self, times: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        for _ in range(times):
            connection.request(self.method, self.path, self.body() or None, dict(self.headers))
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == self.status, (self.name, answer.status, body[:500])
        connection.close()

    def measure(self, times: int) -> None:
        before_s = self.server.cpu_s()
        self.send(times)
        self.rounds_ms.append((self.server.cpu_s() - before_s) / times * 1_000)

    @property
    def cost_ms(self) -> float:
        """Return the CPU time of a request: the median of the rounds."""
        return median(self.rounds_ms)


@dataclass(frozen=True)
class Comparison:
    """A row of the output: the candidates of Galley, the peer (None if it is not installed), and the goal of the ratio."""

    name: str
    ours: Sequence[Candidate]
    peer: Candidate | None
    goal: float

    def line(self) -> str:
        """Return the costs, and the ratios of the medians."""
        if self.peer is None:
            costs = ", ".join(f"{one.name} {one.cost_ms:.3f} ms" for one in self.ours)
            return f"  {self.name}: {costs}; no peer"
        ratios = ", ".join(
            f"{one.name} {one.cost_ms:.3f} ms = {ratio(one.rounds_ms, self.peer.rounds_ms)}" for one in self.ours
        )
        return f"  {self.name}: {ratios} of {self.peer.name} {self.peer.cost_ms:.3f} ms (goal ≤ {self.goal})"


def ratio(ours: Sequence[float], peer: Sequence[float]) -> str:
    """Return the ratio of the medians, and the least and the largest ratio of a round."""
    rounds = [one / other for one, other in zip(ours, peer, strict=True)]
    return f"{median(ours) / median(peer):.2f} ({min(rounds):.2f}–{max(rounds):.2f})"


def interleave(rows: Sequence[Comparison], *, rounds: int, times: int, warm_up: int) -> None:
    """Measure all candidates of all rows in rounds, so that other load on the machine affects all of them."""
    candidates = {id(one): one for row in rows for one in (*row.ours, row.peer) if one is not None}.values()
    for one in candidates:
        one.send(warm_up)
    for _ in range(rounds):
        for one in candidates:
            one.measure(times)


@contextlib.contextmanager
def load_on_other_core() -> Iterator[None]:
    """Keep this process away from the core of the servers."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before - {SERVER_CORE} or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def started(
    command: Sequence[str | Path],
    *,
    cwd: Path = HERE,
    environment: Mapping[str, str] | None = None,
    within_s: float = 60,
) -> Iterator[Server]:
    """Run a server for the length of the block."""
    with contextlib.ExitStack() as stack:
        log = stack.enter_context((cwd / "server.log").open("wb")) if environment is not None else subprocess.DEVNULL
        process = subprocess.Popen(
            command, cwd=cwd, env=None if environment is None else {**os.environ, **environment}, stdout=log, stderr=log
        )
        try:
            yield Server(process.pid, _listening_port(process, within_s))
        finally:
            process.terminate()
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()


def _listening_port(process: "subprocess.Popen[bytes]", within_s: float) -> int:
    """Return the port of a process or one of its children as soon as it listens."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and process.poll() is None:
        server = psutil.Process(process.pid)
        for each in [server, *server.children(recursive=True)]:
            for connection in each.net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN:
                    time.sleep(1)  # gunicorn listens before its worker has started.
                    return int(connection.laddr.port)
        time.sleep(0.1)
    raise TimeoutError("the server does not listen")
