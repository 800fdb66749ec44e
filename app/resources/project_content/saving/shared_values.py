"""Saves of entries whose values belong to all languages: the other languages receive them in the same commit."""

import time
from collections.abc import Iterator
from dataclasses import replace

from app.content.schema.model import ContentSchema
from app.content.schema.shared_values import SharedValues, has_shared_values, shared_values
from app.drivers.git.commit_plan import is_plain_file
from app.drivers.git.port import Action, FileChange
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.saving.merging import MergeRequest
from app.resources.project_content.source import Source

MAX_BYTES = 1024 * 1024
"""The bytes of a translation that receives values."""


def with_shared_values(source: Source, schema: ContentSchema, request: MergeRequest) -> MergeRequest:
    """Return a save with the shared values of its entries in the existing files of other languages.

    Calls the Git host if the schema has such fields. A translation that the save contains receives the values in it.
    """
    shared = list(_shared(schema, request)) if has_shared_values(schema) else []
    if not shared:
        return request
    head, own = source.repository.head(source.branch), {edit.change.path: edit for edit in request.edits}
    present = source.repository.entries(head, sorted({path for values in shared for path in values.paths}))
    files = {path: entry.sha for path, entry in present.items() if is_plain_file(entry) and path not in own}
    contents = dict(source.repository.blobs(dict.fromkeys(files.values()), max_bytes=MAX_BYTES)) if files else {}
    edits = dict(own)
    for values in shared:
        for path in values.paths:
            time.sleep(0)  # yields to other requests
            edit, data = own.get(path), contents.get(files.get(path, ""))
            if edit is not None and edit.change.content is not None:
                content = values.written(path, edit.change.content)
                edits[path] = replace(edit, change=replace(edit.change, content=content))
            elif data is not None and (content := values.written(path, data)) != data:
                edits[path] = FileEdit(FileChange(path, Action.UPDATE, content), files[path])
    base = head if edits.keys() != own.keys() and _is_current(source, request, head) else request.base_sha
    return replace(request, base_sha=base, edits=list(edits.values()))


def _shared(schema: ContentSchema, request: MergeRequest) -> Iterator[SharedValues]:
    for edit in request.edits:
        change = edit.change
        is_written = change.action in (Action.CREATE, Action.UPDATE) and change.content is not None
        values = shared_values(schema, change.path, change.content or b"") if is_written else None
        if values is not None:
            yield values


def _is_current(source: Source, request: MergeRequest, head: str) -> bool:
    """Return whether the files of a save have not changed since its base, so that it can start from the head."""
    base, paths = request.base_sha, sorted({path for edit in request.edits for path in edit.paths})
    if base is None or base == head or not source.repository.is_ancestor(base, head):
        return False
    before, present = (source.repository.entries(commit, paths) for commit in (base, head))
    return {path: entry.sha for path, entry in before.items()} == {path: entry.sha for path, entry in present.items()}
