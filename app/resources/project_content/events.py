"""Events of the indexes of branches."""

from app.core.events import Event
from app.models.project_content import ContentIndex

index_failed: Event[[ContentIndex, str]] = Event("index_failed")
"""A branch could not be read, with the reason. Published once until a run succeeds or the reason changes."""
