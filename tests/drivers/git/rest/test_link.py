"""Tests of the `Link` header of paginated lists."""

import pytest

from app.drivers.git.rest.client import next_link


class TestNextLink:
    @pytest.mark.parametrize(
        ("header", "url"),
        [
            ("", ""),
            ('<https://h/x?page=2>; rel="next", <https://h/x?page=9>; rel="last"', "https://h/x?page=2"),
            ('<https://h/x?page=1>; rel="prev", <https://h/x?page=3>; rel="next"', "https://h/x?page=3"),
            ("<https://h/x?a=1,2&page=3>;rel=next", "https://h/x?a=1,2&page=3"),
            ('<https://h/x?page=9>; rel="last"', ""),
            ('<https://h/next>; rel="prev"', ""),
        ],
    )
    def test_next_link_returns_the_url_of_the_next_page(self, header: str, url: str) -> None:
        assert next_link(header) == url
