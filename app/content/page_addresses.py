"""Addresses of pages in a built site, and the files that a host of static sites serves at them."""

from urllib.parse import quote

INDEX = "index.html"


def address_of(file: str) -> str:
    """Return the path of the address of a page, percent-encoded. `file` is the path of its file in the site."""
    return quote("/" + (file.removesuffix(INDEX) if f"/{file}".endswith(f"/{INDEX}") else file))


def files_at(address: str) -> list[str]:
    """Return the paths of the files that can be served at an address, the preferred path first.

    `address` is the path of an address without percent-encoding.
    """
    path = address.lstrip("/")
    return [path + INDEX] if not path or path.endswith("/") else [path, f"{path}.html", f"{path}/{INDEX}"]


def lacks_slash(address: str, file: str) -> bool:
    """Return whether a file is the index of a folder that an address names without its last slash."""
    return file == f"{address.lstrip('/')}/{INDEX}"
