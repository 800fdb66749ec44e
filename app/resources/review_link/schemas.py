"""Bodies and results of review links."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import fields, validate

from app.core.limits import PasswordLimits
from app.http.json_schema import full_sha
from app.http.validation import DateTimeMs, PassthroughSchema, RequestBody, StrictBoolean, text
from app.models.review_link import LinkRights
from app.resources.change_set.schemas import PersonSchema
from app.resources.review_link.service import MAX_DAYS, LinkOptions
from app.resources.user.schemas import Email

MAX_RECEIVER, MAX_MESSAGE, DEFAULT_DAYS = 120, 2_000, 14


def _optional(shortest: int, longest: int, description: str) -> fields.String:
    meaning = {"description": description}
    return text(shortest, longest, required=False, load_default=None, allow_none=True, metadata=meaning)


@dataclass(frozen=True, kw_only=True)
class ShareBody(RequestBody):
    """The settings of a review link."""

    rights: Annotated[
        LinkRights,
        fields.Enum(
            LinkRights,
            by_value=True,
            load_default=LinkRights.COMMENT,
            metadata={"description": "What the guest may do. Each right contains the ones before it"},
        ),
    ]
    expires_in_days: Annotated[
        int,
        fields.Integer(
            strict=True,
            load_default=DEFAULT_DAYS,
            validate=validate.Range(1, MAX_DAYS),
            metadata={"description": "The number of days after which the link ends"},
        ),
    ]
    commit_sha: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=full_sha,
            metadata={"description": "The commit that the link shows. Without it the link shows the present head"},
        ),
    ]
    receiver: Annotated[
        str | None,
        _optional(1, MAX_RECEIVER, "The name of the person who receives the link"),
    ]
    message: Annotated[
        str | None,
        _optional(1, MAX_MESSAGE, "The text that the page of the link shows"),
    ]
    password: Annotated[
        str | None,
        _optional(PasswordLimits.min_characters, PasswordLimits.max_characters, "The password that the guest needs"),
    ]
    blocks_hosts: Annotated[
        bool,
        StrictBoolean(
            load_default=False,
            metadata={"description": "Whether the built site loads nothing from other hosts, such as analytics"},
        ),
    ]
    email: Annotated[
        str | None,
        Email(
            load_default=None,
            allow_none=True,
            metadata={"description": "The address to which the service mails the link"},
        ),
    ]

    @property
    def options(self) -> LinkOptions:
        """The settings that are stored."""
        return LinkOptions(
            self.rights, self.expires_in_days, self.commit_sha, self.receiver, self.message, self.blocks_hosts
        )


class ReviewLinkSchema(PassthroughSchema):
    """A review link of a change set."""

    id = fields.String()
    change_set_id = fields.String(metadata={"description": "The change set that the link opens"})
    state = fields.String(
        validate=validate.OneOf(["active", "expired", "revoked"]), metadata={"description": "The state of the link"}
    )
    rights = fields.Enum(LinkRights, by_value=True, metadata={"description": "What the guest may do"})
    commit_sha = fields.String(
        allow_none=True, metadata={"description": "The commit that the link shows, or null for the present head"}
    )
    receiver = fields.String(allow_none=True, metadata={"description": "The name of the receiver, or null"})
    message = fields.String(allow_none=True, metadata={"description": "The text that the page shows, or null"})
    has_password = fields.Boolean(metadata={"description": "Whether the guest needs a password"})
    blocks_hosts = fields.Boolean(metadata={"description": "Whether the built site loads nothing from other hosts"})
    opened = fields.Integer(metadata={"description": "The number of guests who gave a name"})
    opened_at = DateTimeMs(
        allow_none=True, metadata={"description": "The time at which the last guest gave a name, or null"}
    )
    expires_at = DateTimeMs(metadata={"description": "The time at which the link ends"})
    created_by = fields.Nested(PersonSchema)
    url = fields.String(allow_none=True, metadata={"description": "The address of the link, or null if it has ended"})
    createdAt = DateTimeMs()  # noqa: N815 (wire name)
    updatedAt = DateTimeMs()  # noqa: N815 (wire name)
