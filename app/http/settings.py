"""The running application's settings, for routes to pass on as plain values."""

from flask import current_app

from config import Settings


def settings() -> Settings:
    """What the service was told, and the numbers it goes by."""
    known: Settings = current_app.config["SETTINGS"]
    return known
