"""One request to a REST API and the redirects that it follows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from app.drivers.http.client import HttpResponse

REDIRECTS = frozenset({301, 302, 307, 308})

Query = Mapping[str, str | list[str]]


class ById(NamedTuple):
    """The path of a repository by its name and by its id, for hosts that redirect calls on former names."""

    named: str
    numbered: str


@dataclass(frozen=True)
class RestRequest:
    """A request. `moved_url` is the URL with the id of the repository."""

    method: str
    url: str
    params: Query | None
    json: object
    accept: str | None
    conditional: bool
    max_bytes: int | None
    moved_url: str | None

    def is_moved(self, response: HttpResponse) -> bool:
        """Return whether the host redirects the call to the same repository under its id.

        Any other target could send the credential to another repository.
        """
        if response.status not in REDIRECTS or self.moved_url is None:
            return False
        target = urlsplit(urljoin(self.url, response.headers.get("Location", "")))
        expected = urlsplit(self.moved_url)
        return target[:3] == expected[:3]


def segment(text: str) -> str:
    """Encode a text as one segment of a URL path."""
    return quote(text, safe="")
