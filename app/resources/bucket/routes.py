"""Media (spec 4.10): upload, deletion and delivery of images."""

import tempfile
from typing import BinaryIO, cast

from flask import Response, request

from app.access.guards import public
from app.access.scope import Scope
from app.database import transactions
from app.drivers.storage.port import ObjectStore
from app.extensions import current_settings, drivers
from app.http.blueprint import ApiBlueprint, Header
from app.http.endpoint import ViewResult, endpoint
from app.images.worker import ReencodedImage, remake, uploads
from app.resources.bucket import responses, service
from app.resources.bucket import schemas as s
from app.resources.bucket.guards import AssetScope, can_delete_asset, can_upload
from app.resources.bucket.schemas import UploadBody
from app.resources.bucket.service import ReservedAsset

SMALLER_WIDTHS = Header("Link", 'URLs of the image at smaller widths, with `rel="alternate"`.', {"type": "string"})


def store_upload(scope: Scope, body: UploadBody) -> ReservedAsset:
    """Re-encode the image and store it. It becomes visible when the view confirms it.

    Raises:
        InvalidRequest, UnsupportedMediaType, PayloadTooLarge: the file is not an accepted image.
        TooManyRequests, LimitReached: the quota of the user is used up.
        UpstreamUnavailable: the store is not available. No row remains.
    """
    settings, user_id, upload = current_settings(), scope.caller.id, body.file
    where = service.filing(body.folder, scope.destination, scope.project)
    limits, scale = settings.limits, settings.server.rate_limit_scale
    service.check_quota(user_id, upload.size, 0, limits, scale=scale)
    with transactions.outside_transaction(), tempfile.TemporaryFile() as output:
        with uploads.slot(user_id):
            picture = remake(upload.file, cast("BinaryIO", output), limits.upload)
        with transactions.write_transaction():
            reserved = service.reserve(user_id, where, upload.size, picture, limits, scale=scale)
        _put(reserved, cast("BinaryIO", output), picture, drivers.storage)
    return reserved


def _put(reserved: ReservedAsset, file: BinaryIO, picture: ReencodedImage, store: ObjectStore) -> None:
    try:
        store.put(reserved.key, file, mimetype=picture.mimetype)
    except BaseException:
        with transactions.write_transaction():
            service.cancel_reservation(reserved)
        raise


blueprint = ApiBlueprint(
    "bucket",
    __name__,
    title="Uploads",
    noun="image",
    description="Upload and deletion of images.",
    parameters={
        "key": "The key of an image from its upload. It may contain slashes.",
    },
)
media = ApiBlueprint(
    "media",
    __name__,
    title="Images",
    description="Delivery of uploaded images.",
    parameters={
        "key": "The key of an image from its upload. It may contain slashes.",
        "s": "The signature of the URL of a smaller width.",
        "w": "The width in pixels.",
    },
)


@blueprint.post("/upload")
@endpoint(
    guard=can_upload(),
    body=s.UploadBody,
    result=s.AssetSchema,
    form=True,
    upstream=store_upload,
    status=201,
    message="Image uploaded",
    response_headers=(SMALLER_WIDTHS,),
    rate="upload",
    errors=("UNSUPPORTED_IMAGE", "IMAGE_TOO_LARGE", "INVALID_IMAGE", "NOT_FOUND", "NOT_ALLOWED", "ARCHIVED"),
)
def upload(*, scope: Scope, body: s.UploadBody, prepared: ReservedAsset) -> ViewResult:
    """Store an image, re-encoded from the upload."""
    asset = service.confirm(prepared)
    return ViewResult(
        responses.with_url(asset, current_settings(), drivers.storage),
        headers=responses.links(asset, current_settings()),
    )


@blueprint.delete("/delete/<path:key>")
@endpoint(guard=can_delete_asset(), result=s.DeletedAssetSchema, message="Image deleted")
def delete(*, scope: AssetScope) -> dict[str, object]:
    """Delete an asset. Images that refer to it become null."""
    return {"key": service.delete(scope.asset), "deleted": True}


@media.get("/media/<path:key>")
@endpoint(
    operation_id="getMedia",
    guard=public(),
    query=s.VariantQuery,
    raw_response=True,
    media_type="image/*",
    message="The image",
    rate="media",
    errors=("INVALID_SIGNATURE",),
)
def serve(*, scope: Scope, query: s.VariantQuery) -> Response:
    """Return an image as a whole, in part, or at another width."""
    return responses.asset_response(scope.path["key"], query, request, current_settings(), drivers.storage)
