"""Request bodies, queries and response schemas of change sets."""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from marshmallow import ValidationError, fields, post_load, validate

from app.content.merge.files import LineRange
from app.content.three_way import Replacement
from app.core.limits import CommitLimits
from app.core.locales import is_time_zone
from app.http.json_schema import OPTIONAL, described, full_sha, plain_path
from app.http.validation import (
    ABSENT,
    Absent,
    BoundedList,
    IdField,
    Length,
    PageQuery,
    PassthroughSchema,
    RequestBody,
    RequestQuery,
    RequestSchema,
    StrictBoolean,
    text,
)
from app.models.change_set import ChangeSetState, ScheduledAction, Verdict
from app.resources.change_set.reviews import MAX_REVIEWERS
from app.resources.change_set.schedule import EARLIER, FORM, LATER, WallTime
from app.resources.change_set.service import MAX_TITLE
from app.resources.project_content.saving.refusals import Resolution

MAX_DESCRIPTION, MAX_BODY, MAX_RESOLUTIONS = 20_000, 10_000, 1_000
MINE, THEIRS, VALUE = "mine", "theirs", "value"
_WALL_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d", re.ASCII)
DATE_TIME = {"format": "date-time"}


class _Title(fields.String):
    """A title. White space, also line breaks, becomes single spaces."""

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> str:
        title: str = super()._deserialize(value, *args, **kwargs)
        return " ".join(title.split())


def _title(**kwargs: Any) -> fields.String:
    plain = text(1, MAX_TITLE, metadata={"description": "The title, also the subject of the commit"}, **kwargs)
    return _Title(required=plain.required, validate=plain.validators, metadata=plain.metadata)


def _description() -> fields.String:
    return fields.String(
        allow_none=True,
        validate=Length(max=MAX_DESCRIPTION),
        metadata={"description": "The text below the subject of the commit, or null"},
    )


@dataclass(frozen=True, kw_only=True)
class CreateChangeSetBody(RequestBody):
    """A new change set."""

    title: Annotated[str, _title()]
    description: Annotated[str | Absent | None, _description()] = ABSENT


@dataclass(frozen=True, kw_only=True)
class EditChangeSetBody(RequestBody):
    """Changes of a change set. Missing fields stay unchanged."""

    title: Annotated[str | Absent, _title(required=False)] = ABSENT
    description: Annotated[str | Absent | None, _description()] = ABSENT


@dataclass(frozen=True, kw_only=True)
class ChangeSetsQuery(PageQuery):
    """A page of change sets."""

    state: Annotated[
        ChangeSetState | None,
        fields.Enum(
            ChangeSetState, by_value=True, load_default=None, metadata={"description": "Only sets in this state"}
        ),
    ]
    author: Annotated[
        str | None, IdField("usr", load_default=None, metadata={"description": "Only sets that this user created"})
    ]
    mine: Annotated[
        bool, fields.Boolean(load_default=False, metadata={"description": "Only sets that the caller created"})
    ]


@dataclass(frozen=True, kw_only=True)
class DiffQuery(RequestQuery):
    """A page of changed files, or one of them."""

    file: Annotated[
        str | None,
        fields.String(load_default=None, validate=plain_path, metadata={"description": "Compare only this file"}),
    ]
    cursor: Annotated[str | None, fields.String(load_default=None, validate=Length(max=2_048))]
    limit: Annotated[int, fields.Integer(load_default=50, validate=validate.Range(1, 100), metadata={"example": 50})]


@dataclass(frozen=True, kw_only=True)
class SubmitBody(RequestBody):
    """The request for a review."""

    reviewers: Annotated[
        list[str] | None,
        BoundedList(
            IdField("usr"),
            max_length=MAX_REVIEWERS,
            load_default=None,
            allow_none=True,
            metadata={"description": "The members who are asked. Without the field they stay the same"},
        ),
    ]
    message: Annotated[
        str, text(0, MAX_BODY, required=False, load_default="", metadata={"description": "A text for the reviewers"})
    ]


@dataclass(frozen=True, kw_only=True)
class ReviewBody(RequestBody):
    """A review. `approve` and `changes` need a session."""

    verdict: Annotated[
        Verdict,
        fields.Enum(
            Verdict, by_value=True, required=True, metadata={"description": "Approve, ask for changes, or only comment"}
        ),
    ]
    body: Annotated[str, text(0, MAX_BODY, required=False, load_default="", metadata={"description": "The text"})]
    head_sha: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=full_sha,
            metadata={"description": "The commit that the reviewer saw. If it is not the head, the review is refused"},
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class CommentBody(RequestBody):
    """A comment on a set, or on a part of a file of it."""

    body: Annotated[str, text(1, MAX_BODY, metadata={"description": "The text of the comment"})]
    path: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=plain_path,
            metadata={"description": "The file. Without it the comment concerns the whole set"},
        ),
    ]
    pointer: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=Length(max=1_000),
            metadata={"description": "The JSON pointer of a value of the file"},
        ),
    ]
    block: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=Length(1, 64),
            metadata={"description": "The hash of the text of a block of the file"},
        ),
    ]

    def __post_init__(self) -> None:
        """Require the path of a part."""
        if self.path is None and (self.pointer is not None or self.block is not None):
            raise ValidationError("A comment on a part of a file needs the path of the file.", "path")


@dataclass(frozen=True, kw_only=True)
class ResolveCommentBody(RequestBody):
    """The state of a comment."""

    resolved: Annotated[
        bool, StrictBoolean(required=True, metadata={"description": "False opens a resolved comment again"})
    ]


@described(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$")
def check_wall_time(value: str) -> None:
    """Check the form of a wall time. Raises ValidationError."""
    try:
        is_time = _WALL_TIME.fullmatch(value) and datetime.strptime(value, FORM)  # noqa: DTZ007 (without a zone)
    except ValueError:
        is_time = None
    if not is_time or not 1 < is_time.year < 9_999:
        raise ValidationError("Must be a time of the form YYYY-MM-DDTHH:MM.")


def _time_zone(value: str) -> None:
    if not is_time_zone(value):
        raise ValidationError("This is not an IANA time zone.")


@dataclass(frozen=True, kw_only=True)
class ScheduleBody(RequestBody):
    """A wall time in a zone at which a set is published or unpublished."""

    wall_time: Annotated[
        str, fields.String(required=True, validate=check_wall_time, metadata={"example": "2027-03-01T09:00"})
    ]
    timezone: Annotated[str, fields.String(required=True, validate=_time_zone, metadata={"example": "Europe/Berlin"})]
    action: Annotated[
        ScheduledAction,
        fields.Enum(
            ScheduledAction,
            by_value=True,
            load_default=ScheduledAction.PUBLISH,
            metadata={"description": "Publish an open set, or take back the changes of a published one"},
        ),
    ]
    choice: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=validate.OneOf([EARLIER, LATER]),
            metadata={"description": "The instant of a time that the clocks show twice"},
        ),
    ]

    @property
    def wall(self) -> WallTime:
        return WallTime(self.wall_time, self.timezone, self.choice)


class LinesSchema(RequestSchema):
    """Lines of a conflict."""

    start = fields.Integer(required=True, strict=True, metadata={"description": "The number of the first line"})
    end = fields.Integer(required=True, strict=True, metadata={"description": "The number of the last line"})


class ResolutionSchema(RequestSchema):
    """The resolution of one conflict. Without `pointer`, `block` and `lines` it is that of the whole file."""

    RULES: ClassVar[dict[str, object]] = {
        "if": {"properties": {"take": {"const": VALUE}}, "required": ["take"]},
        "then": {"required": ["value"], "properties": {"value": {}}},
    }

    path = fields.String(required=True, validate=plain_path)
    pointer = fields.String(
        load_default=None,
        allow_none=True,
        validate=Length(max=1_000),
        metadata={"description": "The pointer of a conflict of kind `value`"},
    )
    block = fields.Integer(
        load_default=None,
        allow_none=True,
        strict=True,
        metadata={"description": "The number of the block of a conflict of kind `block`"},
    )
    lines = fields.Nested(
        LinesSchema,
        load_default=None,
        allow_none=True,
        metadata={"description": "The lines of a conflict of kind `lines`, as the conflict names them"},
    )
    take = fields.String(
        required=True,
        validate=validate.OneOf([MINE, THEIRS, VALUE]),
        metadata={"description": "The version of the set, that of the working branch, or `value`"},
    )
    value = fields.Raw(allow_none=True, metadata={"description": "The value of a field, or a text"})

    @post_load
    def _to_resolution(self, data: dict[str, Any], **_kwargs: object) -> tuple[str, Resolution]:
        names = [name for name in ("pointer", "block", "lines") if data[name] is not None]
        if len(names) > 1:
            raise ValidationError("Name one of pointer, block and lines.", names[1])
        if data["take"] == VALUE and "value" not in data:
            raise ValidationError(fields.Field.default_error_messages["required"], "value")
        is_text = names != ["pointer"]
        if data["take"] == VALUE and is_text and not isinstance(data["value"], str):
            raise ValidationError("Must be a text.", "value")
        location: Any = data[names[0]] if names else None
        if names == ["lines"]:
            location = LineRange(location["start"], location["end"])
        choice = Replacement(data["value"]) if data["take"] == VALUE else data["take"]
        return data["path"], Resolution(location, choice)


@dataclass(frozen=True, kw_only=True)
class ResolveBody(RequestBody):
    """Resolutions of the conflicts of a set with the working branch."""

    resolutions: Annotated[
        list[tuple[str, Resolution]],
        BoundedList(
            fields.Nested(ResolutionSchema),
            max_length=MAX_RESOLUTIONS,
            required=True,
            metadata={"description": "The resolution of each conflict"},
        ),
    ]
    site_sha: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=full_sha,
            metadata={
                "description": "The head of the working branch to which the resolutions belong: `head_sha` of the 409. "
                "If it has moved, the request is refused"
            },
        ),
    ]

    def __post_init__(self) -> None:
        """Refuse a resolution of a whole file together with one of its parts."""
        counts = Counter(path for path, _ in self.resolutions)
        for number, (path, resolution) in enumerate(self.resolutions):
            if resolution.location is None and counts[path] > 1:
                text = "This file has further resolutions."
                raise ValidationError({"resolutions": {number: {"path": [text]}}})


@dataclass(frozen=True, kw_only=True)
class MoveBody(RequestBody):
    """The files whose changes are moved to another set of the project."""

    paths: Annotated[
        list[str],
        BoundedList(
            fields.String(validate=plain_path),
            min_length=1,
            max_length=CommitLimits.files,
            required=True,
            metadata={"description": "The files. The other changed files of their pages are moved with them"},
        ),
    ]
    to: Annotated[str, IdField("chg", required=True, metadata={"description": "The id of the other set"})]


class PersonSchema(PassthroughSchema):
    """A user. Null after the account was deleted."""

    id = fields.String(allow_none=True)
    name = fields.String(allow_none=True, metadata={"description": "The name of the user, or null"})


class CreatorSchema(PersonSchema):
    """The creator of a set, with the name of the API token by which it was created."""

    token = fields.String(
        metadata=OPTIONAL | {"description": "The name of the API token. Only for a set made through a token"}
    )


class ScheduleSchema(PassthroughSchema):
    """The time at which a set is published or unpublished."""

    wall_time = fields.String(metadata={"description": "The time that the clocks of the zone show"})
    timezone = fields.String(metadata={"description": "The IANA name of the zone"})
    choice = fields.String(
        allow_none=True, metadata={"description": "`earlier` or `later` for a time that the clocks show twice"}
    )
    action = fields.Enum(
        ScheduledAction, by_value=True, metadata={"description": "What happens at the time: `publish` or `unpublish`"}
    )
    due_at = fields.String(metadata=DATE_TIME | {"description": "The instant of the wall time"})


class ChangeSetSchema(PassthroughSchema):
    """A change set."""

    id = fields.String()
    project_id = fields.String()
    title = fields.String(metadata={"description": "The title, also the subject of the commit"})
    description = fields.String(allow_none=True, metadata={"description": "The text below the subject, or null"})
    state = fields.Enum(ChangeSetState, by_value=True, metadata={"description": "The step of the publication"})
    branch = fields.String(metadata={"description": "The branch that contains the changes"})
    base_sha = fields.String(metadata={"description": "The commit of the working branch from which the set starts"})
    head_sha = fields.String(metadata={"description": "The newest commit of the set"})
    version = fields.Integer(metadata={"description": "The number of changes of the set"})
    files = fields.Integer(metadata={"description": "The number of changed files"})
    approvals = fields.Integer(metadata={"description": "The number of approvals of the newest commit"})
    required_approvals = fields.Integer(metadata={"description": "The number of approvals that the project requires"})
    created_by = fields.Nested(CreatorSchema)
    reviewers = fields.List(fields.Nested(PersonSchema), metadata={"description": "The users who were asked to review"})
    unresolved_comments = fields.Integer(metadata={"description": "The number of comments that are not resolved"})
    schedule = fields.Nested(
        ScheduleSchema, allow_none=True, metadata={"description": "The time of the next step, or null"}
    )
    published_sha = fields.String(
        allow_none=True, metadata={"description": "The commit that published the set, or null"}
    )
    published_at = fields.String(allow_none=True, metadata=DATE_TIME | {"description": "The time of the publication"})
    reverts = fields.String(allow_none=True, metadata={"description": "The id of the set that this one reverts"})
    problem = fields.String(
        allow_none=True, metadata={"description": "The reason why the last publication failed, or null"}
    )
    createdAt = fields.String(metadata=DATE_TIME)  # noqa: N815 (the contract's name)
    updatedAt = fields.String(metadata=DATE_TIME)  # noqa: N815 (the contract's name)


class MovedSchema(PassthroughSchema):
    """The result of a move of changes from one set to another one."""

    change_set = fields.Nested(ChangeSetSchema, metadata={"description": "The set that has lost the changes"})
    to = fields.Nested(ChangeSetSchema, metadata={"description": "The set that has received them"})
    paths = fields.List(fields.String(), metadata={"description": "The moved files"})
    complete = fields.Boolean(
        metadata={"description": "False if both sets have the changes. The same request completes the move"}
    )


AUTHOR_KIND = fields.String(
    validate=validate.OneOf(["member", "guest"]),
    metadata={"description": "`guest` for a person without an account, who has a name and no id"},
)


class QuoteSchema(PassthroughSchema):
    """A quotation of a text, with the text around it (W3C Web Annotation, TextQuoteSelector)."""

    exact = fields.String(metadata={"description": "The quoted text"})
    prefix = fields.String(metadata={"description": "The text before it"})
    suffix = fields.String(metadata={"description": "The text after it"})


class ReviewSchema(PassthroughSchema):
    """A review of a change set."""

    id = fields.String()
    verdict = fields.Enum(Verdict, by_value=True, metadata={"description": "`approve`, `changes` or `comment`"})
    body = fields.String(metadata={"description": "The text of the review"})
    head_sha = fields.String(metadata={"description": "The commit that was reviewed"})
    valid = fields.Boolean(metadata={"description": "Whether the set is still at that commit"})
    kind = AUTHOR_KIND
    user = fields.Nested(PersonSchema)
    createdAt = fields.String(metadata=DATE_TIME)  # noqa: N815 (the contract's name)


class ReviewedSchema(ReviewSchema):
    """A new review, and the change set after it."""

    change_set = fields.Nested(ChangeSetSchema)


class ChangeSetCommentSchema(PassthroughSchema):
    """A comment on a change set."""

    id = fields.String()
    body = fields.String(metadata={"description": "The text of the comment"})
    path = fields.String(allow_none=True, metadata={"description": "The file, or null for the whole set"})
    pointer = fields.String(allow_none=True, metadata={"description": "The JSON pointer of a value, or null"})
    block = fields.String(allow_none=True, metadata={"description": "The hash of the text of a block, or null"})
    page = fields.String(allow_none=True, metadata={"description": "The path of a page of the built site, or null"})
    quote = fields.Nested(
        QuoteSchema, allow_none=True, metadata={"description": "The text of the page that is meant, or null"}
    )
    kind = AUTHOR_KIND
    user = fields.Nested(PersonSchema)
    resolved_at = fields.String(
        allow_none=True, metadata=DATE_TIME | {"description": "The time, or null if it is open"}
    )
    resolved_by = fields.Nested(
        PersonSchema, allow_none=True, metadata={"description": "The user who resolved it, or null"}
    )
    createdAt = fields.String(metadata=DATE_TIME)  # noqa: N815 (the contract's name)


class ChangeSetFailureSchema(PassthroughSchema):
    """The data of a refused step: the states that permit it, the first revert, or the times next to an invalid one."""

    state = fields.Enum(
        ChangeSetState, by_value=True, metadata=OPTIONAL | {"description": "The present state of the change set"}
    )
    permitted = fields.List(
        fields.Enum(ChangeSetState, by_value=True),
        metadata=OPTIONAL | {"description": "The states that permit the step"},
    )
    change_set_id = fields.String(metadata=OPTIONAL | {"description": "The change set that reverts this one already"})
    before = fields.String(metadata=OPTIONAL | {"description": "The last minute before the skipped time"})
    after = fields.String(metadata=OPTIONAL | {"description": "The first minute after the skipped time"})
    earlier = fields.String(metadata=OPTIONAL | {"description": "The first instant of the time"})
    later = fields.String(metadata=OPTIONAL | {"description": "The second instant of the time"})
