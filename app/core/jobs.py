"""Background jobs as their authors see them: declared with `@job`, named, and known to one registry.

Knows no engine. `app.extensions.jobs.enqueue(name, …)` puts a call into the running transaction; the worker looks the
name up here. Jobs are idempotent, take ids as arguments, and may run more than once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Job:
    """One declared job.

    `retries` is how often a failed run is tried again (exponential back-off with jitter) before it becomes a dead
    letter; `every` makes it periodic; `uses` names the driver kinds the function takes as keyword-only arguments;
    `priority` is higher for what a person waits for.
    """

    name: str
    run: Callable[..., object]
    retries: int = 8
    every: timedelta | None = None
    uses: tuple[str, ...] = ()
    priority: int = 0


@dataclass(frozen=True)
class JobCall:
    """One request to run a job.

    While a call with the same `unique` key waits, another is dropped; calls with the same `lock` key run one after
    another, in order. `cause` says what it follows from (`app.core.causes`).
    """

    name: str
    args: Mapping[str, object] = field(default_factory=dict)
    delay: timedelta = timedelta(0)
    unique: str | None = None
    lock: str | None = None
    priority: int = 0
    cause: Mapping[str, str] = field(default_factory=dict)


BEHIND_ALL_OTHERS = -1
"""Of calls that share a lock, one that waits keeps those from running that are no more urgent than itself."""

registry: dict[str, Job] = {}


class PermanentFailure(Exception):
    """Raised by a job whose failure no retry can mend: it becomes a dead letter at once."""


def job(
    name: str, *, retries: int = 8, every: timedelta | None = None, uses: tuple[str, ...] = (), priority: int = 0
) -> Callable[[F], F]:
    """Declare a function as the job `name` (dotted: `content.index`)."""

    def declare(run: F) -> F:
        known = registry.get(name)
        if known is not None and known.run.__qualname__ != run.__qualname__:
            raise ValueError(f"two jobs are named {name}")
        registry[name] = Job(name, run, retries, every, uses, priority)
        return run

    return declare
