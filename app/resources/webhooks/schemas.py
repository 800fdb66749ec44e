"""What providers send, for the OpenAPI document: of their own bodies, what is read here; the signature is checked first."""

from marshmallow import fields

from app.http.validation import Body


class RepositoryOfA(Body):
    """A repository as provider A names it."""

    id = fields.Integer(required=True)
    full_name = fields.String(required=True)


class Installation(Body):
    """An installation of the app."""

    id = fields.Integer(required=True)


class EventOfA(Body):
    """A push (`ref`, `repository`) or the end of an installation (`action`, `installation`); others are acknowledged."""

    ref = fields.String()
    repository = fields.Nested(RepositoryOfA)
    action = fields.String()
    installation = fields.Nested(Installation)


class ProjectOfB(Body):
    """A repository as provider B names it."""

    id = fields.Integer(required=True)
    path_with_namespace = fields.String(required=True)


class EventOfB(Body):
    """A push; system hooks say in `event_name` what others say in `object_kind`. Others are acknowledged."""

    object_kind = fields.String()
    event_name = fields.String()
    ref = fields.String()
    project = fields.Nested(ProjectOfB)


class BillingNotification(Body):
    """An event of the payment provider; `data` is the object it is about, of the type that `event_type` names."""

    event_id = fields.String(required=True)
    event_type = fields.String(required=True)
    occurred_at = fields.AwareDateTime(required=True)
    data = fields.Dict(required=True)
