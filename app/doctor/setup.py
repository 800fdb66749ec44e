"""Checks of the settings alone: providers that are set up by halves, and what production should not do."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from app.doctor.findings import Finding, Patient, failure, ok, warning
from config import Settings

LOOPBACK = ("localhost", "127.0.0.1", "::1")
TOKEN_MIN_CHARACTERS = 20


def providers(patient: Patient) -> Iterator[Finding]:
    """Each outside provider is configured completely or not at all."""
    halves = list(_halves(patient.settings))
    for name, lacking in halves:
        yield warning(
            f"{name} is set up by halves: {', '.join(lacking)} missing", f"Set {lacking[0]}, or take the rest away."
        )
    if not halves:
        yield ok("Every provider is configured completely or not at all")


def production(patient: Patient) -> Iterator[Finding]:
    """What would be unsafe or lost where others rely on it."""
    settings = patient.settings
    server, base = settings.server, urlsplit(settings.server.base_url)
    public = base.hostname not in LOOPBACK
    found = []
    if not settings.is_production:
        if public:
            found.append(warning(f"APP_ENV is {settings.env}, but BASE_URL is public", "Set APP_ENV=production."))
        yield from found or [ok(f"APP_ENV is {settings.env}")]
        return
    if base.scheme != "https":
        found.append(
            failure("BASE_URL is not https: sessions would travel in clear", "Put TLS in front; set BASE_URL.")
        )
    if base.scheme == "https" and server.trusted_hops == 0:
        found.append(
            warning("TRUSTED_HOPS is 0: all clients behind the proxy count as one", "Set it to the proxies there are.")
        )
    if settings.metrics_token is not None and len(settings.metrics_token) < TOKEN_MIN_CHARACTERS:
        found.append(warning("METRICS_TOKEN is short", f"Use {TOKEN_MIN_CHARACTERS} random characters or more."))
    if settings.log.format != "json":
        found.append(warning("LOG_FORMAT is console", "Set LOG_FORMAT=json: collectors read that."))
    if settings.log.level == "DEBUG":
        found.append(warning("LOG_LEVEL is DEBUG", "Set LOG_LEVEL=INFO."))
    if any(origin.startswith("http:") for origin in server.allowed_origins):
        found.append(failure("ALLOWED_ORIGINS names an address without TLS", "Name https origins only."))
    yield from found or [ok("Fit for production")]


def _halves(settings: Settings) -> Iterator[tuple[str, list[str]]]:
    github, gitlab, a, b, ai = settings.github, settings.gitlab, settings.social_a, settings.social_b, settings.ai
    wholes: dict[str, dict[str, object]] = {
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
    for name, values in wholes.items():
        lacking = [variable for variable, value in values.items() if not value]
        if lacking and len(lacking) < len(values):
            yield name, lacking
