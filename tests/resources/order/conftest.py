"""The tests of billing run on an application that takes payments."""

from tests.support.payments import app, faultless, paddle, settings

__all__ = ["app", "faultless", "paddle", "settings"]
