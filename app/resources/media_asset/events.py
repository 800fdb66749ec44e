"""Events of images that are attached to an organization or project, or to a user."""

from app.core.events import Event
from app.models.media import MediaAsset

asset_stored: Event[[MediaAsset]] = Event("asset_stored")
"""An image was uploaded."""

asset_deleting: Event[[MediaAsset]] = Event("asset_deleting")
"""Published before an image is deleted or replaced by a user. The end of its owner has its own event."""
