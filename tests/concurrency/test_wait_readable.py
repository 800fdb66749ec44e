"""Tests of waits for readable sockets, in threads and in greenlets."""

import socket
import subprocess
import sys

import pytest
from gevent import monkey

from app.concurrency import wait_readable

IN_GREENLETS = """
from gevent import monkey; monkey.patch_all()
import socket, threading, time
from app.concurrency import wait_readable as readiness
here, there = socket.socketpair()
here.settimeout(0)
ready = readiness.for_socket(here.fileno())
seen = []
def wait():
    seen.append(ready.wait(0.1))
def after(seconds, act):
    timer = threading.Timer(seconds, act); timer.start()
after(0.3, ready.wake); start = time.monotonic(); wait()
assert time.monotonic() - start > 0.2, "it ends when it is woken, not before"
after(0.1, lambda: there.send(b"x")); wait()
assert here.recv(10) == b"x"
ready.wake()
after(0.1, lambda: there.shutdown(socket.SHUT_RDWR)); wait()
assert here.recv(10) == b""
ready.close()
print(seen)
"""


@pytest.mark.skipif(monkey.is_module_patched("threading"), reason="greenlets wait without a timeout")
class TestInThreads:
    def test_wait_ends_with_data_or_the_timeout(self) -> None:
        here, there = socket.socketpair()
        with here, there:
            ready = wait_readable.for_socket(here.fileno())
            assert not ready.wait(0.05)
            there.send(b"x")
            assert ready.wait(60)
            there.close()
            assert ready.wait(60)
            ready.close()


class TestInGreenlets:
    def test_wait_ends_with_data_or_a_wake_call(self) -> None:
        done = subprocess.run([sys.executable, "-c", IN_GREENLETS], capture_output=True, text=True, timeout=60)
        assert (done.stderr, done.stdout) == ("", "[False, True, True]\n")
