"""Media (spec 4.10): uploads of images, their deletion, and where they are served."""

from typing import Any

from flask import Blueprint, Response, request

from app.extensions import drivers
from app.http.configuration import settings
from app.http.endpoint import Outcome, endpoint
from app.http.guards import public
from app.http.scope import Scope
from app.resources.bucket import intake, presenting, service
from app.resources.bucket import schemas as s
from app.resources.bucket.guards import keeper, uploader
from app.resources.bucket.service import Reserved

blueprint = Blueprint("bucket", __name__)
media = Blueprint("media", __name__)


@blueprint.post("/upload")
@endpoint(
    guard=uploader(),
    body=s.UploadForm,
    result=s.Asset,
    form=True,
    prepare=intake.store_upload,
    status=201,
    message="Image uploaded",
    rate="upload",
)
def upload(_scope: Scope, _form: s.UploadFormBody, reserved: Reserved) -> Outcome:
    """Keep an image, made anew from what was sent."""
    asset = service.confirm(reserved)
    return Outcome(presenting.shown(asset, settings(), drivers["storage"]), headers=presenting.links(asset, settings()))


@blueprint.delete("/delete/<path:key>")
@endpoint(guard=keeper(), result=s.DeletedAsset, message="Image deleted")
def delete(scope: Scope) -> dict[str, Any]:
    """Delete an asset; images that named it become null."""
    return {"key": service.delete(scope.found["asset"]), "deleted": True}


@media.get("/media/<path:key>")
@endpoint(guard=public(), query=s.WhichVariant, raw=True, message="The image", rate="media")
def serve(scope: Scope, query: s.WhichVariantQuery) -> Response:
    """Serve an image, whole, in part or at another width."""
    return presenting.served(scope.path["key"], query, request, settings(), drivers["storage"])
