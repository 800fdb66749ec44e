"""Programs of Debian that a test runs."""

import os
import shutil

import pytest

SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])


def required_program(name: str, *, package: str = "") -> str:
    """Return the path of a program. Skip the test if it is not installed, except under CI."""
    program = shutil.which(name, path=SEARCH_PATH)
    if program is None:
        assert not os.environ.get("CI"), f"{name} is not installed (Debian: apt-get install {package or name})"
        pytest.skip(f"{name} is not installed")
    return program
