"""The return of free memory to the operating system."""

import ctypes
import sys
from functools import cache
from typing import Any


def return_free_memory() -> None:
    """Return the free pages of the heap to the system. The C library keeps those between small objects otherwise."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    """Return the function of the GNU C library. Other libraries do not have it."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
