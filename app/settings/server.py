"""Variables of the server process. `gunicorn.conf.py` reads them before the application is loaded."""

from collections.abc import Mapping
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields
from marshmallow.validate import Range, Regexp

from app.observability.masking import mask_credentials
from app.settings.fields import DirectoryField, Origins, choice, describe, number, text, url
from app.settings.groups import PROJECT


class ServerVariables(Schema):
    """Variables of the server and of its log."""

    class Meta:
        """Options of Marshmallow: other variables of the process are ignored."""

        unknown = EXCLUDE

    APP_ENV = choice(
        "env",
        "Environment. production refuses weak secrets, a BASE_URL without TLS, console mail, a missing encryption key, a "
        "PREVIEW_HOST on the site of the application and a rate limit scale other than 1.",
        "development",
        *("development", "test", "production"),
    )
    HOST = fields.String(
        attribute="server.host",
        load_default="127.0.0.1",
        validate=Regexp(r"[A-Za-z0-9_.:%-]+\Z", error="Must be an address or a host name."),
        metadata=describe("Address on which the server listens."),
    )
    PORT = number("server.port", "Port on which the server listens.", 8000, 1, 65_535)
    WEB_CONCURRENCY = number("server.web_concurrency", "Number of web worker processes.", 2, 1, 64)
    BASE_URL = url("server.base_url", "Public URL of the service. Default: http, HOST and PORT.")
    WEB_URL = url("server.web_url", "Public URL of the web application, for links in mail. Default: BASE_URL.")
    ALLOWED_ORIGINS = Origins(
        attribute="server.allowed_origins",
        load_default=(),
        metadata=describe(
            "Origins that may send requests with a cookie, as a comma-separated list. Default: BASE_URL and WEB_URL."
        ),
    )
    TRUSTED_HOPS = number(
        "server.trusted_hops",
        "Number of proxies in front of the service. The client address is the nth entry of X-Forwarded-For from the "
        "right; 0 uses the address of the connection.",
        *(0, 0, 10),
    )
    RATE_LIMIT_SCALE = fields.Float(
        attribute="server.rate_limit_scale",
        load_default=1.0,
        validate=Range(0, min_inclusive=False),
        metadata=describe("Factor for all rates of the rate-limit table, for load tests."),
    )
    INSTANCE_DIR = DirectoryField(
        PROJECT,
        attribute="server.instance_dir",
        load_default=PROJECT / "instance",
        metadata=describe(
            "Folder of all data that the embedded defaults write. A relative path starts at the root of the project, here "
            "and in every other variable."
        ),
    )
    SIGN_UP = choice(
        "server.sign_up",
        "New accounts: open for everyone, for e-mail addresses with an invitation of an organization, or only by "
        "`flask user create`.",
        "open",
        *("open", "invited", "closed"),
    )
    LOG_FORMAT = choice("log.format", "Format of log lines.", "console", "console", "json")
    LOG_LEVEL = choice(
        "log.level", "Lowest level that is logged.", "INFO", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"
    )
    METRICS_TOKEN = text(
        "metrics_token", "Bearer token for GET /metrics. Without it the endpoint is closed.", secret=True
    )


def read_server_variables(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the loaded server variables by their setting groups.

    Raises:
        SystemExit: a variable is invalid. The message has one line for each.
    """
    try:
        return dict(ServerVariables().load({name: value for name, value in environ.items() if value.strip()}))
    except ValidationError as error:
        raise SystemExit(error_text(error)) from None


def error_text(error: ValidationError) -> str:
    """Return the message of an invalid environment, with one line for each variable. Credentials of URLs are masked."""
    lines = [
        f"  {name}: {mask_credentials(' '.join(map(str, messages)))}"
        for name, messages in sorted(error.messages_dict.items())
    ]
    return "\n".join(["Galley cannot start. Invalid settings:", *lines])
