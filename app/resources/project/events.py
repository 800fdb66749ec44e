"""What projects announce; what hangs on them outside this resource reacts in the same transaction."""

from app.core.events import Event
from app.models.project import Project

project_connected: Event[[Project]] = Event("project_connected")
"""A project was made, or its repository or working branch changed; empty names mean it was disconnected."""

branch_moved: Event[[Project, str, str]] = Event("branch_moved")
"""A branch of a project's repository has got a new head through the project, but not by a save: its name, the head."""

project_moved: Event[[Project, str]] = Event("project_moved")
"""A project has moved to another organization; the id is that of the one it came from."""

project_deleting: Event[[Project]] = Event("project_deleting")
"""A project's row is about to go, and what hangs on it by foreign key with it."""
