"""Preparation of an upload: the image is re-encoded, its row reserved, its object stored.

The row is written before the object. If the process ends in between, the cleanup deletes the row. The quota also limits
parallel uploads.
"""

import tempfile
from typing import BinaryIO, cast

from app.access.scope import Scope
from app.database import transactions
from app.drivers.storage.port import ObjectStore
from app.extensions import current_settings, drivers
from app.images.worker import ReencodedImage, remake
from app.resources.bucket import service
from app.resources.bucket.schemas import UploadBody
from app.resources.bucket.service import ReservedAsset


def store_upload(scope: Scope, body: UploadBody) -> ReservedAsset:
    """Re-encode the image and store it. It becomes visible when the view confirms it.

    Raises:
        InvalidRequest, UnsupportedMediaType, PayloadTooLarge: the file is not an accepted image.
        TooManyRequests, LimitReached: the quota of the user is used up.
        UpstreamUnavailable: the store is not available. No row remains.
    """
    settings, user_id, upload = current_settings(), scope.user.id, body.file
    where = service.filing(body.folder, scope.destination, scope.project)
    limits, scale = settings.limits, settings.server.rate_limit_scale
    service.check_quota(user_id, upload.size, 0, limits, scale=scale)
    with transactions.outside_transaction(), tempfile.TemporaryFile() as output:
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
