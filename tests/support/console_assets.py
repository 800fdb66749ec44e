"""The built assets of the console, for tests that need scripts."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "deploy" / "console_assets.py"


def load_script() -> ModuleType:
    """Return the build script as a module."""
    spec = importlib.util.spec_from_file_location("console_assets", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_assets() -> ModuleType:
    """Build the assets of this checkout and return the build script. Skip without the npm registry, except under CI."""
    module = load_script()
    if module.main(required=True) != 0:
        assert not os.environ.get("CI"), "the npm registry cannot be reached"
        pytest.skip("The npm registry cannot be reached")
    return module
