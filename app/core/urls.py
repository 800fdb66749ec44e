"""Addresses as callers give them: nothing of them is trusted to be one."""

from urllib.parse import SplitResult, urlsplit


def parts_of(url: str) -> SplitResult:
    """The parts of an address; all of them empty for what cannot be taken apart (`http://[::1`)."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")
