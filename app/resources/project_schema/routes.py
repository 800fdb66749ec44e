"""Routes of content schemas: the collections of a branch and their fields."""

import yaml

from app.access.guards import can_commit, member_of_org
from app.access.scope import ProjectScope
from app.content.galley_file import FILES, InvalidGalleyFile, read_galley_file
from app.content.schema.model import ContentSchema, SourceKind
from app.core.errors import Conflict, UnprocessableEntity
from app.drivers.git.port import Action, EntryType, FileChange
from app.extensions import drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import GIT_READ, SAVE, ViewResult, endpoint
from app.resources.project_content import responses
from app.resources.project_content.routes import branch_index, branch_source, create_commit
from app.resources.project_content.saving.commit_builder import (
    FileEdit,
    NoChange,
    SaveConflict,
    Saved,
    SaveRequest,
    require_base,
)
from app.resources.project_content.schema.schema_sources import content_schema
from app.resources.project_content.schemas.content import BranchQuery, CommittedSchema
from app.resources.project_content.source import Source
from app.resources.project_schema.schemas import AdoptSchemaBody, ContentSchemaSchema

MESSAGE = "Add the content schema to .galley.yml"


def branch_schema(scope: ProjectScope, branch: str | None = None) -> ContentSchema:
    """Return the schema of a branch, the working branch by default."""
    return content_schema(scope.project, branch_index(scope, branch), hosts=drivers.git, by=scope.caller)


def read_schema(scope: ProjectScope, query: BranchQuery) -> ContentSchema:
    """Return the schema of the branch of a query."""
    return branch_schema(scope, query.ref)


def adopt_schema(scope: ProjectScope, body: AdoptSchemaBody) -> Saved | NoChange:
    """Create the commit that writes the schema of a branch to `.galley.yml`, or return NoChange if the file has it."""
    schema = branch_schema(scope, body.branch)
    source = branch_source(scope, body.branch)
    save = adoption(schema, source, base_sha=body.base_sha, message=body.message)
    if isinstance(save, NoChange):
        return save
    return create_commit(scope, source, save)


class SchemaExists(Conflict):
    """An adoption in a repository whose `.galley.yml` has collections (409)."""

    code, message = "SCHEMA_EXISTS", ".galley.yml already contains collections"


class NothingToAdopt(UnprocessableEntity):
    """An adoption of a schema without a collection (422)."""

    code, message = "NOTHING_TO_ADOPT", "There is no collection to write to .galley.yml"


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
    head = base_sha or source.git.head(source.repo, source.branch)
    if schema.kind is SourceKind.GALLEY:
        return NoChange(source.branch, head)
    entries = source.git.entries(source.repo, head, list(FILES))
    path = next((name for name in FILES if name in entries), FILES[0])
    section = galley_section(schema)
    entry = entries.get(path)
    if entry is None:
        change = FileChange(path, Action.CREATE, section.encode())
        return SaveRequest(head, [FileEdit(change)], message or MESSAGE)
    if entry.type != EntryType.BLOB:
        raise SaveConflict(head, {path: "This is not a file"})
    before = source.git.blob(source.repo, entry.sha)
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


blueprint = ApiBlueprint(
    "project_schema",
    __name__,
    title="Content schemas",
    noun="project schema",
    description="Collections of a branch with typed fields of the front matter.",
)


@blueprint.get("/<projectId>/schema")
@endpoint(
    guard=member_of_org("projectId"),
    query=BranchQuery,
    upstream=read_schema,
    result=ContentSchemaSchema,
    message="Content schema",
    errors=GIT_READ,
)
def read(*, scope: ProjectScope, query: BranchQuery, prepared: ContentSchema) -> dict[str, object]:
    """Read the collections of a branch with their fields, from its schema file or inferred from its content."""
    return prepared.to_dict()


@blueprint.post("/<projectId>/schema/adopt")
@endpoint(
    guard=can_commit(lambda body: body.branch, "projectId"),
    body=AdoptSchemaBody,
    upstream=adopt_schema,
    result=CommittedSchema,
    status=201,
    other_status=200,
    message="The schema is saved",
    errors=("SCHEMA_EXISTS", "NOTHING_TO_ADOPT", *SAVE),
)
def adopt(*, scope: ProjectScope, body: AdoptSchemaBody, prepared: Saved | NoChange) -> ViewResult:
    """Save the schema of a branch as `.galley.yml`. If the file has it, there is no commit, and the status is 200."""
    return responses.save_result(scope, prepared)
