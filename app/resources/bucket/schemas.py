"""Form, query and responses of `/bucket` and `/media`."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import Schema, fields, validate

from app.http.uploads import FileField, Upload
from app.http.validation import IdField, Length, RequestBody, RequestQuery
from app.resources.bucket.storage_keys import WIDTHS, Folder


@dataclass(frozen=True, kw_only=True)
class UploadBody(RequestBody):
    """An image, its folder, and the organization or project that it is attached to."""

    file: Annotated[Upload, FileField(required=True, metadata={"type": "string", "format": "binary"})]
    folder: Annotated[
        str,
        fields.String(load_default=Folder.USERS.value, validate=validate.OneOf([folder.value for folder in Folder])),
    ]
    org_id: Annotated[str | None, IdField("org", load_default=None)]
    project_id: Annotated[str | None, IdField("prj", load_default=None)]


class AssetSchema(Schema):
    """A stored image, re-encoded from the upload."""

    key = fields.String(required=True)
    url = fields.String(required=True)
    mimetype = fields.String(required=True)
    size = fields.Integer(required=True)
    width = fields.Integer(required=True)
    height = fields.Integer(required=True)
    hash = fields.String(required=True, metadata={"description": "SHA-256 of the bytes, in hex"})


class DeletedAssetSchema(Schema):
    """A deleted asset."""

    key = fields.String(required=True)
    deleted = fields.Boolean(required=True)


@dataclass(frozen=True, kw_only=True)
class VariantQuery(RequestQuery):
    """The requested width, and the signature in the URL of a variant."""

    w: Annotated[int | None, fields.Integer(load_default=None, validate=validate.OneOf(WIDTHS))]
    s: Annotated[str, fields.String(load_default="", validate=Length(max=64))]
