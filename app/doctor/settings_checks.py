"""Checks of the settings: incomplete providers and unsafe values in production."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from app.doctor.findings import Deployment, Finding, failure, ok, warning
from app.settings.production import shared_sites
from config import Settings

LOOPBACK = ("localhost", "127.0.0.1", "::1")
TOKEN_MIN_CHARACTERS = 20


def providers(deployment: Deployment) -> Iterator[Finding]:
    """Check that each provider is configured completely or not at all."""
    incomplete = list(_incomplete(deployment.settings))
    for name, missing in incomplete:
        yield warning(
            f"{name} is incomplete: {', '.join(missing)} missing", f"Set {missing[0]}, or remove the other variables."
        )
    if not incomplete:
        yield ok("Every provider is configured completely or not at all")


def production(deployment: Deployment) -> Iterator[Finding]:
    """Check for values that are unsafe or unsuitable in production."""
    settings = deployment.settings
    server, base = settings.server, urlsplit(settings.server.base_url)
    public = base.hostname not in LOOPBACK
    findings = []
    if not settings.is_production:
        if public:
            findings.append(warning(f"APP_ENV is {settings.env}, but BASE_URL is public", "Set APP_ENV=production."))
        yield from findings or [ok(f"APP_ENV is {settings.env}")]
        return
    if base.scheme != "https":
        findings.append(
            failure(
                "BASE_URL is not https: session cookies are sent without encryption",
                "Use a proxy with TLS, and set BASE_URL.",
            )
        )
    if base.scheme == "https" and server.trusted_hops == 0:
        findings.append(
            warning(
                "TRUSTED_HOPS is 0: all clients behind the proxy share one rate limit",
                "Set it to the number of proxies.",
            )
        )
    if settings.metrics_token is not None and len(settings.metrics_token) < TOKEN_MIN_CHARACTERS:
        findings.append(warning("METRICS_TOKEN is short", f"Use {TOKEN_MIN_CHARACTERS} random characters or more."))
    if settings.log.format != "json":
        findings.append(warning("LOG_FORMAT is console", "Set LOG_FORMAT=json for log collectors."))
    if settings.log.level == "DEBUG":
        findings.append(warning("LOG_LEVEL is DEBUG", "Set LOG_LEVEL=INFO."))
    if any(origin.startswith("http:") for origin in server.allowed_origins):
        findings.append(failure("ALLOWED_ORIGINS contains an origin without TLS", "Name https origins only."))
    sign_in_urls = {
        "GITHUB_URL": settings.github.url,
        "GITLAB_URL": settings.gitlab.url,
        "SOCIAL_A_URL": settings.social_a.url,
        "SOCIAL_B_ISSUER": settings.social_b.issuer,
    }
    hosts = shared_sites(settings.sandbox.preview_host, sign_in_urls)
    if hosts:
        findings.append(
            warning(
                f"PREVIEW_HOST is on the site of {' and '.join(hosts)}: previews can send requests with its cookies",
                "Use a separate domain for previews.",
            )
        )
    yield from findings or [ok("The settings are suitable for production")]


def _incomplete(settings: Settings) -> Iterator[tuple[str, list[str]]]:
    github, gitlab, a, b, ai = settings.github, settings.gitlab, settings.social_a, settings.social_b, settings.ai
    groups: dict[str, dict[str, object]] = {
        "GitHub": {
            "GITHUB_APP_ID": github.app_id,
            "GITHUB_APP_SLUG": github.app_slug,
            "GITHUB_APP_CLIENT_ID": github.client_id,
            "GITHUB_APP_CLIENT_SECRET": github.client_secret,
            "GITHUB_APP_PRIVATE_KEY": github.private_key,
            "GITHUB_WEBHOOK_SECRET": github.webhook_secret,
        },
        "GitLab": {
            "GITLAB_CLIENT_ID": gitlab.client_id,
            "GITLAB_CLIENT_SECRET": gitlab.client_secret,
            "GITLAB_WEBHOOK_SECRET": gitlab.webhook_secret,
        },
        "Sign-in with A": {"SOCIAL_A_CLIENT_ID": a.client_id, "SOCIAL_A_CLIENT_SECRET": a.client_secret},
        "Sign-in with B": {"SOCIAL_B_CLIENT_ID": b.client_id, "SOCIAL_B_CLIENT_SECRET": b.client_secret},
        "AI": {"AI_PROVIDER": ai.provider, "AI_MODEL": ai.model},
    }
    for name, values in groups.items():
        missing = [variable for variable, value in values.items() if not value]
        if missing and len(missing) < len(values):
            yield name, missing
