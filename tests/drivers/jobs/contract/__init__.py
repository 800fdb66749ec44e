"""What every job engine must do, as a suite each engine's tests inherit; they give `url`, a database to use."""

from tests.drivers.jobs.contract.calls import Enqueueing, LockedCalls, UniqueCalls
from tests.drivers.jobs.contract.living import Periodic, Surviving, Tables
from tests.drivers.jobs.contract.outcomes import Failing, Watching
from tests.drivers.jobs.contract.suite import Recorder, Suite, failing, until, working

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
    "until",
    "working",
]
