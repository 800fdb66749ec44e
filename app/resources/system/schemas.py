"""Response schemas of the state of the service."""

from marshmallow import Schema, fields

from app.http.json_schema import OPTIONAL
from app.http.validation import PassthroughSchema

STATES = ["ok", "down", "late", "full"]


class HealthSchema(PassthroughSchema):
    """The process responds. `uptime` is in seconds."""

    status = fields.String(metadata={"const": "ok", "description": "Always `ok`"})
    uptime = fields.Float()


class DependencyCheckSchema(Schema):
    """The state of one dependency. The job queue also has numbers: calls, and times in seconds."""

    state = fields.String(
        metadata={
            "enum": STATES,
            "description": "`late` is a worker without a sign of life or a job that waits too long, `full` a full disk",
        }
    )
    waiting = fields.Integer(metadata=OPTIONAL)
    dead = fields.Integer(metadata=OPTIONAL)
    lag_s = fields.Float(metadata=OPTIONAL)
    worker_seen_s = fields.Float(allow_none=True, metadata=OPTIONAL)


class ReadinessSchema(PassthroughSchema):
    """The state of all dependencies by name. With `degraded` the service works without one of them."""

    status = fields.String(metadata={"enum": ["ok", "degraded", "unavailable", "ending"]})
    checks = fields.Dict(
        keys=fields.String(),
        values=fields.Nested(DependencyCheckSchema),
        metadata={"description": "The dependencies by name, for example `database`"},
    )
