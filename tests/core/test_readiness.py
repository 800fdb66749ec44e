"""Waits for something to read, where threads wait and where greenlets do."""

import socket
import subprocess
import sys
import time

from app.core import readiness

IN_GREENLETS = """
from gevent import monkey; monkey.patch_all()
import socket, threading, time
from app.core import readiness
here, there = socket.socketpair()
here.settimeout(0)
ready = readiness.of(here.fileno())
seen = []
def wait():
    seen.append(ready.wait(0.1))
def after(seconds, act):
    timer = threading.Timer(seconds, act); timer.start()
after(0.3, ready.wake); start = time.monotonic(); wait()
assert 0.2 < time.monotonic() - start < 3, "it ends when it is woken, not before"
after(0.1, lambda: there.send(b"x")); wait()
assert here.recv(10) == b"x"
ready.wake()
after(0.1, lambda: there.shutdown(socket.SHUT_RDWR)); wait()
assert here.recv(10) == b""
ready.close()
print(seen)
"""


class TestInThreads:
    def test_what_comes_ends_the_wait_and_silence_its_time(self) -> None:
        here, there = socket.socketpair()
        with here, there:
            ready = readiness.of(here.fileno())
            start = time.monotonic()
            assert not ready.wait(0.05)
            assert time.monotonic() - start < 2
            there.send(b"x")
            assert ready.wait(5)
            there.close()
            assert ready.wait(5)
            ready.close()


class TestInGreenlets:
    def test_what_comes_ends_the_wait_and_so_does_a_wake(self) -> None:
        done = subprocess.run([sys.executable, "-c", IN_GREENLETS], capture_output=True, text=True, timeout=60)
        assert (done.stderr, done.stdout) == ("", "[False, True, True]\n")
