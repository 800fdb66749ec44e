"""Tests of the addresses of pages in a built site."""

from urllib.parse import unquote

import pytest

from app.content.page_addresses import address_of, files_at, lacks_slash


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("index.html", "/"),
        ("about/index.html", "/about/"),
        ("about.html", "/about.html"),
        ("my-index.html", "/my-index.html"),
        ("über uns/index.html", "/%C3%BCber%20uns/"),
        ("about", "/about"),
    ],
)
def test_address_of_a_file_leads_to_the_file(file: str, address: str) -> None:
    assert address_of(file) == address
    assert files_at(unquote(address))[0] == file


def test_address_without_an_ending_has_three_files() -> None:
    assert files_at("/about") == ["about", "about.html", "about/index.html"]
    assert [lacks_slash("/about", file) for file in files_at("/about")] == [False, False, True]
    assert [lacks_slash(address, "about/index.html") for address in ("/about/", "/about/index.html")] == [False, False]
