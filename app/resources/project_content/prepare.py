"""Calls to the Git host before the transaction of a route, and reads that may create an index.

A repeated save finds the commit of its interrupted attempt.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from typing import Any, Protocol
from urllib.parse import urlsplit

from app.access.scope import ProjectScope
from app.content.schema.model import ContentSchema
from app.core.api_tokens import TokenGrant
from app.core.errors import NotFound
from app.core.jobs import LOWEST_PRIORITY
from app.core.refs import is_sha
from app.database import transactions
from app.drivers.git.commit_message import co_author, create_git_commit_message
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.port import Action, Commit, CommitInfo, PathChange, Person, TreeEntry
from app.extensions import current_settings, db, drivers, jobs
from app.models.project_content import ContentIndex
from app.models.user import User
from app.models.user_preference import UserPreference
from app.resources.project_content.index import index_freshness, indexes
from app.resources.project_content.saving import commit_builder, front_matter, restore
from app.resources.project_content.saving.commit_builder import Saved, SaveRequest
from app.resources.project_content.schema import schema_sources, schema_validation
from app.resources.project_content.schemas.content import CommitFilesBody, FileQuery
from app.resources.project_content.schemas.front_matter import EditFrontMatterBody
from app.resources.project_content.schemas.revisions import CompareQuery, HistoryQuery, RestoreVersionBody
from app.resources.project_content.source import Source, source_of
from app.resources.project_content.versions import comparison, file_metadata, history, raw_file
from app.resources.project_content.versions.commit_refs import find_commit
from app.resources.project_content.versions.history import commit_to_dict
from app.resources.project_content.versions.raw_file import FOLDER

VERIFY_DELAY = timedelta(seconds=20)


class RefQuery(Protocol):
    """A query with a branch; None is the working branch."""

    @property
    def ref(self) -> str | None:
        """The name of the branch."""


def branch_index(scope: ProjectScope, branch: str | None) -> ContentIndex | None:
    """Return the index of a branch, the working branch by default. Create it at the first read."""
    return index_freshness.ensure_index(scope.project, scope.index, branch, hosts=drivers.git, by=scope.caller)


def read_index(scope: ProjectScope, query: RefQuery) -> ContentIndex | None:
    """Return the index of the branch of a query. Create it at the first read."""
    return branch_index(scope, query.ref)


def read_fresh_index(scope: ProjectScope, query: RefQuery) -> ContentIndex | None:
    """Return the index of the branch of a query, marked as stale if a local branch moved."""
    return index_freshness.mark_stale_if_moved(scope.project, read_index(scope, query), hosts=drivers.git)


def read_metadata(scope: ProjectScope, query: FileQuery) -> dict[str, Any]:
    """Return the metadata of a file. Raises NotFound."""
    if query.ref and is_sha(query.ref):
        source = _source(scope)
        return metadata_at_commit(source, find_commit(source, query.ref), query.file)
    index = read_index(scope, query)
    return file_metadata.metadata(scope.project, index, query.file, hosts=drivers.git, by=scope.caller)


def find_raw_file(scope: ProjectScope, query: FileQuery) -> raw_file.RawFile:
    """Return the blob of a file with its source. Raises NotFound."""
    if query.ref and is_sha(query.ref):
        source = _source(scope)
        return raw_file.find_at_commit(source, find_commit(source, query.ref), query.file)
    source = source_of(scope.project, drivers.git, branch=query.ref, user=scope.user)
    return raw_file.find(read_index(scope, query), query.file, source)


def read_history(scope: ProjectScope, query: HistoryQuery) -> history.History:
    """Return a page of the history of a file or branch. Raises NotFound, InvalidRequest."""
    source = _source(scope)
    return history.read_history(source, file=query.file, ref=query.ref, cursor=query.cursor, limit=query.limit)


def compare(scope: ProjectScope, query: CompareQuery) -> comparison.CommitComparison:
    """Return the difference of two commits. Raises NotFound, InvalidRequest."""
    source, base, head = _source(scope), query.base, query.head
    if query.file is not None:
        return comparison.compare_one(source, base=base, head=head, file=query.file)
    return comparison.compare(source, base=base, head=head, cursor=query.cursor, limit=query.limit)


def _source(scope: ProjectScope) -> Source:
    """Return the working branch of the project."""
    return source_of(scope.project, drivers.git, user=scope.user)


def commit(scope: ProjectScope, body: CommitFilesBody) -> Saved:
    """Create the commit of a save."""
    if body.is_validated:
        schema_validation.check(_schema_of_save(scope, body.branch), body.files)
    save = SaveRequest(body.base_sha, body.files, body.message, body.description)
    return commit_to_host(scope, save, body.branch)


def edit_front_matter(scope: ProjectScope, body: EditFrontMatterBody) -> Saved | front_matter.NoChange:
    """Create the commit of a front matter edit, or return NoChange."""
    edit = body.edit
    change = front_matter.apply_edit(source_of(scope.project, drivers.git, branch=edit.branch, user=scope.user), edit)
    if isinstance(change, front_matter.NoChange):
        return change
    if body.is_validated:
        schema_validation.check(_schema_of_save(scope, edit.branch), [change], prefix="")
    message = edit.message or f"Edit the front matter of {edit.file}"
    return commit_to_host(scope, SaveRequest(edit.base_sha, [change], message), edit.branch)


def restore_version(scope: ProjectScope, body: RestoreVersionBody) -> Saved | front_matter.NoChange:
    """Create the commit that restores a file or folder, or return NoChange. Raises NotFound, SaveConflict."""
    path = body.file or body.folder or ""
    source = source_of(scope.project, drivers.git, branch=body.branch, user=scope.user)
    request = restore.RestoreRequest(path, body.file is None, body.commit_sha, body.base_sha)
    edits = restore.plan_restore(source, request)
    if isinstance(edits, front_matter.NoChange):
        return edits
    message = body.message or f"Restore {path} from {body.commit_sha[:7]}"
    return commit_to_host(scope, SaveRequest(body.base_sha, edits, message), body.branch)


def _schema_of_save(scope: ProjectScope, branch: str | None) -> ContentSchema:
    """Return the schema for a save. A branch that is not indexed yet has the schema of the working branch."""
    index = branch_index(scope, branch)
    if index is None or index.generation == 0:
        index = scope.index
    return schema_sources.content_schema(scope.project, index, hosts=drivers.git, by=scope.caller)


def commit_to_host(scope: ProjectScope, save: SaveRequest, branch: str | None) -> Saved:
    """Create the commit of a save in the name of the caller. Enqueue an update of the index first.

    The job indexes and logs a commit whose record is lost because the process ended. A repeated request returns the
    commit of its interrupted earlier attempt, if it made one.

    Raises:
        SaveConflict, Disconnected, and the errors of the Git host.
    """
    named = attribution_of(scope.user, scope.grant)
    save = replace(save, trailers=named.trailers, author=named.author)
    project_id = scope.project.id  # The transaction expires the project.
    source = source_of(scope.project, drivers.git, branch=branch, user=scope.user)
    with transactions.write_transaction():
        index = indexes.ensure(project_id, source.branch)
        jobs.enqueue(
            "content.index",
            delay=VERIFY_DELAY,
            unique=f"content.check:{index.id}",
            lock=f"content:{index.id}",
            priority=LOWEST_PRIORITY,
            index_id=index.id,
        )
    earlier = find_earlier_commit(source, save) if scope.is_retry else None
    return Saved(project_id, source.branch, earlier or commit_builder.write(source, save), save)


def metadata_at_commit(source: Source, commit: str, path: str) -> dict[str, Any]:
    """Return the same metadata as for the file of a branch; `indexed_at` is None. Raises NotFound."""
    entry = source.git.entries(source.repo, commit, [path]).get(path)
    if entry is None or entry.type == FOLDER:
        raise NotFound("There is no such file at this commit")
    try:
        last = commit_to_dict(source.git.last_commit(source.repo, commit, path))
    except GitObjectMissing:
        last = None
    metadata = file_metadata.to_dict(entry, file_metadata.read_facts(entry, source))
    return metadata | {"commit_sha": commit, "last_commit": last, "indexed_at": None}


_INVALID = re.compile(r"[<>\r\n\0]+")


@dataclass(frozen=True)
class Attribution:
    """The author of a commit and its trailers. The author is the bot if `author` is None."""

    author: Person | None = None
    trailers: tuple[tuple[str, str], ...] = ()


def attribution_of(user: User, grant: TokenGrant | None = None) -> Attribution:
    """Return how a commit names the user (contract, 4.13), or the service account of the request.

    If the user has set the preference `impersonate`, the commit names only the bot. Otherwise the setting
    `GIT_COMMIT_AUTHOR` decides whether the person is the author or a co-author.
    """
    if grant is not None and grant.is_service_account:
        # The e-mail addresses of service accounts receive no mail.
        host = f"noreply.{urlsplit(current_settings().server.base_url).hostname or 'invalid'}"
        return _named(Person(_INVALID.sub(" ", grant.name).strip() or grant.id, f"{grant.id}@{host}"))
    preference = db.session.get(UserPreference, user.id)
    if preference is not None and preference.impersonate:
        return Attribution()
    name = _INVALID.sub(" ", user.name).strip() or user.email.partition("@")[0]
    return _named(Person(_INVALID.sub("", name), _INVALID.sub("", user.email)))


def _named(person: Person) -> Attribution:
    if current_settings().git.commit_author == "person":
        return Attribution(author=person)
    return Attribution(trailers=(co_author(person),))


MAX_COMMITS = 5_000
"""A local branch can receive 80 commits per second, and a retry waits up to 20 s for the lease of the first attempt."""


def find_earlier_commit(source: Source, save: SaveRequest) -> Commit | None:
    """Return the commit that an interrupted attempt of the same save made, or None.

    It is one of the newest commits after `base_sha`, has the same message, and leaves the same blobs at every path. The
    save would conflict with any such commit, so a match cannot hide work of another person.
    """
    message = create_git_commit_message(save.message, save.trailers, save.description)
    head = source.git.head(source.repo, source.branch)
    if head == save.base_sha or not source.git.is_ancestor(source.repo, save.base_sha, head):
        return None
    for info in islice(source.git.history(source.repo, head, since=save.base_sha), MAX_COMMITS):
        if info.message.strip() == message.strip() and info.parent is not None:
            changes = _matching_changes(source, save, info)
            if changes is not None:
                return Commit(info.sha, info.parent, changes, _url(source, info.sha))
    return None


def _matching_changes(source: Source, save: SaveRequest, info: CommitInfo) -> tuple[PathChange, ...] | None:
    """Return the changed paths with their entries in the commit, or None if one has other content."""
    paths = sorted({path for edit in save.edits for path in edit.paths})
    before = source.git.entries(source.repo, str(info.parent), paths)
    after = source.git.entries(source.repo, info.sha, paths)
    expected = dict(_expected_blobs(save, before))
    if any((after[path].sha if path in after else None) != expected.get(path) for path in paths):
        return None
    return tuple(PathChange(path, after.get(path)) for path in paths)


def _expected_blobs(save: SaveRequest, before: dict[str, TreeEntry]) -> Iterator[tuple[str, str]]:
    """Yield each path that exists after the save, with its blob sha."""
    for change in (edit.change for edit in save.edits):
        origin = before.get(change.previous_path or "")
        if change.content is not None:
            yield change.path, _blob_sha(change.content)
        elif change.action == Action.MOVE and origin is not None:
            yield change.path, origin.sha


def _blob_sha(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _url(source: Source, sha: str) -> str | None:
    url = source.git.repository(source.repo).url
    return f"{url}/commit/{sha}" if url else None
