"""The clone addresses of repositories."""

from app.models.project import Provider
from config import Settings


def clone_url(provider: Provider, repository: str, settings: Settings) -> str:
    """Return the address at which Git clients clone a repository: that of this server or of a remote host."""
    host = f"{settings.server.base_url}/git" if provider.is_local else settings.remote_hosts[provider].url
    return f"{host}/{repository}.git"
