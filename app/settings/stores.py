"""Settings of secrets, databases, object storage and mail."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from marshmallow import ValidationError, fields
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

    def _deserialize(self, value: str, *_: object, **__: object) -> str:
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


@dataclass(frozen=True)
class Security:
    """Keys for signatures and encryption. The first encryption key `(key id, 32 bytes)` encrypts."""

    secret_key: Annotated[
        str,
        text(
            "SECRET_KEY",
            "Key for signatures. Created once in INSTANCE_DIR; required in production. Create it with: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe(48))'",
            secret=True,
        ),
    ] = field(repr=False)
    encryption_keys: Annotated[
        tuple[tuple[str, bytes], ...],
        EncryptionKeysField(
            load_default=None,
            metadata=describe(
                "ENCRYPTION_KEYS",
                "Encryption keys as kid:base64 of 32 bytes, comma-separated. The first key encrypts, all keys "
                "decrypt. Created "
                "once in INSTANCE_DIR; required in production. Create one with: "
                "python3 -c 'import base64, os; print(\"k1:\" + base64.b64encode(os.urandom(32)).decode())'",
                secret=True,
            ),
        ),
    ] = field(repr=False)


@dataclass(frozen=True)
class DatabaseSettings:
    """A SQLAlchemy URL of SQLite or of PostgreSQL with psycopg.

    A process opens at most `pool` PostgreSQL connections for writing and as many for reading.
    """

    url: Annotated[
        str,
        DatabaseUrlField(
            PROJECT,
            load_default=None,
            metadata=describe(
                "DATABASE_URL",
                "sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME. Default: app.db in INSTANCE_DIR.",
            ),
        ),
    ] = field(repr=False)
    pool: Annotated[
        int,
        number(
            "DATABASE_POOL",
            "Largest number of PostgreSQL connections of one process for writing; as many again for reading.",
            *(10, 2, 200),
        ),
    ]


@dataclass(frozen=True)
class StorageSettings:
    """Storage of uploads."""

    driver: Annotated[
        str,
        choice(
            "STORAGE_DRIVER",
            "Storage of uploads. s3 also reads the credential variables of AWS.",
            "local",
            *("local", "s3"),
        ),
    ]
    directory: Annotated[
        Path,
        DirectoryField(
            PROJECT,
            load_default=None,
            metadata=describe("STORAGE_DIR", "Folder of the local storage. Default: storage in INSTANCE_DIR."),
        ),
    ]
    s3_bucket: Annotated[str | None, text("S3_BUCKET", "Bucket of the S3 storage.")]
    s3_endpoint_url: Annotated[str | None, url("S3_ENDPOINT_URL", "Endpoint of an S3 storage other than that of AWS.")]
    s3_region: Annotated[str | None, text("S3_REGION", "Region of the S3 storage.")]
    s3_public_url: Annotated[str | None, url("S3_PUBLIC_URL", "Public URL of the bucket, for links to images.")]


@dataclass(frozen=True)
class MailSettings:
    """Transport and sender of mail."""

    driver: Annotated[
        str,
        choice(
            "MAIL_DRIVER",
            "Mail transport. file writes one .eml file per message to MAIL_DIR.",
            "console",
            *("console", "file", "smtp"),
        ),
    ]
    directory: Annotated[
        Path,
        DirectoryField(
            PROJECT,
            load_default=None,
            metadata=describe("MAIL_DIR", "Folder of the file transport. Default: mail in INSTANCE_DIR."),
        ),
    ]
    smtp_url: Annotated[
        str | None,
        url(
            "SMTP_URL",
            "Mail server as smtp[s]://USER:PASSWORD@HOST:PORT. STARTTLS is used if the server offers it.",
            None,
            *("smtp", "smtps"),
        ),
    ] = field(repr=False)
    sender: Annotated[
        str,
        SenderField(
            load_default=None,
            metadata=describe(
                "MAIL_FROM", "Sender of mail. Default: Galley <no-reply@HOST>, with the host of BASE_URL."
            ),
        ),
    ]
