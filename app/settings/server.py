"""Settings of the server process. `gunicorn.conf.py` reads them before the application is loaded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from marshmallow import EXCLUDE, Schema, ValidationError, fields
from marshmallow.validate import Range, Regexp

from app.observability.masking import mask_credentials
from app.settings.fields import DirectoryField, HostName, Origins, choice, describe, number, text, url
from app.settings.groups import PROJECT, ReferenceSection, schema_of


@dataclass(frozen=True)
class ServerSettings:
    """Addresses, URLs and processes of the server."""

    host: Annotated[
        str,
        fields.String(
            load_default="127.0.0.1",
            validate=Regexp(r"[A-Za-z0-9_.:%-]+\Z", error="Must be an address or a host name."),
            metadata=describe("HOST", "Address on which the server listens."),
        ),
    ]
    port: Annotated[int, number("PORT", "Port on which the server listens.", 8000, 1, 65_535)]
    web_concurrency: Annotated[int, number("WEB_CONCURRENCY", "Number of web worker processes.", 2, 1, 64)]
    base_url: Annotated[str, url("BASE_URL", "Public URL of the service. Default: http, HOST and PORT.")]
    web_url: Annotated[str, url("WEB_URL", "Public URL of the web application, for links in mail. Default: BASE_URL.")]
    docs_url: Annotated[
        str,
        url(
            "DOCS_URL",
            "Address of the documentation that `make docs` builds, for links in the help of the console. Without it, "
            "the help has no links to guides.",
            "",
        ),
    ]
    allowed_origins: Annotated[
        tuple[str, ...],
        Origins(
            load_default=(),
            metadata=describe(
                "ALLOWED_ORIGINS",
                "Origins that may send requests with a cookie, as a comma-separated list. Default: BASE_URL and "
                "WEB_URL.",
            ),
        ),
    ]
    passkey_rp_id: Annotated[
        str,
        HostName(
            load_default=None,
            metadata=describe(
                "PASSKEY_RP_ID",
                "Domain of the passkeys: the host of BASE_URL, or a domain above it that its other origins share. "
                "Passkeys of another domain cannot be used. They work on each of ALLOWED_ORIGINS. Default: the host of "
                "BASE_URL.",
            ),
        ),
    ]
    trusted_hops: Annotated[
        int,
        number(
            "TRUSTED_HOPS",
            "Number of proxies in front of the service. The client address is the nth entry of X-Forwarded-For from "
            "the right; 0 uses the address of the connection.",
            *(0, 0, 10),
        ),
    ]
    rate_limit_scale: Annotated[
        float,
        fields.Float(
            load_default=1.0,
            validate=Range(0, min_inclusive=False),
            metadata=describe("RATE_LIMIT_SCALE", "Factor for all rates of the rate-limit table, for load tests."),
        ),
    ]
    instance_dir: Annotated[
        Path,
        DirectoryField(
            PROJECT,
            load_default=PROJECT / "instance",
            metadata=describe(
                "INSTANCE_DIR",
                "Folder of all data that the embedded defaults write. A relative path starts at the root of the "
                "project, here and in every other variable.",
            ),
        ),
    ]
    sign_up: Annotated[
        str,
        choice(
            "SIGN_UP",
            "New accounts: open for everyone, for e-mail addresses with an invitation of an organization, or only by "
            "`flask user create`.",
            "open",
            *("open", "invited", "closed"),
        ),
    ]

    @property
    def invitation_url(self) -> str:
        """The page to which invitations lead: that of the console, unless another web application is configured."""
        return f"{self.web_url}/console/invitation" if self.web_url == self.base_url else self.web_url


@dataclass(frozen=True)
class Log:
    """Format and level of the log."""

    format: Annotated[str, choice("LOG_FORMAT", "Format of log lines.", "console", "console", "json")]
    level: Annotated[
        str,
        choice("LOG_LEVEL", "Lowest level that is logged.", "INFO", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    ]


@dataclass(frozen=True)
class ProcessSettings:
    """The settings that gunicorn reads."""

    env: Annotated[
        Literal["development", "test", "production"],
        choice(
            "APP_ENV",
            "Environment. production refuses weak secrets, a BASE_URL without TLS, console mail, a missing "
            "encryption key, a "
            "PREVIEW_HOST on the site of the application and a rate limit scale other than 1.",
            "development",
            *("development", "test", "production"),
        ),
        ReferenceSection("Server"),
    ]
    server: Annotated[ServerSettings, ReferenceSection("Server")]
    log: Annotated[Log, ReferenceSection("Log and metrics")]
    metrics_token: Annotated[
        str | None,
        text("METRICS_TOKEN", "Bearer token for GET /metrics. Without it the endpoint is closed.", secret=True),
        ReferenceSection("Log and metrics"),
    ] = field(repr=False)


class EnvironmentSchema(Schema):
    """A schema of environment variables."""

    class Meta:
        """Options of Marshmallow: other variables of the process are ignored."""

        unknown = EXCLUDE


def read_server_variables(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the loaded server variables by their setting groups.

    Raises:
        SystemExit: a variable is invalid. The message has one line for each.
    """
    try:
        schema = schema_of(ProcessSettings, EnvironmentSchema)()
        return dict(schema.load({name: value for name, value in environ.items() if value.strip()}))
    except ValidationError as error:
        raise SystemExit(error_text(error)) from None


def error_text(error: ValidationError) -> str:
    """Return the message of an invalid environment, with one line for each variable. Credentials of URLs are masked."""
    lines = [
        f"  {name}: {mask_credentials(' '.join(map(str, messages)))}"
        for name, messages in sorted(error.messages_dict.items())
    ]
    return "\n".join(["Galley cannot start. Invalid settings:", *lines])
