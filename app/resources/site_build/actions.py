"""Use cases of builds: request the build of a commit or a change set, and delete a build."""

from dataclasses import dataclass

from app.core.errors import NotFound
from app.core.outbound import UnrecordedAct
from app.database import transactions
from app.drivers.sandbox.port import SandboxHost
from app.extensions import db
from app.models.change_set import ChangeSet
from app.models.project import Project
from app.models.site_build import SiteBuild
from app.resources.change_set.errors import StateConflict
from app.resources.change_set.states import OPEN
from app.resources.project_content.actions import ContentBranch
from app.resources.project_content.source import find_commit
from app.resources.site_build import service


@dataclass(frozen=True)
class Requested:
    """The build of a commit. It is new, or it existed."""

    build: SiteBuild
    is_new: bool


def request(
    site: ContentBranch, host: SandboxHost, *, commit_sha: str | None, change_set_id: str | None, limit_mb: int
) -> UnrecordedAct[Requested]:
    """Request the build of a commit, or of the head of a change set of the project.

    Raises:
        NotFound: no branch contains the commit, or the project has no such set.
        SandboxUnavailable: the node cannot build sites.
        StorageLimitReached: the organization has no storage for builds left.
    """
    project = site.project
    if change_set_id is not None:
        change_set = db.session.get(ChangeSet, change_set_id)
        if change_set is None or change_set.project_id != project.id:
            raise NotFound("Change set not found")
        commit_sha = change_set.head_sha
    with transactions.outside_transaction():
        host.check()
        commit = find_commit(site.source(), commit_sha)

    def record() -> Requested:
        build, is_new = service.request(
            project, commit, user_id=site.by.id, change_set_id=change_set_id, limit_mb=limit_mb
        )
        return Requested(build, is_new)

    return UnrecordedAct(record)


def request_set(
    change_set: ChangeSet, project: Project, host: SandboxHost, user_id: str, limit_mb: int
) -> UnrecordedAct[None]:
    """Request the builds of an open change set and of the commit on which it is based.

    Raises:
        StateConflict: the set was published or closed.
        SandboxUnavailable: the node cannot build sites.
        StorageLimitReached: the organization has no storage for builds left.
    """
    if change_set.state not in OPEN:
        raise StateConflict(change_set.state, OPEN)
    with transactions.outside_transaction():
        host.check()
    return UnrecordedAct(lambda: service.request_set(change_set, project, user_id=user_id, limit_mb=limit_mb))


def delete(build: SiteBuild) -> dict[str, object]:
    """Delete a build and the objects that no other build has. A sandbox that still builds it is stopped."""
    build_id = build.id
    service.remove(build)
    return {"id": build_id}
