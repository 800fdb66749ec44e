"""Bodies of notifications and their response. The bodies describe the OpenAPI document only."""

from marshmallow import fields

from app.http.validation import RequestSchema


class AcknowledgedSchema(RequestSchema):
    """The response to every verified notification."""

    received = fields.Boolean(
        metadata={"description": "Always true. An event that the service does not use is acknowledged as well"}
    )


class GitHubRepositorySchema(RequestSchema):
    """A repository in a notification of provider A."""

    id = fields.Integer(required=True)
    full_name = fields.String(required=True)


class GitHubInstallationSchema(RequestSchema):
    """An installation of the app."""

    id = fields.Integer(required=True)


class GitHubEventSchema(RequestSchema):
    """A push (`ref`, `repository`) or a removed installation (`action`, `installation`).

    Other events are acknowledged.
    """

    ref = fields.String()
    repository = fields.Nested(GitHubRepositorySchema)
    action = fields.String(metadata={"description": "`deleted` and `suspend` end the installation"})
    installation = fields.Nested(GitHubInstallationSchema)


class GitLabProjectSchema(RequestSchema):
    """A repository in a notification of provider B."""

    id = fields.Integer(required=True)
    path_with_namespace = fields.String(required=True)


class GitLabEventSchema(RequestSchema):
    """A push. System hooks use `event_name` instead of `object_kind`. Other events are acknowledged."""

    object_kind = fields.String()
    event_name = fields.String(metadata={"description": "The type of a system hook, for example `push`"})
    ref = fields.String()
    project = fields.Nested(GitLabProjectSchema)


class BillingNotificationSchema(RequestSchema):
    """An event of the payment provider. `event_type` names the type of the object in `data`."""

    event_id = fields.String(required=True)
    event_type = fields.String(required=True)
    occurred_at = fields.AwareDateTime(required=True)
    data = fields.Dict(
        required=True, metadata={"description": "The changed object in the format of the payment provider"}
    )
