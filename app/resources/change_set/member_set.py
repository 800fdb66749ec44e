"""A change set together with the member who reads or changes it: the first argument of the use cases."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.core.permissions import Role
from app.extensions import jobs
from app.models.change_set import ChangeSet
from app.models.project import Project
from app.resources.change_set import content, queries, states
from app.resources.change_set.content import UPDATE_MESSAGE, Content
from app.resources.change_set.queries import Shown
from app.resources.change_set.states import Step
from app.resources.project_content.actions import ContentBranch
from app.resources.project_content.saving.merging import MergePlan, MergePlanner, MergeRequest


@dataclass(frozen=True)
class MemberSet:
    """A change set, and the member who reads or changes it. `site` is the working branch of its project."""

    change_set: ChangeSet
    site: ContentBranch
    role: Role | None

    @property
    def project(self) -> Project:
        return self.site.project

    @property
    def branch(self) -> ContentBranch:
        """The branch of the set."""
        return replace(self.site, name=self.change_set.branch)

    def lock(self) -> ChangeSet:
        """Return the present row, locked until the transaction ends. Raises NotFound."""
        return states.locked(self.change_set.id)

    def shown(self, row: ChangeSet) -> Shown:
        """Return the response of this set, or of another one of its project."""
        return queries.shown(row, self.project)

    def read(self) -> Content:
        """Return the present content at the Git host. Raises MissingBranch."""
        return content.read_content(self.branch.source(), self.change_set, self.project.branch)

    def read_open(self, step: Step) -> Content:
        """Return the present content of an open set. Raises StateConflict, MissingBranch."""
        if self.change_set.state not in states.OPEN:
            states.require(self.change_set, step, required_approvals=self.project.required_approvals)
        return self.read()

    def plan_update(self) -> MergePlan:
        """Return the merge with the present working branch. Nothing is written. Raises MissingBranch."""
        source = self.site.source()
        own = replace(source, branch=self.change_set.branch)
        present = content.read_content(own, self.change_set, self.project.branch)
        head = source.repository.head(source.branch)
        edits = content.edits_of(own, present.base_sha, present.head_sha)
        return MergePlanner(source, MergeRequest(present.base_sha, edits, UPDATE_MESSAGE)).plan(head)

    @property
    def release_jobs(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The job that releases the set and reads its branch again."""
        return [("change_sets.release", {"change_set_id": self.change_set.id})]

    def release(self) -> None:
        """Enqueue the job that releases the set."""
        for name, arguments in self.release_jobs:
            jobs.enqueue(name, **arguments)
