"""Object store in a bucket of Amazon S3 or of a compatible server. The only module that imports boto3."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any
from urllib.parse import quote

import boto3
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from app.core.limits import MIB, OutboundLimits
from app.drivers.errors import UpstreamError, UpstreamUnavailable
from app.drivers.storage.port import CHUNK_BYTES, ObjectMissing, StoredObject, checked

PART_BYTES = 8 * MIB
CACHE_CONTROL = "public, max-age=31536000, immutable"
"""The bytes of a key never change."""

_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_FOR_NOW = frozenset({"SlowDown", "ServiceUnavailable", "RequestTimeout", "InternalError", "ThrottlingException"})


class S3Store:
    """A store in one bucket.

    The service serves the objects of a private bucket, unless `public_url` names another host.

    boto3 reads the credentials from the variables of AWS.
    """

    def __init__(
        self,
        bucket: str,
        *,
        endpoint_url: str | None = None,
        region: str | None = None,
        public_url: str | None = None,
        limits: OutboundLimits | None = None,
    ) -> None:
        """Create a client without a request to the store."""
        self._bucket, self._public_url = bucket, public_url
        self._client = _client(endpoint_url, region, limits or OutboundLimits())
        # In the web process, the threads of the transfer would be greenlets on one hub.
        self._transfer = TransferConfig(  # type: ignore[no-untyped-call]
            use_threads=False, multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES
        )

    def put(self, key: str, source: IO[bytes], *, mimetype: str) -> None:
        """Upload in one request, or in parts from 8 MiB on; the parts of a failed upload are aborted."""
        extra = {"ContentType": mimetype, "CacheControl": CACHE_CONTROL}
        with _translated_errors():
            # `_NonClosingFile`, because the transfer closes its source.
            self._client.upload_fileobj(
                _NonClosingFile(source), self._bucket, checked(key), ExtraArgs=extra, Config=self._transfer
            )

    def get(self, key: str, *, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Request the range and read the body lazily. Raises ObjectMissing."""
        more: dict[str, str] = {}
        if start or length is not None:
            more["Range"] = f"bytes={start}-" + ("" if length is None else str(start + length - 1))
        with _translated_errors():
            try:
                response = self._client.get_object(Bucket=self._bucket, Key=checked(key), **more)
            except ClientError as error:
                if _code(error) in _MISSING:
                    raise ObjectMissing("The object does not exist") from error
                raise
        return _pieces(response["Body"])

    def head(self, key: str) -> StoredObject | None:
        """Request size and time."""
        with _translated_errors():
            try:
                response = self._client.head_object(Bucket=self._bucket, Key=checked(key))
            except ClientError as error:
                if _code(error) in _MISSING:
                    return None
                raise
        return StoredObject(key, response["ContentLength"], response["LastModified"])

    def delete(self, key: str) -> None:
        """Delete the object. The response of S3 is equal for a missing object."""
        with _translated_errors():
            try:
                self._client.delete_object(Bucket=self._bucket, Key=checked(key))
            except ClientError as error:
                if _code(error) not in _MISSING:
                    raise

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[StoredObject]:
        """Page through the bucket with a thousand keys per request."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=prefix, **({"StartAfter": after} if after else {})
        )
        with _translated_errors():
            for page in pages:
                for item in page.get("Contents", ()):
                    if item["Key"] > after:
                        yield StoredObject(item["Key"], item["Size"], item["LastModified"])

    def close(self) -> None:
        """Close the open connections."""
        self._client.close()

    def public_url(self, key: str) -> str | None:
        """Return `S3_PUBLIC_URL/<key>` if it is configured."""
        return f"{self._public_url}/{quote(checked(key))}" if self._public_url else None


class _NonClosingFile:
    """A file object whose `close` leaves the caller's file open."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.read, self.seek, self.tell = source.read, source.seek, source.tell

    def close(self) -> None:
        """Do nothing."""

    def seekable(self) -> bool:
        """Return True if a failed request can be repeated."""
        return self._source.seekable()


def _client(endpoint_url: str | None, region: str | None, limits: OutboundLimits) -> Any:
    style = "path" if endpoint_url else "auto"
    config = Config(  # type: ignore[no-untyped-call]
        region_name=region or "us-east-1",
        signature_version="s3v4",
        connect_timeout=limits.connect_timeout_s,
        read_timeout=limits.read_timeout_s,
        # All attempts at a silent store end within the deadline of a call.
        retries={"mode": "standard", "total_max_attempts": max(1, int(limits.deadline_s // limits.read_timeout_s))},
        max_pool_connections=limits.concurrency_max,
        s3={"addressing_style": style},
        # Servers other than Amazon's refuse the newer trailing checksums.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        # None would use the proxies of the environment.
        proxies={},
    )
    session = boto3.session.Session()  # type: ignore[no-untyped-call]
    return session.client("s3", endpoint_url=endpoint_url, config=config)  # type: ignore[no-untyped-call]


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _pieces(body: Any) -> Iterator[bytes]:
    try:
        with _translated_errors():
            yield from body.iter_chunks(CHUNK_BYTES)
    finally:
        body.close()


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Translate errors of the store. Their messages may contain keys and hosts, so they stay in the cause."""
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
        if status >= 500 or status == 429 or _code(error) in _FOR_NOW:
            raise UpstreamUnavailable("The object store is not available", retry_after_s=5) from error
        raise UpstreamError(f"The object store rejected the request ({_code(error)})") from error
    except (BotoCoreError, Boto3Error) as error:
        raise UpstreamUnavailable("The object store is not reachable", retry_after_s=5) from error
