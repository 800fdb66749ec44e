"""Tests of `time_limit` in a process that gevent has patched and in one that it has not."""

import subprocess
import sys

from app.concurrency.threadpool import time_limit
from app.core.errors import AppError

PATCHED = """
from gevent import monkey
monkey.patch_all()
import socket
from app.core.errors import AppError
from app.concurrency.threadpool import time_limit
here, there = socket.socketpair()
try:
    with time_limit(0.1, AppError("late")):
        here.recv(1)
except AppError as error:
    print(error.message)
with time_limit(5, AppError("late")):
    there.sendall(b"x")
    print(here.recv(1).decode())
"""


class TestTimeLimit:
    def test_limit_ends_a_long_wait_in_a_greenlet_only(self) -> None:
        done = subprocess.run([sys.executable, "-c", PATCHED], capture_output=True, text=True, timeout=30)
        assert done.stdout.split() == ["late", "x"], done.stderr

    def test_plain_thread_is_not_limited(self) -> None:
        with time_limit(0, AppError("late")):
            assert True
