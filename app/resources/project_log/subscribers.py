"""What other resources' doings mean for the log."""

from app.resources.project.activity import files_changed
from app.resources.project_log import service
from app.resources.user.events import user_deleting

files_changed.subscribe(service.record_changes)
user_deleting.subscribe(service.forget)
