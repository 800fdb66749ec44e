"""Form, query and responses of `/bucket` and `/media`."""

from typing import TypedDict

from marshmallow import Schema, fields, pre_load, validate

from app.http.uploads import FileField, Upload
from app.http.validation import IdField, RequestSchema
from app.resources.bucket.storage_keys import WIDTHS, Folder


class UploadFormBody(TypedDict):
    """The loaded form of an upload."""

    file: Upload
    folder: str
    org_id: str | None
    project_id: str | None


class UploadForm(RequestSchema):
    """An image, its folder, and the organization or project that it is attached to."""

    file = FileField(required=True, metadata={"type": "string", "format": "binary"})
    folder = fields.String(load_default=Folder.USERS.value, validate=validate.OneOf([one.value for one in Folder]))
    org_id = IdField("org", load_default=None)
    project_id = IdField("prj", load_default=None)

    @pre_load
    def drop_empty(self, data: dict[str, object], **_: object) -> dict[str, object]:
        """Drop empty fields, which browsers send for missing values."""
        return {name: value for name, value in data.items() if value != ""}


class Asset(Schema):
    """A stored image, re-encoded from the upload."""

    key = fields.String(required=True)
    url = fields.String(required=True)
    mimetype = fields.String(required=True)
    size = fields.Integer(required=True)
    width = fields.Integer(required=True)
    height = fields.Integer(required=True)
    hash = fields.String(required=True, metadata={"description": "SHA-256 of the bytes, in hex"})


class DeletedAsset(Schema):
    """A deleted asset."""

    key = fields.String(required=True)
    deleted = fields.Boolean(required=True)


class WhichVariantQuery(TypedDict):
    """The loaded query of an image."""

    w: int | None
    s: str


class WhichVariant(RequestSchema):
    """The requested width, and the signature in the URL of a variant."""

    w = fields.Integer(load_default=None, validate=validate.OneOf(WIDTHS))
    s = fields.String(load_default="", validate=validate.Length(max=64))
