"""The body and answers of `/project-preview`."""

from typing import Any

from marshmallow import Schema, ValidationError, fields, validate

from app.core.refs import is_sha
from app.http.validation import Body, Entries, Moment, Ready, text
from app.models.project_preview import PreviewState

MAX_URLS = 16


def _web_url(**kwargs: Any) -> fields.Url:
    return fields.Url(schemes={"http", "https"}, require_tld=False, validate=validate.Length(max=2048), **kwargs)


def _sha(value: str) -> None:
    if not is_sha(value):
        raise ValidationError("This is not a commit's full sha.")


class ChangePreview(Body):
    """What may be written of a preview; ids and times are the server's."""

    sandbox_name = text(0, 255, required=False, allow_none=True)
    preview_url = _web_url(allow_none=True)
    urls = Entries(keys=fields.String(), values=_web_url(), validate=validate.Length(max=MAX_URLS))
    state = fields.Enum(PreviewState, by_value=True)
    commit_sha = fields.String(allow_none=True, validate=_sha)


class PreviewObject(Schema):
    """What is recorded of a preview (contract 4.7)."""

    project_id = fields.String()
    sandbox_id = fields.String(allow_none=True)
    sandbox_name = fields.String(allow_none=True)
    preview_url = fields.String(allow_none=True)
    urls = fields.Dict()
    state = fields.Enum(PreviewState, by_value=True)
    commit_sha = fields.String(allow_none=True)
    expires_at = Moment(allow_none=True)
    last_used_at = Moment(allow_none=True)
    createdAt = Moment(attribute="created_at")  # noqa: N815 (the contract's name)
    updatedAt = Moment(attribute="updated_at")  # noqa: N815 (the contract's name)


class DeletedPreview(Ready):
    """What is gone."""

    project_id = fields.String()
    deleted = fields.Boolean()
