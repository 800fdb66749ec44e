"""Steps to connect GitHub and GitLab, derived from the settings."""

from collections.abc import Iterator, Mapping

from config import Settings


def steps(settings: Settings) -> Iterator[str]:
    """Yield the state of each Git host: configured, or the steps of its registration and the variables to set."""
    web, base = settings.server.web_url.rstrip("/"), settings.server.base_url.rstrip("/")
    yield "Local repositories need no registration. Registration at Git hosts (docs/git-hosts.md describes each step):"
    a, b = settings.github, settings.gitlab
    variables = {
        "GITHUB_APP_ID": a.app_id,
        "GITHUB_APP_SLUG": a.app_slug,
        "GITHUB_APP_CLIENT_ID": a.client_id,
        "GITHUB_APP_CLIENT_SECRET": a.client_secret,
        "GITHUB_APP_PRIVATE_KEY": a.private_key,
        "GITHUB_WEBHOOK_SECRET": a.webhook_secrets,
    }
    yield from _host(
        "GitHub",
        variables,
        [
            f"1. {a.url}/settings/apps/new: create a GitHub App",
            f'2. callback URL {web}/connect/provider_a; select "Expire user authorization tokens" and',
            '   "Request user authorization (OAuth) during installation"',
            f"3. webhook URL {base}/api/webhooks/provider_a, with a long random secret; event: Push",
            "4. repository permissions: Contents and Pull requests, both read and write",
            "5. create a client secret and a private key",
        ],
    )
    variables = {
        "GITLAB_CLIENT_ID": b.client_id,
        "GITLAB_CLIENT_SECRET": b.client_secret,
        "GITLAB_WEBHOOK_SECRET": b.webhook_secrets,
    }
    yield from _host(
        "GitLab",
        variables,
        [
            f"1. {b.url}/-/user_settings/applications: create a confidential application with the scope api",
            f"2. redirect URI {web}/connect/provider_b",
            f"3. webhook of a project or group: URL {base}/api/webhooks/provider_b, a secret token, Push events",
        ],
    )


def _host(name: str, variables: Mapping[str, object], registration: list[str]) -> Iterator[str]:
    missing = [variable for variable, value in variables.items() if not value]
    if not missing:
        yield f"  {name} is configured."
        return
    yield f"  {name}"
    yield from (f"    {line}" for line in [*registration, f"then set {', '.join(missing)}"])
