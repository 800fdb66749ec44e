"""Contract of job engines. The tests of an engine inherit it and define the fixture `url` of a database."""

from tests.drivers.jobs.contract.calls import Enqueueing, LockedCalls, UniqueCalls
from tests.drivers.jobs.contract.outcomes import CallStatus, FailedRuns
from tests.drivers.jobs.contract.suite import Recorder, Suite, failing, running_worker, until
from tests.drivers.jobs.contract.workers import OutboundJobs, Periodic, Tables, WorkerFailures

__all__ = [
    "CallStatus",
    "Enqueueing",
    "FailedRuns",
    "LockedCalls",
    "OutboundJobs",
    "Periodic",
    "Recorder",
    "Suite",
    "Tables",
    "UniqueCalls",
    "WorkerFailures",
    "failing",
    "running_worker",
    "until",
]
