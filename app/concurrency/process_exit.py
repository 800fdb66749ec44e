"""End of a process without the finalization of the interpreter."""

import atexit
import os
import sys
from typing import NoReturn


def exit_process(status: int) -> NoReturn:
    """Run the exit handlers, then end the process.

    The interpreter would first free every object of the application, which takes most of a second of processor time.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)
