"""Use case of content schemas: the adoption of a schema as `.galley.yml`."""

import yaml

from app.content.galley_file import FILES, MAX_BYTES, InvalidGalleyFile, read_galley_file
from app.content.schema.model import ContentSchema, SourceKind
from app.core.errors import Conflict, UnprocessableEntity
from app.drivers.git.port import Action, EntryType, FileChange
from app.resources.project_content.actions import ContentBranch
from app.resources.project_content.save_request import FileEdit, SaveRequest
from app.resources.project_content.saving.commit_builder import NoChange, SaveConflict, require_base
from app.resources.project_content.saving.commits import create_commit
from app.resources.project_content.service import UnrecordedSave, unrecorded
from app.resources.project_content.source import Source

MESSAGE = "Add the content schema to .galley.yml"


class SchemaExists(Conflict):
    """An adoption in a repository whose `.galley.yml` has collections (409)."""

    code, message = "SCHEMA_EXISTS", ".galley.yml already contains collections"


class NothingToAdopt(UnprocessableEntity):
    """An adoption of a schema without a collection (422)."""

    code, message = "NOTHING_TO_ADOPT", "There is no collection to write to .galley.yml"


def adopt_schema(branch: ContentBranch, *, base_sha: str | None, message: str | None) -> UnrecordedSave:
    """Create the commit that writes the schema of a branch to `.galley.yml`, or return NoChange if the file has it."""
    schema, source = branch.schema(), branch.source()
    save = adoption(schema, source, base_sha=base_sha, message=message)
    if not isinstance(save, NoChange):
        return unrecorded(create_commit(branch.project.id, source, save, by=branch.by), by=branch.by)
    return unrecorded(save, by=branch.by)


def galley_section(schema: ContentSchema) -> str:
    """Return the section `collections` of `.galley.yml`, which reads as the same collections."""
    collections = [collection.to_dict() for collection in schema.collections]
    text: str = yaml.dump(
        {"collections": collections}, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120
    )
    return text


def adoption(
    schema: ContentSchema, source: Source, *, base_sha: str | None, message: str | None
) -> SaveRequest | NoChange:
    """Return the save with the collections below the text of `.galley.yml`, or NoChange if the file has them.

    Raises:
        NothingToAdopt: the schema has no collection.
        SchemaExists: the file has other collections, or is not valid YAML.
        SaveConflict: the file is not a regular file, or the branch does not contain the base.
    """
    if not schema.collections:
        raise NothingToAdopt
    if base_sha is not None:
        require_base(source, base_sha, FILES[:1])
    head = base_sha or source.repository.head(source.branch)
    if schema.kind is SourceKind.GALLEY:
        return NoChange(source.branch, head)
    entries = source.repository.entries(head, list(FILES))
    path = next((name for name in FILES if name in entries), FILES[0])
    section = galley_section(schema)
    entry = entries.get(path)
    if entry is None:
        change = FileChange(path, Action.CREATE, section.encode())
        return SaveRequest(head, [FileEdit(change)], message or MESSAGE)
    if entry.type != EntryType.BLOB:
        raise SaveConflict(head, {path: "This is not a file"})
    before = source.repository.blob(entry.sha, max_bytes=MAX_BYTES)
    after = _appended(before, section)
    if after is None:
        return NoChange(source.branch, head)
    change = FileChange(path, Action.UPDATE, after)
    return SaveRequest(head, [FileEdit(change, entry.sha)], message or MESSAGE)


def _appended(before: bytes, section: str) -> bytes | None:
    """Return the file with the section below its text, or None if it has the same collections."""
    try:
        document = read_galley_file(before)
    except InvalidGalleyFile as error:
        raise SchemaExists(f"{error}. Correct the file first") from error
    if "collections" in document:
        if document["collections"] == read_galley_file(section.encode())["collections"]:
            return None
        raise SchemaExists
    text = before.rstrip()
    after = (text + b"\n\n" if text else b"") + section.encode()
    try:
        is_extended = read_galley_file(after).items() >= document.items()
    except InvalidGalleyFile:
        is_extended = False
    if not is_extended:
        raise SchemaExists(".galley.yml cannot be extended. Add the collections by hand")
    return after
