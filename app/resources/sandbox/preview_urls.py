"""URLs of previews: one host name below `PREVIEW_HOST` for each, and signed links for members."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from app.runtimes.recipe import PreviewAddress
from app.security.preview_links import PreviewLinkSigner

USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class PreviewUrls:
    """Base URL of the service and the host below which previews are served."""

    base_url: str
    preview_host: str
    links: PreviewLinkSigner

    def address(self, label: str) -> PreviewAddress:
        """Return the address of a preview without a token. Scheme and port are those of the service."""
        parts = urlsplit(self.base_url)
        port = urlsplit(f"//{self.preview_host}").port or parts.port
        host = self.preview_host.rpartition(":")[0] or self.preview_host
        shown = "" if port in (None, USUAL_PORTS.get(parts.scheme)) else f":{port}"
        return PreviewAddress(f"{parts.scheme}://{label}.{host}{shown}/", port or USUAL_PORTS.get(parts.scheme, 80))

    def link(self, label: str, user_id: str) -> str:
        """Return the URL of a preview with a token of this member."""
        return f"{self.address(label).url}?{self.links.query(label, user_id)}"
