"""The clone addresses of repositories."""

from app.models.project import Provider
from config import Settings


def clone_url(provider: Provider, repository: str, settings: Settings) -> str:
    """Return the address at which Git clients clone a repository: that of this server, GitHub or GitLab."""
    hosts = {
        Provider.LOCAL: f"{settings.server.base_url}/git",
        Provider.GITHUB: settings.github.url,
        Provider.GITLAB: settings.gitlab.url,
    }
    return f"{hosts[provider]}/{repository}.git"
