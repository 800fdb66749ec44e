"""Events of sandboxes."""

from app.core.events import Event
from app.models.sandbox import Sandbox

sandbox_running: Event[[Sandbox]] = Event("sandbox_running")
"""The server of a site answers."""

sandbox_failed: Event[[Sandbox]] = Event("sandbox_failed")
"""A sandbox could not be started, or its server ended."""
