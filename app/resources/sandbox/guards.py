"""Which sandbox a body names, and who may reach it: members of the project's organization."""

from typing import Any

from app.core.errors import NotFound
from app.extensions import db
from app.http import targets
from app.http.caller import Caller
from app.http.guards import Guard
from app.models.sandbox import Sandbox


def member_of_named() -> Guard:
    """Any member of the organization whose project, or whose project's sandbox, the body names."""
    return Guard("memberOfOrg", lambda s: s.role is not None, _named, ids_in_body=True)


def _named(actor: Caller | None, ids: targets.Ids) -> targets.Found:
    """The project with its organization, and `sandbox` where its id is given."""
    found: dict[str, Any] = {}
    project_id = ids.get("projectId")
    if ids.get("sandboxId") is not None:
        sandbox = db.session.get(Sandbox, ids["sandboxId"])
        if sandbox is None or project_id not in (None, sandbox.project_id):
            raise NotFound("There is no such sandbox")
        project_id, found = sandbox.project_id, {"sandbox": sandbox}
    return targets.project("projectId")(actor, {"projectId": project_id}) | found
