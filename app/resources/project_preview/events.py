"""Events of preview records."""

from app.core.events import Event

preview_deleting: Event[[str, str | None]] = Event("preview_deleting")
"""Published before the record of a project is deleted, with the ids of the project and its sandbox."""
