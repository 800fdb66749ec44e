"""Upper bounds for tests on a busy machine."""

import time

WORK_S = 0.05


def within(seconds: float) -> float:
    """Return an upper bound: the seconds, multiplied by how much slower this process runs now than on a free processor."""
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    while time.process_time() - start_cpu_s < WORK_S:
        pass
    return seconds * max(1.0, (time.perf_counter() - start_s) / WORK_S)
