"""Builds of change sets that end without a sandbox."""

from dataclasses import dataclass

from app.database.transactions import reading_context, write_transaction
from app.extensions import current_settings, db
from app.models.project import Project
from app.resources.site_build import service
from tests.support.workspace import Workspace


@dataclass
class SetBuild:
    """A change set with one new page, and the build of a commit of it."""

    space: Workspace
    path: str
    set_id: str
    head: str
    build_id: str = ""
    attempt: int | None = None

    @classmethod
    def of_new_set(cls, space: Workspace) -> "SetBuild":
        """Create a set, and claim the build of its head."""
        made = space.me.post(f"/project/{space.project}/change-sets", {"title": "New page"}).ok(201)
        one = cls(space, f"/change-set/{made['id']}", made["id"], made["head_sha"])
        one.commit("content/new.md")
        one.request()
        return one

    def commit(self, path: str) -> None:
        """Add a page to the set."""
        file = {"path": path, "action": "create", "content": "# New\n"}
        body = {"message": "Add", "base_sha": self.head, "files": [file]}
        self.space.me.post(f"{self.path}/commit", body).ok(201)
        self.head = self.space.me.get(self.path).ok()["head_sha"]

    def request(self) -> None:
        """Request the build of the head, and claim it."""
        with reading_context(self.space.me.app), write_transaction():
            project, limits = db.session.get_one(Project, self.space.project), current_settings().limits.builds
            build, _ = service.request(project, self.head, user_id=None, change_set_id=self.set_id, limit_mb=10)
            self.build_id = build.id
            self.attempt = service.claim(build.id, node="here", processes=1, limits=limits)

    def end(self, *, fails: bool = False) -> bool:
        """End the attempt as its job does. Return whether it was the present one."""
        with reading_context(self.space.me.app), write_transaction():
            build = service.locked_attempt(self.build_id, self.attempt or 0)
            if build is not None and fails:
                service.fail(build, service.Failure("BUILD_FAILED", "The build failed"))
            elif build is not None:
                page = {"path": "index.html", "sha256": "1" * 64, "size": 1, "mimetype": "text/html"}
                row = page | {"build_id": build.id, "project_id": build.project_id}
                service.complete(build, [row], size=1, stored=1, limits=current_settings().limits.builds)
            return build is not None
