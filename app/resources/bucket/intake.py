"""What happens to an upload before its one transaction: the picture is made anew, its row reserved, its object stored.

The row comes before the object, so that whatever dies in between leaves a row that the sweep finds, and the quota holds
under any number of uploads at once.
"""

import tempfile
from typing import BinaryIO, cast

from app import transactions
from app.core.imaging import Remade, remake
from app.drivers.storage.port import ObjectStore
from app.extensions import drivers
from app.http.configuration import settings
from app.http.scope import Scope
from app.resources.bucket import service
from app.resources.bucket.schemas import UploadFormBody
from app.resources.bucket.service import Reserved


def store_upload(scope: Scope, form: UploadFormBody) -> Reserved:
    """Make the picture anew and store it; nobody sees it before the view confirms it.

    Raises:
        Invalid, WrongMediaType, TooLarge: the file is no picture we take.
        TooManyRequests, LimitReached: the person's share is used up.
        Absent: the store is away; then there is no row either.
    """
    known, user_id, upload = settings(), scope.actor.id, form["file"]
    where = service.filing(form["folder"], scope.found.get("destination"), scope.found.get("project"))
    limits, scale = known.limits, known.server.rate_limit_scale
    service.check_quota(user_id, upload.size, 0, limits, scale=scale)
    transactions.rest()
    with tempfile.TemporaryFile() as made:
        picture = remake(upload.file, cast("BinaryIO", made), limits.upload)
        with transactions.writing():
            reserved = service.reserve(user_id, where, upload.size, picture, limits, scale=scale)
        transactions.rest()
        _put(reserved, cast("BinaryIO", made), picture, drivers["storage"])
    return reserved


def _put(reserved: Reserved, file: BinaryIO, picture: Remade, store: ObjectStore) -> None:
    try:
        store.put(reserved.key, file, mimetype=picture.mimetype)
    except BaseException:
        with transactions.writing():
            service.take_back(reserved)
        raise
