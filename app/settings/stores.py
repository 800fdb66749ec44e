"""Variables of secrets, databases, object storage and mail."""

from pathlib import Path
from typing import Any

from marshmallow import Schema, ValidationError, fields
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from app.settings.fields import DirectoryField, EncryptionKeysField, SenderField, choice, describe, number, text, url
from app.settings.groups import PROJECT

DRIVERS = {
    "sqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


class DatabaseUrlField(fields.Field[str]):
    """A database URL of SQLite or PostgreSQL. A relative SQLite file starts at `base`."""

    def __init__(self, base: Path, **options: Any) -> None:
        super().__init__(**options)
        self.base = base

    def _deserialize(self, value: str, *_: Any, **__: Any) -> str:
        try:
            url = make_url(value.strip())
        except (ArgumentError, ValueError) as error:
            raise ValidationError("Must be a database URL.") from error
        if url.drivername not in DRIVERS:
            raise ValidationError("Must start with sqlite:/// or postgresql+psycopg://.")
        url = url.set(drivername=DRIVERS[url.drivername])
        if url.drivername == "sqlite":
            if url.database in (None, "", ":memory:"):
                raise ValidationError("Must name a file, because the server and the worker share the database.")
            url = url.set(database=str(self.base / str(url.database)))
        return url.render_as_string(hide_password=False)


class StoreVariables(Schema):
    """Variables of everything that stores or sends data."""

    SECRET_KEY = text(
        "security.secret_key",
        "Key for signatures. Created once in INSTANCE_DIR; required in production. Create it with: "
        "python3 -c 'import secrets; print(secrets.token_urlsafe(48))'",
        secret=True,
    )
    ENCRYPTION_KEYS = EncryptionKeysField(
        attribute="security.encryption_keys",
        load_default=None,
        metadata=describe(
            "Encryption keys as kid:base64 of 32 bytes, comma-separated. The first key encrypts, all keys decrypt. Created "
            "once in INSTANCE_DIR; required in production. Create one with: "
            "python3 -c 'import base64, os; print(\"k1:\" + base64.b64encode(os.urandom(32)).decode())'",
            secret=True,
        ),
    )
    DATABASE_URL = DatabaseUrlField(
        PROJECT,
        attribute="database.url",
        load_default=None,
        metadata=describe(
            "sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME. Default: app.db in INSTANCE_DIR."
        ),
    )
    DATABASE_POOL = number(
        "database.pool",
        "Largest number of PostgreSQL connections of one process for writing; as many again for reading.",
        *(10, 2, 200),
    )
    REDIS_URL = url(
        "redis_url",
        "Redis that shares rate limits, locks and job wake-ups between nodes, as redis://HOST:6379/0.",
        None,
        *("redis", "rediss", "unix"),
    )
    STORAGE_DRIVER = choice(
        "storage.driver",
        "Storage of uploads. s3 also reads the credential variables of AWS.",
        "local",
        *("local", "s3"),
    )
    STORAGE_DIR = DirectoryField(
        PROJECT,
        attribute="storage.directory",
        load_default=None,
        metadata=describe("Folder of the local storage. Default: storage in INSTANCE_DIR."),
    )
    S3_BUCKET = text("storage.s3_bucket", "Bucket of the S3 storage.")
    S3_ENDPOINT_URL = url("storage.s3_endpoint_url", "Endpoint of an S3 storage other than that of AWS.")
    S3_REGION = text("storage.s3_region", "Region of the S3 storage.")
    S3_PUBLIC_URL = url("storage.s3_public_url", "Public URL of the bucket, for links to images.")
    MAIL_DRIVER = choice(
        "mail.driver",
        "Mail transport. file writes one .eml file per message to MAIL_DIR.",
        "console",
        *("console", "file", "smtp"),
    )
    MAIL_DIR = DirectoryField(
        PROJECT,
        attribute="mail.directory",
        load_default=None,
        metadata=describe("Folder of the file transport. Default: mail in INSTANCE_DIR."),
    )
    SMTP_URL = url(
        "mail.smtp_url",
        "Mail server as smtp[s]://USER:PASSWORD@HOST:PORT. STARTTLS is used if the server offers it.",
        None,
        *("smtp", "smtps"),
    )
    MAIL_FROM = SenderField(
        attribute="mail.sender",
        load_default=None,
        metadata=describe("Sender of mail. Default: Galley <no-reply@HOST>, with the host of BASE_URL."),
    )
