"""Guard of routes whose body names a project or a sandbox."""

from typing import Any

from app.access import targets
from app.access.caller import Caller
from app.access.guards import Guard
from app.access.tokens import EDITS
from app.core.errors import NotFound
from app.extensions import db
from app.models.sandbox import Sandbox


def member_of_named() -> Guard:
    """Permit members of the organization of the named project or sandbox."""
    return Guard("memberOfOrg", lambda s: s.role is not None, _named, target_in_body=True, token=EDITS)


def _named(actor: Caller | None, ids: targets.Ids) -> targets.Targets:
    """Return the project with its organization, and the `sandbox` if the body contains its id."""
    resolved: dict[str, Any] = {}
    project_id = ids["project_id"]
    if ids["sandbox_id"] is not None:
        sandbox = db.session.get(Sandbox, ids["sandbox_id"])
        if sandbox is None or project_id not in (None, sandbox.project_id):
            raise NotFound("There is no such sandbox")
        project_id, resolved = sandbox.project_id, {"sandbox": sandbox}
    return targets.project("project_id")(actor, {"project_id": project_id}) | resolved
