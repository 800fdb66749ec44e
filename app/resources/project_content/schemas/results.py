"""Response schemas of trees, outlines and index events."""

from marshmallow import Schema, fields, validate

from app.content.merge.files import ConflictKind
from app.drivers.git.port import EntryType
from app.http.json_schema import OPTIONAL, SHA
from app.http.validation import PassthroughSchema, RequestSchema
from app.models.project_content import IndexStatus

MODE: dict[str, object] = {
    "enum": ["100644", "100755", "120000", "160000", "040000"],
    "description": "The file mode of Git",
}
ENTRY_TYPES = [*map(str, EntryType), "tree"]


class HeadingSchema(RequestSchema):
    """A heading of a Markdown file. `slug` is its anchor."""

    level = fields.Integer(validate=validate.Range(1, 6), metadata={"description": "From 1, the largest, to 6"})
    text = fields.String(metadata={"description": "The heading without marks of Markdown"})
    slug = fields.String(metadata={"description": "The anchor in the rendered page"})


class OutlineLinkSchema(RequestSchema):
    """A link or image of a Markdown file."""

    url = fields.String()
    text = fields.String(metadata={"description": "The text of a link, or the alternative text of an image"})
    kind = fields.String(validate=validate.OneOf(["link", "image"]), metadata={"description": "`image` for `![…](…)`"})


class TreeFileSchema(RequestSchema):
    """A file of a branch, a submodule (`type` is `commit`), or a folder that cannot be read (`tree`)."""

    path = fields.String()
    type = fields.String(validate=validate.OneOf(ENTRY_TYPES))
    size = fields.Integer(allow_none=True)
    sha = fields.String(metadata=SHA)
    mode = fields.String(metadata=MODE)


class TreeSchema(PassthroughSchema):
    """The files of a branch at a commit.

    Folders follow from the paths. `total` counts the files of the branch or folder.

    `unreadable` contains the first 100 paths that are missing or damaged in the repository. A folder ends with a slash.
    """

    project_id = fields.String()
    branch = fields.String()
    commit_sha = fields.String(allow_none=True, metadata=SHA)
    status = fields.Enum(IndexStatus, by_value=True)
    indexed_at = fields.String(allow_none=True, metadata={"format": "date-time"})
    total = fields.Integer()
    unreadable = fields.List(
        fields.String(), metadata={"description": "At most 100 missing or damaged paths. A folder ends with a slash"}
    )
    files = fields.List(
        fields.Nested(TreeFileSchema), metadata={"description": "The files at `commit_sha`, or a page of them"}
    )


class IndexEventSchema(PassthroughSchema):
    """The state of the index. The stream ends after `ready` and `failed`."""

    status = fields.Enum(
        IndexStatus,
        by_value=True,
        metadata={"description": "`stale`: the branch has moved since `commit_sha`"},
    )
    commit_sha = fields.String(allow_none=True, metadata=SHA)
    files = fields.Integer(metadata={"description": "Indexed files"})
    problem = fields.String(allow_none=True, metadata={"description": "The reason of a failure in a sentence, or null"})


class StreamFailureSchema(PassthroughSchema):
    """The last event of a failed stream."""

    error = fields.String(metadata={"description": "A sentence for people"})
    code = fields.String(metadata={"description": "An error code, for programs"})


class LineRangeSchema(Schema):
    """Lines of their version. `end` is the last line, or `start - 1` for a position between lines."""

    start = fields.Integer(metadata={"description": "The first line, from 1"})
    end = fields.Integer(metadata={"description": "The last line, or `start - 1`"})


class MergeConflictSchema(Schema):
    """A part of a file that cannot be merged. Without `pointer`, `block` and `lines` it is the whole file.

    A side is a value for the kind `value`, else a text. It is null if it is binary or does not exist.
    """

    path = fields.String()
    kind = fields.String(
        validate=validate.OneOf([str(kind) for kind in ConflictKind]),
        metadata={"description": "The part that both sides changed, or the reason for the whole file"},
    )
    pointer = fields.String(metadata=OPTIONAL | {"description": "JSON pointer of the value"})
    block = fields.Integer(metadata=OPTIONAL | {"description": "Number of the Markdown block in their body, from 0"})
    lines = fields.Nested(LineRangeSchema, metadata=OPTIONAL | {"description": "Lines of their version"})
    base = fields.Raw(allow_none=True, metadata={"description": "The version from which the edit started"})
    mine = fields.Raw(allow_none=True, metadata={"description": "The version of the request"})
    theirs = fields.Raw(allow_none=True, metadata={"description": "The version of the branch"})
    missing = fields.List(
        fields.String(validate=validate.OneOf(["base", "mine", "theirs"])),
        metadata={"description": "The sides on which the value or file does not exist"},
    )
    truncated = fields.Boolean(metadata={"description": "Whether a side is cut or not shown because of a limit"})


class SaveConflictSchema(Schema):
    """The data of a refused save after another save."""

    head_sha = fields.String(metadata=OPTIONAL | SHA | {"description": "The present commit of the branch"})
    paths = fields.List(fields.String(), metadata=OPTIONAL | {"description": "The paths that have changed"})
    mergeable = fields.List(
        fields.String(), metadata=OPTIONAL | {"description": "The paths that changed on both sides and can be merged"}
    )
    conflicts = fields.List(
        fields.Nested(MergeConflictSchema),
        metadata=OPTIONAL | {"description": "The parts that cannot be merged, at most 500"},
    )


class InvalidValueSchema(Schema):
    """A value of the front matter that does not match the schema of its collection."""

    COMPONENT = "http_InvalidValue"

    file = fields.String()
    pointer = fields.String(metadata={"description": "JSON pointer into the front matter"})
    message = fields.String()


class InvalidFrontMatterSchema(Schema):
    """The data of a refused save with invalid values."""

    invalid = fields.List(
        fields.Nested(InvalidValueSchema),
        metadata=OPTIONAL | {"description": "The values that do not match the schema of the branch"},
    )
