"""The form, query and answers of `/bucket` and `/media`."""

from typing import TypedDict

from marshmallow import Schema, fields, pre_load, validate

from app.http.uploads import Upload, UploadedFile
from app.http.validation import Body, Id
from app.resources.bucket.keys import WIDTHS, Folder


class UploadFormBody(TypedDict):
    """What `UploadForm` loads."""

    file: Upload
    folder: str
    org_id: str | None
    project_id: str | None


class UploadForm(Body):
    """An image, where to file it and what it belongs to."""

    file = UploadedFile(required=True, metadata={"type": "string", "format": "binary"})
    folder = fields.String(load_default=Folder.USERS.value, validate=validate.OneOf([one.value for one in Folder]))
    org_id = Id("org", load_default=None)
    project_id = Id("prj", load_default=None)

    @pre_load
    def drop_empty(self, data: dict[str, object], **_: object) -> dict[str, object]:
        """Browsers send an empty field for what was left out."""
        return {name: value for name, value in data.items() if value != ""}


class Asset(Schema):
    """An image as it is kept: made anew from what was sent."""

    key = fields.String(required=True)
    url = fields.String(required=True)
    mimetype = fields.String(required=True)
    size = fields.Integer(required=True)
    width = fields.Integer(required=True)
    height = fields.Integer(required=True)
    hash = fields.String(required=True, metadata={"description": "SHA-256 of the bytes, in hex"})


class DeletedAsset(Schema):
    """What is gone."""

    key = fields.String(required=True)
    deleted = fields.Boolean(required=True)


class WhichVariantQuery(TypedDict):
    """What `WhichVariant` loads."""

    w: int | None
    s: str


class WhichVariant(Body):
    """The width wanted, and the signature that the address of a variant carries."""

    w = fields.Integer(load_default=None, validate=validate.OneOf(WIDTHS))
    s = fields.String(load_default="", validate=validate.Length(max=64))
