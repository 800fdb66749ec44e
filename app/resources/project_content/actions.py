"""Use cases of the files of a branch: reads of a file or of two commits, saves, merges, restored versions."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from app.content.schema.model import ContentSchema
from app.core.errors import NotFound
from app.core.refs import is_sha
from app.database import transactions
from app.drivers.git.hosts import GitHosts
from app.models.project import Project
from app.models.project_content import ContentIndex, IndexStatus
from app.models.user import Actor
from app.resources.project_content.index import indexes
from app.resources.project_content.save_request import SaveRequest
from app.resources.project_content.saving import front_matter, merging
from app.resources.project_content.saving.commit_builder import NoChange
from app.resources.project_content.saving.commits import create_commit, create_merged_commit
from app.resources.project_content.saving.front_matter import FrontMatterEdit
from app.resources.project_content.saving.merging import Check, MergePlanner, MergeRequest
from app.resources.project_content.saving.restore import RestoreRequest, plan_restore
from app.resources.project_content.saving.shared_values import with_shared_values
from app.resources.project_content.schema import schema_sources, schema_validation
from app.resources.project_content.service import UnrecordedSave, unrecorded
from app.resources.project_content.source import Source, find_commit, source_of
from app.resources.project_content.versions import comparison, file_metadata
from app.resources.project_content.versions.file_metadata import RawFile
from app.resources.source_marks.queries import data_without_marks, values_without_marks


@dataclass(frozen=True)
class ContentBranch:
    """A branch of a project, and the person who reads or changes it. Without a name it is the working branch.

    `working` is the index of the working branch, if it exists.
    """

    project: Project
    working: ContentIndex | None
    by: Actor
    hosts: GitHosts
    name: str | None = None

    def source(self) -> Source:
        """Return the branch at its Git host, with the credential of the person. Raises as `source_of`."""
        return source_of(self.project, self.hosts, branch=self.name, user=self.by)

    def index(self) -> ContentIndex | None:
        """Return the index. Create it at the first read of another branch than the working branch."""
        return indexes.ensure_index(self.project, self.working, self.name, hosts=self.hosts, by=self.by)

    def fresh_index(self) -> ContentIndex | None:
        """Return the index, marked as stale if a local branch moved."""
        return indexes.mark_stale_if_moved(self.project, self.index(), hosts=self.hosts)

    def schema(self) -> ContentSchema:
        """Return the schema of the branch."""
        return self._schema_of(self.index())

    def check_of_save(self, *, prefix: str | None = None, without: Collection[str] = ()) -> Check:
        """Return the comparison of saved files with the schema, which is read once. Some paths are not compared.

        A branch that is not indexed yet has the schema of the working branch.
        """
        index = self.index()
        schema = self._schema_of(index if index is not None and index.generation > 0 else self.working)
        return lambda edits: schema_validation.check(
            schema, [edit for edit in edits if edit.change.path not in without], prefix=prefix
        )

    def with_shared_values(self, request: MergeRequest) -> MergeRequest:
        """Return a save with the values that its entries have in all languages. Calls the Git host.

        The schema is that of the working branch.
        """
        source, schema = self.source(), self._schema_of(self.working)
        with transactions.outside_transaction():
            return with_shared_values(source, schema, request)

    def _schema_of(self, index: ContentIndex | None) -> ContentSchema:
        return schema_sources.content_schema(self.project, index, hosts=self.hosts, by=self.by)


def read_metadata(branch: ContentBranch, file: str) -> dict[str, object]:
    """Return the metadata of a file of a branch, or of a commit if the name is a full sha. Raises NotFound."""
    if branch.name and is_sha(branch.name):
        return file_metadata.metadata_at_commit(*_commit(branch), file)
    project, index = branch.project, branch.index()
    try:
        return file_metadata.metadata(project, index, file, hosts=branch.hosts, by=branch.by)
    except NotFound as error:
        return file_metadata.metadata_at_commit(*_unindexed_head(branch, error), file)


def find_raw_file(branch: ContentBranch, file: str) -> RawFile:
    """Return the blob of a file with its source, as `read_metadata`. Raises NotFound."""
    if branch.name and is_sha(branch.name):
        return file_metadata.find_raw_at_commit(*_commit(branch), file)
    index = branch.index()
    try:
        return file_metadata.find_raw(index, file, branch.source())
    except NotFound as error:
        return file_metadata.find_raw_at_commit(*_unindexed_head(branch, error), file)


def _commit(branch: ContentBranch) -> tuple[Source, str]:
    """Return the working branch and the commit that the name of the branch is. Raises NotFound."""
    source = source_of(branch.project, branch.hosts, user=branch.by)
    return source, find_commit(source, branch.name)


def _unindexed_head(branch: ContentBranch, error: NotFound) -> tuple[Source, str]:
    """Return the source and the head of a branch whose index may not know a file yet. Raises the error otherwise."""
    is_working = branch.name in (None, branch.project.branch)
    index = indexes.mark_stale_if_moved(branch.project, branch.working, hosts=branch.hosts) if is_working else None
    if index is not None and index.status == IndexStatus.READY:
        raise error
    with transactions.outside_transaction():
        source = branch.source()
        return source, source.repository.head(source.branch)


def compare_commits(
    source: Source, *, base: str, head: str | None, file: str | None, cursor: str | None, limit: int
) -> comparison.CommitComparison:
    """Return the difference of two commits, or of one file in them. Raises NotFound, InvalidRequest."""
    if file is not None:
        return comparison.compare_path(source, base=base, head=head, file=file)
    return comparison.compare(source, base=base, head=head, cursor=cursor, limit=limit)


def save_files(
    branch: ContentBranch,
    request: MergeRequest,
    *,
    merges: bool = False,
    is_validated: bool = False,
    shares: bool = False,
    creates_index: bool = True,
    prefix: str | None = None,
) -> UnrecordedSave:
    """Create the commit of a save. With `merges`, files that have changed since the base are merged.

    With `is_validated` or `shares`, translations receive the values that entries have in all languages. `prefix` is
    that of the pointers of invalid values.

    Raises as `create_commit` and `create_merged_commit`.
    """
    request = _without_marks(branch.project.id, request)
    own = {edit.change.path for edit in request.edits}
    if is_validated or shares:
        request = branch.with_shared_values(request)
    # Earlier faults of a translation do not refuse the save of its original.
    others = {edit.change.path for edit in request.edits} - own
    source, check = branch.source(), branch.check_of_save(prefix=prefix, without=others) if is_validated else None
    if merges:
        planner = MergePlanner(source, request, check=check)
        saved = create_merged_commit(branch.project.id, source, planner, by=branch.by, creates_index=creates_index)
        return unrecorded(saved, by=branch.by)
    if check is not None:
        check(request.edits)
    save = SaveRequest(request.base_sha or "", request.edits, request.message, request.description)
    saved = create_commit(branch.project.id, source, save, by=branch.by, creates_index=creates_index)
    return unrecorded(saved, by=branch.by)


def _without_marks(project_id: str, request: MergeRequest) -> MergeRequest:
    """Return a save without the marks that editable previews of the project gave out."""
    edits = [
        edit
        if edit.change.content is None
        else replace(edit, change=replace(edit.change, content=data_without_marks(project_id, edit.change.content)))
        for edit in request.edits
    ]
    message = values_without_marks(project_id, request.message)
    description = values_without_marks(project_id, request.description)
    transactions.release_connection()
    return replace(request, edits=edits, message=message, description=description)


def preview_merge(branch: ContentBranch, request: MergeRequest, *, is_validated: bool) -> dict[str, object]:
    """Return what a merged save would write, and its conflicts."""
    source, check = branch.source(), branch.check_of_save() if is_validated else None
    return merging.preview(source, MergePlanner(source, request, check=check))


def edit_front_matter(
    branch: ContentBranch, edit: FrontMatterEdit, *, merges: bool, is_validated: bool
) -> UnrecordedSave:
    """Create the commit of a front matter edit, or return NoChange. Raises as `save_files` and `apply_edit`."""
    source = branch.source()
    edit = replace(edit, changes=values_without_marks(branch.project.id, dict(edit.changes)))
    transactions.release_connection()
    if merges:
        request = front_matter.plan_edit(source, edit)
        return save_files(branch, request, merges=True, is_validated=is_validated, prefix="")
    change = front_matter.apply_edit(source, edit)
    if isinstance(change, NoChange):
        return unrecorded(change, by=branch.by)
    request = MergeRequest(edit.base_sha, [change], edit.message or edit.default_message)
    return save_files(branch, request, is_validated=is_validated, prefix="")


def restore_version(branch: ContentBranch, request: RestoreRequest, message: str | None) -> UnrecordedSave:
    """Create the commit that restores a file or folder, or return NoChange. Raises NotFound, SaveConflict."""
    source = branch.source()
    edits = plan_restore(source, request)
    if isinstance(edits, NoChange):
        return unrecorded(edits, by=branch.by)
    save = SaveRequest(request.base_sha, edits, message or f"Restore {request.path} from {request.commit_sha[:7]}")
    return unrecorded(create_commit(branch.project.id, source, save, by=branch.by), by=branch.by)
