"""Reading of lists page by page."""

from typing import Any

from tests.support.world import Browser

MAX_PAGES = 50


def read_pages(browser: Browser, path: str, **query: Any) -> list[Any]:
    """Return the items of a list that is read in pages of one item."""
    items: list[Any] = []
    cursor: dict[str, str] = {}
    for _ in range(MAX_PAGES):
        answer = browser.get(path, query_string=query | {"limit": 1} | cursor)
        page = answer.ok()
        assert len(page) == 1
        items += page
        if answer.json["meta"]["next_cursor"] is None:
            return items
        cursor = {"cursor": answer.json["meta"]["next_cursor"]}
    raise AssertionError(f"{path} has more than {MAX_PAGES} pages")
