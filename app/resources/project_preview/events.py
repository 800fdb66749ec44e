"""What preview records announce."""

from app.core.events import Event

preview_deleting: Event[[str, str | None]] = Event("preview_deleting")
"""The record of the project (its id) goes; the sandbox it names, if any, is to be stopped."""
