"""Log entries for changed files, and removal of the names of deleted users."""

from app.resources.project.events import files_changed
from app.resources.project_log import service
from app.resources.user.events import user_deleting

files_changed.subscribe(service.record_changes)
user_deleting.subscribe(service.anonymize_author)
