"""Job that deletes images whose draft has no text."""

from datetime import timedelta

import sqlalchemy as sa

from app.core import clock
from app.core.jobs import job
from app.core.limits import DraftLimits
from app.models.project_content import DraftImage, ProjectDraft
from app.resources.system.retention import purge

INTERVAL = timedelta(hours=6)


@job("project_draft.sweep", every=INTERVAL, retries=2)
def delete_orphaned_images() -> None:
    """Delete images that were uploaded a day ago and whose draft was saved since, or never had a text."""
    image, draft = DraftImage, ProjectDraft
    has_draft = sa.exists().where(
        draft.project_id == image.project_id,
        draft.user_id == image.user_id,
        draft.branch == image.branch,
        draft.file == image.file,
    )
    before = clock.now() - timedelta(seconds=DraftLimits.orphan_ttl_s)
    purge(image, sa.and_(image.created_at < before, ~has_draft))
