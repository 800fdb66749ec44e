"""The search of a project as a page and for the command palette."""

from tests.console.conftest import ConsoleScene


def test_search_returns_files_for_the_palette(console: ConsoleScene) -> None:
    base = f"/console/projects/{console.ids['project_id']}"
    client = console.site.owner.client
    listed = client.get(f"{base}/search?q=Another", headers={"Accept": "application/json"}).json
    path = "content/posts/first.md"
    assert listed == {"files": [{"title": "First post", "path": path, "url": f"{base}/edit/{path}"}]}
    assert client.get(f"{base}/search?q=", headers={"Accept": "application/json"}).json == {"files": []}
    page = client.get(f"{base}/search?q=Another")
    assert f'href="{base}/edit/{path}">First post</a>' in page.text
    assert f'data-palette-url="{base}/search"' in page.text


def test_search_of_a_nonmember_is_refused_as_json(console: ConsoleScene) -> None:
    headers = {"Accept": "application/json"}
    refused = console.send("nonmember", "GET", "/console/projects/:project_id/search?q=a", headers=headers)
    assert (refused.status_code, refused.json["code"]) == (403, "NOT_ALLOWED")
