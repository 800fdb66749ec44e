"""Events of builds."""

from app.core.events import Event
from app.models.site_build import SiteBuild

build_ended: Event[[SiteBuild]] = Event("build_ended")
"""A build is ready or has failed, in the transaction of the change. A cancelled build has no event."""
