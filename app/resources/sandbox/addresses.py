"""Where a preview is found: a host name of its own below `PREVIEW_HOST`, and a link that lets one member in."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from app.core.preview_links import Links
from app.core.runtimes.recipe import Address

USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Place:
    """The service's own address and the host below which previews answer."""

    base_url: str
    preview_host: str
    links: Links

    def address(self, label: str) -> Address:
        """The preview's plain address; the scheme and the port are the service's."""
        parts = urlsplit(self.base_url)
        port = urlsplit(f"//{self.preview_host}").port or parts.port
        host = self.preview_host.rpartition(":")[0] or self.preview_host
        shown = "" if port in (None, USUAL_PORTS.get(parts.scheme)) else f":{port}"
        return Address(f"{parts.scheme}://{label}.{host}{shown}/", port or USUAL_PORTS.get(parts.scheme, 80))

    def link(self, label: str, user_id: str) -> str:
        """The address with what lets this member in."""
        return f"{self.address(label).url}?{self.links.query(label, user_id)}"
