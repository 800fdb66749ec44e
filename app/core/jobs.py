"""Declarations of background jobs with `@job`, and their registry.

`app.extensions.jobs.enqueue(name, …)` writes a job call in the running transaction. The worker looks the name up in the
registry. Jobs are idempotent, receive ids as arguments, and may run more than once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])
LOWEST_PRIORITY = -1
"""The lowest priority. A waiting call blocks calls with the same lock key and the same or a lower priority."""


@dataclass(frozen=True)
class Job:
    """A declared job.

    `retries` is the number of retries after a failed run (exponential back-off with jitter) before the call becomes a
    dead letter. `every` makes the job periodic. `transaction` runs the function in one transaction; without it, the
    function starts in READING and opens short transactions. `uses` names the driver kinds that the function receives as
    keyword-only arguments. `priority` is higher for jobs that a user waits for. An `outbound` job mostly waits for the
    server of a user: it has other threads, so slow servers hold no thread of the service's own work.
    """

    name: str
    run: Callable[..., object]
    retries: int = 8
    every: timedelta | None = None
    transaction: bool = False
    uses: tuple[str, ...] = ()
    priority: int = 0
    outbound: bool = False


@dataclass(frozen=True)
class JobCall:
    """A request to run a job.

    A call is dropped while another call with the same `unique` key waits. Calls with the same `lock` key run one after
    another, in order. `context` contains the request id and the trace that led to the call
    (`app.observability.correlation`).
    """

    name: str
    args: Mapping[str, object] = field(default_factory=dict)
    delay: timedelta = timedelta(0)
    unique: str | None = None
    lock: str | None = None
    priority: int = 0
    context: Mapping[str, str] = field(default_factory=dict)


registry: dict[str, Job] = {}


class PermanentFailure(Exception):
    """A failure that a retry cannot resolve. The call becomes a dead letter at once."""


def job(
    name: str,
    *,
    retries: int = 8,
    every: timedelta | None = None,
    transaction: bool = False,
    uses: tuple[str, ...] = (),
    priority: int = 0,
    outbound: bool = False,
) -> Callable[[F], F]:
    """Declare a function as the job `name` (dotted: `content.index`)."""

    def declare(run: F) -> F:
        registered = registry.get(name)
        if registered is not None and registered.run.__qualname__ != run.__qualname__:
            raise ValueError(f"two jobs are named {name}")
        registry[name] = Job(name, run, retries, every, transaction, uses, priority, outbound)
        return run

    return declare
