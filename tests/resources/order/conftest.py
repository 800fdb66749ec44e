"""Fixtures of the billing tests: an application that accepts payments."""

from tests.support.payments import app, faultless, paddle, settings

__all__ = ["app", "faultless", "paddle", "settings"]
