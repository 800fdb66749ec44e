"""Reading of files for the editor: the present version, an earlier one, and the text that a form describes."""

import posixpath
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from app.access.guards import member_of_org
from app.access.scope import ProjectScope
from app.console.files.field_lists import ACTION, INPUT, ITEMS, KIND, NOTATION
from app.console.files.field_values import Changes, changes_of, faults
from app.console.files.scope import ENDED, EditorScope
from app.console.shell.forms import Form
from app.content.data_text import edit_data, is_data, read_data
from app.content.front_matter.editor import UnsupportedEdit
from app.content.page_text import PageText, read_page, write_page
from app.content.schema.model import ContentSchema
from app.content.schema.validation import REQUIRED, collection_of, is_missing_body
from app.content.text import decode
from app.core.errors import ErrorMessage, FieldError, InvalidRequest, NotFound, PayloadTooLarge, UnprocessableEntity
from app.core.limits import CommitLimits
from app.core.paths import folded
from app.core.refs import is_sha
from app.database import transactions
from app.drivers.git.commit_plan import SYMLINK
from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged, TooLargeToRead
from app.drivers.git.port import EntryType
from app.extensions import drivers
from app.http.actions import run
from app.http.loading import instance
from app.http.validation import RequestQuery
from app.resources.change_set.content import read_head
from app.resources.change_set.errors import MissingBranch
from app.resources.project_content.entry_changes import TOO_LARGE_TOGETHER
from app.resources.project_content.guards import branch_of
from app.resources.project_content.schemas.content import FileQuery
from app.resources.project_content.source import NO_COMMIT, Source, is_readable, is_version, source_of
from app.resources.project_draft import actions, queries
from app.resources.project_draft.queries import DraftKey
from app.resources.project_draft.schemas import DraftSchema, SaveDraftBody

T = TypeVar("T")

MAX_BYTES = 5 * 1024 * 1024
MAX_LISTED = 1_000
"""Names of a folder that are compared with a new one. A commit compares more of them."""

IMAGE = "image."
"""The prefix of the file inputs of image fields. The path of the field follows."""

STORED = "is-stored"
"""The field that a script adds to a form without a change since its text was loaded or stored as a draft."""

EDITOR_INPUTS = (
    *("base_sha", "base_blob_sha", "body", "message", "new.key", "new.value", "start", STORED),
    *(ACTION, f"{INPUT}*", f"{KIND}*", f"{ITEMS}*", f"{NOTATION}*", f"{IMAGE}*"),
)
"""The fields of the editor's form."""


@dataclass(frozen=True)
class OpenFile:
    """A file at a version.

    `base_sha` is the version of the branch, `blob_sha` that of the file, empty if it is unknown. The text of a new
    file is that of its draft from which the form started.
    """

    path: str
    base_sha: str
    blob_sha: str
    data: bytes
    is_link: bool = False
    is_new: bool = False

    @property
    def page(self) -> PageText | None:
        """The text, or None for a file that is not edited as text."""
        return None if self.is_link else read_page(self.path, self.data)

    @property
    def text(self) -> str:
        """The text of the whole file. Raises UnprocessableEntity if it is not text."""
        text, _encoding = decode(self.data)
        if text is None or self.is_link:
            raise UnprocessableEntity("This file is not text")
        return text

    @property
    def values(self) -> dict[str, object]:
        """The values of a data file or of the front matter."""
        page = self.page
        return read_data(self.path, self.data) or (page.values if page is not None else None) or {}

    @property
    def target(self) -> str | None:
        """The path to which a symbolic link leads, or None for other files and a link that leaves the repository."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), self.data.decode("utf-8", "replace")))
        return path if self.is_link and not path.startswith(("/", "../")) else None


def branch_source(scope: ProjectScope) -> Source:
    """Return the branch of the scope: the working branch of the project, or that of a change set."""
    return source_of(scope.project, drivers.git, branch=scope.branch, user=scope.actor)


def present_head(scope: ProjectScope) -> str:
    """Return the present head of the branch, on which the forms of a page are based.

    Raises:
        MissingBranch: the branch of a change set was deleted.
    """
    source = branch_source(scope)
    if scope.branch != scope.project.branch:
        return read_head(source)
    return source.repository.head(source.branch)


def has_ended(scope: EditorScope) -> bool:
    """Return whether the change set of a page is published or closed, or has lost its branch."""
    if scope.change_set is None or scope.change_set.state in ENDED:
        return scope.change_set is not None
    try:
        present_head(scope)
    except MissingBranch:
        return True
    return False


def read_schema(scope: ProjectScope, query: RequestQuery | None = None) -> ContentSchema:
    """Return the schema of the working branch. `query` is that of the page and has no influence."""
    return branch_of(scope).schema()


def read_schema_before_calls(scope: ProjectScope) -> ContentSchema:
    """Return the schema of the working branch, without a connection to the database: calls of the Git host follow."""
    schema = read_schema(scope)
    transactions.release_connection()
    return schema


def open_present(scope: ProjectScope, path: str) -> OpenFile:
    """Read a file at the present head of the branch.

    Raises:
        NotFound: there is no such file.
        PayloadTooLarge: it is too large for the editor.
    """
    return open_files(scope, [path])[0]


def open_files(scope: ProjectScope, paths: Sequence[str]) -> list[OpenFile]:
    """Read files at the present head of the branch.

    Raises:
        NotFound: one of them does not exist.
        PayloadTooLarge: one of them is too large for the editor, or all of them for a commit.
    """
    source, head = branch_source(scope), present_head(scope)
    entries = source.repository.entries(head, paths)
    if any(path not in entries or entries[path].type != EntryType.BLOB for path in paths):
        raise NotFound(ErrorMessage("There is no such file"))
    contents = _read_all(source, dict.fromkeys(entries[path].sha for path in paths))
    return [
        OpenFile(path, head, entries[path].sha, contents[entries[path].sha], entries[path].mode == SYMLINK)
        for path in paths
    ]


def open_version(scope: ProjectScope, path: str, base_sha: str, blob_sha: str) -> OpenFile:
    """Read the version of a file from which an edit started.

    Raises:
        InvalidRequest: the form names no such version of this file.
    """
    if not (is_sha(base_sha) and is_sha(blob_sha)):
        raise InvalidRequest("The form does not name the version that was edited")
    source = branch_source(scope)
    if not is_readable(source, base_sha):
        raise GitObjectMissing(NO_COMMIT)
    entry = source.repository.entries(base_sha, [path]).get(path)
    if entry is None or entry.type != EntryType.BLOB or entry.sha != blob_sha:
        raise InvalidRequest("The form does not name the version that was edited")
    return OpenFile(path, base_sha, blob_sha, _read(source, blob_sha), entry.mode == SYMLINK)


def open_new(scope: ProjectScope, path: str, start: str) -> OpenFile:
    """Return a file that no version of the branch contains, with the text from which its form starts."""
    return OpenFile(path, present_head(scope), "", start.encode(), is_new=True)


def open_after_set(site: EditorScope, form: Form) -> OpenFile:
    """Return the version of the site from which the form of an ended change set can continue.

    Without a version of the site that equals the one of the form, the text has no base.
    """
    path, blob_sha = site.path["file"], form.text("base_blob_sha")
    if "start" in form.values and not blob_sha:
        return open_new(site, path, sent_start(form))
    source = branch_source(site)
    if is_sha(blob_sha) and is_version(source, path, blob_sha):
        return OpenFile(path, present_head(site), blob_sha, _read(source, blob_sha))
    return OpenFile(path, "", "", b"")


def open_edited(scope: ProjectScope, form: Form) -> OpenFile:
    """Return the version from which the editor's form started, or an empty one if no branch contains it.

    The form of a new file contains the text from which it started.

    Raises:
        InvalidRequest: the form names no such version of this file.
    """
    path, base_sha, blob_sha = scope.path["file"], form.text("base_sha"), form.text("base_blob_sha")
    if "start" in form.values and not blob_sha:
        return OpenFile(path, base_sha, "", sent_start(form).encode(), is_new=True)
    try:
        return open_version(scope, path, base_sha, blob_sha)
    except RepositoryDamaged:
        raise
    except GitObjectMissing:
        return OpenFile(path, base_sha, "", b"")


def sent_start(form: Form) -> str:
    """Return the text from which the form of a new file started. A browser sends other line ends."""
    return form.text("start").replace("\r\n", "\n")


def present_path(source: Source, commit: str, path: str) -> str | None:
    """Return what has the path at a commit, or a path that Windows and macOS cannot distinguish from it, or None."""
    parts = path.split("/")
    levels = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    present = source.repository.entries(commit, levels)
    missing = next((level for level in levels if level not in present), None)
    if missing is None:
        return path
    entries = source.repository.list_folder(commit, missing.rpartition("/")[0], limit=MAX_LISTED)
    return next((entry.path for entry in entries if folded(entry.path) == folded(missing)), None)


def read_base(scope: ProjectScope, path: str, blob_sha: str | None) -> bytes:
    """Return the version of a file on which a draft is based. Empty for a new file and for an unverified version."""
    if blob_sha is None:
        return b""
    # A draft in a change set can start from a version of the site that the set does not contain.
    for branch in dict.fromkeys((scope.branch, scope.project.branch)):
        source = replace(branch_source(scope), branch=branch or "")
        if is_version(source, path, blob_sha):
            return _read(source, blob_sha)
    return b""


def _read_all(source: Source, shas: Collection[str]) -> dict[str, bytes]:
    """Read blobs with one call. A blob that the call omits is read by itself, for its error."""
    contents, size = dict[str, bytes](), 0
    for sha, data in source.repository.blobs(shas, max_bytes=MAX_BYTES) if len(shas) > 1 else ():
        if data is not None:
            contents[sha], size = data, size + len(data)
        if size > CommitLimits.bytes:
            raise PayloadTooLarge(TOO_LARGE_TOGETHER)
    return {sha: contents[sha] if sha in contents else _read(source, sha) for sha in shas}


def _read(source: Source, blob_sha: str) -> bytes:
    try:
        return source.repository.blob(blob_sha, max_bytes=MAX_BYTES)
    except TooLargeToRead as error:
        raise PayloadTooLarge("The file is too large for the editor") from error


def edited(opened: OpenFile, form: Form, schema: ContentSchema | None = None) -> bytes:
    """Return the bytes of a file with the changes of the editor's form. With a schema, changed fields must match it.

    Raises:
        InvalidRequest: a field cannot be read, or does not match the schema.
        UnprocessableEntity: the front matter cannot be edited without other changes.
    """
    page = opened.page
    if page is None:
        raise UnprocessableEntity("This file is not text")
    body = form.text("body") if "body" in form.values else page.body
    data = read_data(opened.path, opened.data) if "body" not in form.values else None
    values = data if data is not None else page.values or {}
    collection = collection_of(schema, opened.path, values) if schema is not None else None
    changes = changes_of(values, form, collection.fields if collection is not None else ())
    # A key whose line has a comment cannot be removed. It keeps an empty text.
    for edits in (changes, changes_of(values, form)):
        if schema is not None:
            _check(opened, body, values, edits, form, schema)
        try:
            if data is not None:
                return edit_data(opened.path, opened.data, edits.values, edits.unset)
            return write_page(opened.path, opened.data, body, edits.values, edits.unset)
        except UnsupportedEdit as error:
            reason = error
    raise UnprocessableEntity(str(reason)) from reason


def _check(
    opened: OpenFile, body: str, values: dict[str, object], edits: Changes, form: Form, schema: ContentSchema
) -> None:
    """Compare what the form changes with the schema. A new file is compared as a whole. Raises InvalidRequest."""
    collection = collection_of(schema, opened.path, values)
    if collection is None:
        return
    page, has_body = opened.page, not is_data(opened.path)
    written = values if has_body or "body" not in form.values else read_data(opened.path, body.encode())
    is_new = opened.is_new and page is not None and page.problem is None and written is not None
    errors = faults(schema, collection, (written or {}) if is_new else values, edits, form, is_new=is_new)
    had_body = opened.is_new or (page is not None and page.body.strip() != "")
    if has_body and had_body and is_missing_body(schema, collection, body):
        errors.append(FieldError("body", ErrorMessage(REQUIRED)))
    if errors:
        raise InvalidRequest(fields=errors)


def draft_key(scope: ProjectScope, path: str) -> DraftKey:
    """Return the key of the user's draft of a file. Each change set has its own drafts."""
    return DraftKey.on(scope.project, scope.caller, scope.branch, path)


def checked_key(scope: ProjectScope, path: str) -> DraftKey:
    """Return the key of the user's draft of a file, whose path the API would accept. Raises InvalidRequest."""
    FileQuery.loaded({"file": path})
    return draft_key(scope, path)


def change_draft(scope: ProjectScope, path: str, change: Callable[[DraftKey], T]) -> T:
    """Change the user's draft of a file in one transaction. Raises the errors of the change."""
    branch = checked_key(scope, path).branch

    def act(scope: ProjectScope) -> T:
        return change(DraftKey.on(scope.project, scope.caller, branch, path))

    return run(act, {"project_id": scope.path["project_id"]}, guard=member_of_org())


def read_draft(scope: ProjectScope, path: str) -> dict[str, Any] | None:
    """Return the user's draft of a file, or None."""
    try:
        draft = queries.find(checked_key(scope, path))
    except NotFound:
        return None
    return dict(instance(DraftSchema).dump(draft))


def write_draft(
    scope: ProjectScope, path: str, content: bytes, blob_sha: str | None, *, base_sha: str | None = None
) -> None:
    """Store the user's draft of a file. `base_sha` is the commit at which the base was read, if it is known."""
    key, data = checked_key(scope, path), {"content": content.decode("utf-8"), "base_blob_sha": blob_sha or None}
    body = SaveDraftBody.loaded(data | {"base_sha": base_sha})
    with transactions.outside_transaction():
        actions.check_base(branch_of(scope, scope.branch), key, body.base_blob_sha, base_sha=body.base_sha)
    change_draft(scope, path, lambda key: actions.save_draft(key, body.content, base_blob_sha=body.base_blob_sha))


def delete_draft(scope: ProjectScope, path: str) -> None:
    """Delete the user's draft of a file."""
    change_draft(scope, path, actions.delete_draft)
