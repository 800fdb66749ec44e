"""The event types with the schemas of their data.

A new type is one `EventType` here and one row of the table in `app.resources.outbound_webhook.subscribers`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from marshmallow import Schema, fields, validate

from app.core.limits import WebhookLimits
from app.core.permissions import Role
from app.http.json_schema import OPTIONAL
from app.models.change_set import ChangeSetState
from app.models.organization import ArchiveStatus
from app.models.outbound_webhook import DisabledReason
from app.models.project import Generator, Provider, Visibility
from app.models.project_log import LogAction
from app.models.site_build import BuildState
from app.resources.change_set.events import ChangeSetEvent

PROJECT, ORGANIZATION = "prj_01jd3h8f2mfz1t4v5w6x7y8z9b", "org_01jd3h8f2mfz1t4v5w6x7y8z9c"
COMMIT, PARENT = "5f0c6d2b4d1e8a3f9b7c6d5e4f3a2b1c0d9e8f7a", "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
_ACTIONS = validate.OneOf(
    [str(action) for action in (LogAction.CREATE, LogAction.UPDATE, LogAction.DELETE, LogAction.RENAME)]
)


event_types: dict[str, "EventType"] = {}
"""All declared types by name."""


@dataclass(frozen=True)
class EventType:
    """A type of event: its description, the Marshmallow schema of `data`, and an example of it.

    With `is_deployed`, an event of the working branch calls the deploy hooks of the project.
    """

    name: str
    description: str
    data: type
    example: Mapping[str, object]
    is_deployed: bool = False

    def __post_init__(self) -> None:
        """Add the type to the table. Raises ValueError if its name is declared."""
        if self.name in event_types:
            raise ValueError(f"two event types are named {self.name}")
        event_types[self.name] = self


class EventDataSchema(Schema):
    """The data of an event."""


class ProjectEventSchema(EventDataSchema):
    """The data of an event of a project."""

    project_id = fields.String()
    sequence = fields.Integer(
        metadata={"description": "The number of the message in its project. It increases with each message"}
    )


class WebhookFileSchema(Schema):
    """A file of a commit."""

    path = fields.String()
    action = fields.String(validate=_ACTIONS, metadata={"description": "The kind of the change"})


class ContentCommittedSchema(ProjectEventSchema):
    """A commit of Galley."""

    branch = fields.String()
    commit_sha = fields.String()
    files = fields.List(
        fields.Nested(WebhookFileSchema),
        metadata={"description": f"The changed files: as many as fit into a message, at most {WebhookLimits.files}"},
    )
    truncated = fields.Boolean(metadata={"description": "Whether `files` lacks files of the commit"})


class BranchMovedEventSchema(ProjectEventSchema):
    """A branch with commits that Galley did not make."""

    branch = fields.String()
    before = fields.String(
        allow_none=True,
        metadata={"description": "The previous commit of the branch, or null for a branch that was not read before"},
    )
    after = fields.String(metadata={"description": "The present commit of the branch"})


class IndexFailedEventSchema(ProjectEventSchema):
    """A branch that could not be read."""

    branch = fields.String()
    problem = fields.String(metadata={"description": "A sentence for people"})


class ChangeSetEventSchema(ProjectEventSchema):
    """A change set."""

    change_set_id = fields.String(metadata={"description": "The id of the change set"})
    state = fields.Enum(ChangeSetState, by_value=True, metadata={"description": "The state after the event"})
    commit_sha = fields.String(metadata=OPTIONAL | {"description": "The commit that published the set"})


class SetBuildSchema(Schema):
    """The build of a change set."""

    id = fields.String(metadata={"description": "The id of the build"})
    state = fields.Enum(BuildState, by_value=True, metadata={"description": "`ready` or `failed`"})
    commit_sha = fields.String(metadata={"description": "The newest commit of the change set"})
    seconds = fields.Float(
        allow_none=True, metadata={"description": "The time from the start to the end, or null if it did not start"}
    )
    url = fields.String(
        allow_none=True,
        metadata={"description": "The address that leads signed-in members to the built site, or null"},
    )


class ChangeSetBuiltSchema(ProjectEventSchema):
    """A change set whose newest build ended."""

    change_set_id = fields.String(metadata={"description": "The id of the change set"})
    state = fields.Enum(ChangeSetState, by_value=True, metadata={"description": "The state of the change set"})
    build = fields.Nested(SetBuildSchema, metadata={"description": "The build of its newest commit"})


class PreviewEventSchema(ProjectEventSchema):
    """A preview."""

    sandbox_id = fields.String()
    commit_sha = fields.String(allow_none=True)
    code = fields.String(
        allow_none=True, metadata={"description": "The code of the failure, or null for a preview that runs"}
    )


class MediaEventSchema(EventDataSchema):
    """An image of an organization or project."""

    organization_id = fields.String()
    project_id = fields.String(allow_none=True)
    sequence = fields.Integer(
        metadata=OPTIONAL | {"description": "The number of the message in its project. Only with a project"}
    )
    key = fields.String(metadata={"description": "The key of the image, which its address contains"})
    mimetype = fields.String()
    size = fields.Integer()
    width = fields.Integer(metadata={"description": "The width in pixels"})
    height = fields.Integer(metadata={"description": "The height in pixels"})


class ProjectDataSchema(ProjectEventSchema):
    """A project."""

    organization_id = fields.String()
    project_name = fields.String()
    site_url = fields.String(allow_none=True)
    provider = fields.Enum(Provider, by_value=True)
    repository = fields.String(metadata={"description": "Empty without a connection"})
    branch = fields.String(metadata={"description": "The working branch, empty without a connection"})
    generator = fields.String(allow_none=True, metadata={"enum": [*map(str, Generator), None]})
    visibility = fields.Enum(Visibility, by_value=True, metadata={"description": "A label of the published site"})
    status = fields.Enum(ArchiveStatus, by_value=True, metadata={"description": "`archived` is read-only"})


class ProjectMovedEventSchema(ProjectDataSchema):
    """A project in its new organization."""

    previous_organization_id = fields.String(metadata={"description": "The organization before the move"})


class MemberEventSchema(EventDataSchema):
    """A member or an invited person."""

    organization_id = fields.String()
    user_id = fields.String(allow_none=True, metadata={"description": "Null for an invitation"})
    email = fields.String()
    role = fields.Enum(Role, by_value=True, metadata={"description": "The role, after a removal the last one"})


class ReconnectEventSchema(ProjectEventSchema):
    """A project whose repository cannot be reached with its credential."""

    provider = fields.Enum(Provider, by_value=True)
    repository = fields.String()


class WebhookDisabledEventSchema(EventDataSchema):
    """A webhook that receives no messages until it is activated."""

    webhook_id = fields.String(metadata={"description": "The id of the webhook"})
    project_id = fields.String(allow_none=True)
    sequence = fields.Integer(
        metadata=OPTIONAL | {"description": "The number of the message in its project. Only with a project"}
    )
    host = fields.String(metadata={"description": "The host of the webhook"})
    reason = fields.Enum(
        DisabledReason,
        by_value=True,
        metadata={"description": "`gone` after a response with 410, `failing` after five days of failures"},
    )


class WebhookTestEventSchema(EventDataSchema):
    """A test."""

    webhook_id = fields.String(metadata={"description": "The id of the webhook"})


_OF_PROJECT = {"project_id": PROJECT, "sequence": 41}
_PROJECT = _OF_PROJECT | {
    "organization_id": ORGANIZATION,
    "project_name": "Harbour guide",
    "site_url": "https://harbour.example.org",
    "provider": "local",
    "repository": "acme/harbour",
    "branch": "main",
    "generator": "hugo",
    "visibility": "public",
    "status": "active",
}
_MEMBER = {
    "organization_id": ORGANIZATION,
    "user_id": "usr_01jd3h8f2mfz1t4v5w6x7y8z9d",
    "email": "grace@harbour.example.org",
    "role": "editor",
}
_INVITED = _MEMBER | {"user_id": None}
_PREVIEW = _OF_PROJECT | {"sandbox_id": "sbx_01jd3h8f2mfz1t4v5w6x7y8z9e", "commit_sha": COMMIT}
_IMAGE = {
    "organization_id": ORGANIZATION,
    "project_id": PROJECT,
    "sequence": 41,
    "key": "sites/3f2a9c-k7.webp",
    "mimetype": "image/webp",
    "size": 48213,
    "width": 1600,
    "height": 900,
}
_WEBHOOK = "whe_01jd3h8f2mfz1t4v5w6x7y8z9f"
_CHANGE_SET = "chg_01jd3h8f2mfz1t4v5w6x7y8z9g"

CONTENT_COMMITTED = EventType(
    "content.committed",
    "Galley committed files to a branch.",
    ContentCommittedSchema,
    _OF_PROJECT
    | {
        "branch": "main",
        "commit_sha": COMMIT,
        "files": [{"path": "content/posts/fog-signals.md", "action": "update"}],
        "truncated": False,
    },
    is_deployed=True,
)
BRANCH_MOVED = EventType(
    "branch.moved",
    "A branch has commits from a push or a merge.",
    BranchMovedEventSchema,
    _OF_PROJECT | {"branch": "main", "before": PARENT, "after": COMMIT},
    is_deployed=True,
)
INDEX_FAILED = EventType(
    "index.failed",
    "A branch could not be read from its Git host.",
    IndexFailedEventSchema,
    _OF_PROJECT | {"branch": "main", "problem": "The repository is not available"},
)
CHANGE_SETS = {
    step: EventType(
        f"change_set.{step}",
        text,
        ChangeSetEventSchema,
        _OF_PROJECT
        | {"change_set_id": _CHANGE_SET, "state": str(state)}
        | ({"commit_sha": COMMIT} if state in (ChangeSetState.PUBLISHED, ChangeSetState.REVERTED) else {}),
    )
    for step, text, state in (
        (ChangeSetEvent.SUBMITTED, "A review of a change set was requested.", ChangeSetState.IN_REVIEW),
        (ChangeSetEvent.APPROVED, "A change set has the required approvals.", ChangeSetState.APPROVED),
        (ChangeSetEvent.CHANGES_REQUESTED, "A reviewer asked for changes.", ChangeSetState.CHANGES_REQUESTED),
        (ChangeSetEvent.SCHEDULED, "The time of a publication was set.", ChangeSetState.SCHEDULED),
        (ChangeSetEvent.PUBLISHED, "A change set was published.", ChangeSetState.PUBLISHED),
        (ChangeSetEvent.PUBLISH_FAILED, "A scheduled or awaited publication failed.", ChangeSetState.FAILED),
        (ChangeSetEvent.REVERTED, "The revert of a change set was published.", ChangeSetState.REVERTED),
        (ChangeSetEvent.CLOSED, "A change set was closed.", ChangeSetState.CLOSED),
    )
}
"""The type of each step of a change set."""

CHANGE_SET_BUILT = EventType(
    "change_set.built",
    "The site was built with the newest changes of an open change set, or could not be built.",
    ChangeSetBuiltSchema,
    _OF_PROJECT
    | {
        "change_set_id": _CHANGE_SET,
        "state": str(ChangeSetState.IN_REVIEW),
        "build": {
            "id": "bld_01jd3h8f2mfz1t4v5w6x7y8z9h",
            "state": str(BuildState.READY),
            "commit_sha": COMMIT,
            "seconds": 21.4,
            "url": f"https://galley.example.org/console/projects/{PROJECT}/changes/{_CHANGE_SET}/open-site",
        },
    },
)

PREVIEW_STARTED = EventType("preview.started", "A preview runs.", PreviewEventSchema, _PREVIEW | {"code": None})
PREVIEW_FAILED = EventType(
    "preview.failed",
    "A preview could not be started.",
    PreviewEventSchema,
    _PREVIEW | {"code": "SANDBOX_FAILED"},
)
MEDIA_UPLOADED = EventType(
    "media.uploaded", "An image of the organization or of a project was uploaded.", MediaEventSchema, _IMAGE
)
MEDIA_DELETED = EventType(
    "media.deleted", "An image of the organization or of a project was deleted.", MediaEventSchema, _IMAGE
)
PROJECT_CREATED = EventType("project.created", "A project was created.", ProjectDataSchema, _PROJECT)
PROJECT_UPDATED = EventType(
    "project.updated",
    "The settings or the connection of a project changed, or it became active again.",
    ProjectDataSchema,
    _PROJECT,
)
PROJECT_ARCHIVED = EventType(
    "project.archived", "A project was archived.", ProjectDataSchema, _PROJECT | {"status": "archived"}
)
PROJECT_MOVED = EventType(
    "project.moved",
    "A project moved to another organization. Webhooks of both organizations receive the event.",
    ProjectMovedEventSchema,
    _PROJECT | {"previous_organization_id": "org_01jd3h8f2mfz1t4v5w6x7y8z9g"},
)
PROJECT_DELETED = EventType("project.deleted", "A project was deleted.", ProjectDataSchema, _PROJECT)
MEMBER_INVITED = EventType("member.invited", "A person was invited.", MemberEventSchema, _INVITED)
MEMBER_JOINED = EventType("member.joined", "A user became a member.", MemberEventSchema, _MEMBER)
MEMBER_ROLE_CHANGED = EventType(
    "member.role_changed", "The role of a member changed.", MemberEventSchema, _MEMBER | {"role": "admin"}
)
MEMBER_REMOVED = EventType(
    "member.removed", "A member or an invitation was removed, or a member left.", MemberEventSchema, _MEMBER
)
CONNECTION_NEEDS_RECONNECT = EventType(
    "connection.needs_reconnect",
    "The credential of a project no longer works. The service reports it within a minute.",
    ReconnectEventSchema,
    _OF_PROJECT | {"provider": "github", "repository": "acme/harbour"},
)
WEBHOOK_DISABLED = EventType(
    "webhook.disabled",
    "The service disabled another webhook: it responded with 410, or failed for five days.",
    WebhookDisabledEventSchema,
    {"webhook_id": _WEBHOOK, "project_id": None, "host": "hooks.harbour.example.org", "reason": "failing"},
)
WEBHOOK_TEST = EventType(
    "webhook.test",
    "A test of this webhook. It needs no subscription.",
    WebhookTestEventSchema,
    {"webhook_id": _WEBHOOK},
)
