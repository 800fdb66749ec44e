"""Contract of job engines. The tests of an engine inherit it and define the fixture `url` of a database."""

from tests.drivers.jobs.contract.calls import Enqueueing, LockedCalls, UniqueCalls
from tests.drivers.jobs.contract.living import Periodic, Surviving, Tables
from tests.drivers.jobs.contract.outcomes import Failing, Watching
from tests.drivers.jobs.contract.suite import Recorder, Suite, failing, running_worker, until

__all__ = [
    "Enqueueing",
    "Failing",
    "LockedCalls",
    "Periodic",
    "Recorder",
    "Suite",
    "Surviving",
    "Tables",
    "UniqueCalls",
    "Watching",
    "failing",
    "running_worker",
    "until",
]
