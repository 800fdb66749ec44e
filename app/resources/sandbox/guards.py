"""Guard of routes whose body names a project or a sandbox, the declared stop, and the rate of starts."""

from dataclasses import dataclass

from app.access import targets
from app.access.caller import Caller
from app.access.guards import Guard
from app.access.scope import ProjectScope
from app.access.tokens import EDITS
from app.core.errors import NotFound
from app.extensions import db
from app.http import rate_limits
from app.http.actions import DeclaredAction
from app.models.sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class SandboxScope(ProjectScope):
    """The scope of a route whose body names a project, or the sandbox of one."""

    sandbox: Sandbox | None = None


def member_of_named() -> Guard:
    """Permit members of the organization of the named project or sandbox."""
    find = targets.Resolver(SandboxScope, _named)
    return Guard("memberOfOrg", lambda s: s.role is not None, find, target_in_body=True, token=EDITS)


def _named(caller: Caller | None, ids: targets.Ids) -> SandboxScope:
    """Return the project with its organization, and the sandbox if the body contains its id."""
    project_id, sandbox = ids["project_id"], None
    if ids.get("sandbox_id") is not None:
        sandbox = db.session.get(Sandbox, ids["sandbox_id"])
        if sandbox is None or project_id not in (None, sandbox.project_id):
            raise NotFound("There is no such sandbox")
        project_id = sandbox.project_id
    scope = targets.project("project_id").find(caller, {**ids, "project_id": project_id})
    return SandboxScope(**vars(scope) | {"sandbox": sandbox, "path": ids})


STOP = DeclaredAction(guard=member_of_named(), outside=True, allow_archived=True, rate="sandbox_stop")


def count_start(user_id: str) -> None:
    """Count a start of a sandbox. Raises TooManyRequests."""
    rate_limits.count("sandbox_create", user_id)


def confirm_start() -> None:
    """Keep the count of a start that runs, also if the site fails."""
    rate_limits.confirm_recorded()
