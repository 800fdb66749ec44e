"""Media (spec 4.10): upload, deletion and delivery of images."""

from typing import Any

from flask import Response, request

from app.access.guards import public
from app.access.scope import Scope
from app.extensions import current_settings, drivers
from app.http.blueprint import ApiBlueprint, Header
from app.http.endpoint import ViewResult, endpoint
from app.resources.bucket import prepare, responses, service
from app.resources.bucket import schemas as s
from app.resources.bucket.guards import AssetScope, can_delete_asset, can_upload
from app.resources.bucket.service import ReservedAsset

blueprint = ApiBlueprint(
    "bucket",
    __name__,
    title="Uploads",
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
SMALLER_WIDTHS = Header("Link", 'URLs of the image at smaller widths, with `rel="alternate"`.', {"type": "string"})


@blueprint.post("/upload")
@endpoint(
    guard=can_upload(),
    body=s.UploadBody,
    result=s.AssetSchema,
    form=True,
    upstream=prepare.store_upload,
    status=201,
    message="Image uploaded",
    response_headers=(SMALLER_WIDTHS,),
    rate="upload",
    errors=(
        "UNSUPPORTED_IMAGE",
        "IMAGE_TOO_LARGE",
        "INVALID_IMAGE",
        "NOT_FOUND",
        "NOT_ALLOWED",
        "ARCHIVED",
    ),
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
def delete(*, scope: AssetScope) -> dict[str, Any]:
    """Delete an asset. Images that refer to it become null."""
    return {"key": service.delete(scope.asset), "deleted": True}


@media.get("/media/<path:key>")
@endpoint(
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
