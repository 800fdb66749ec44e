"""Filters of a folder, and actions on its selected files, with plain forms."""

import html
import json
import re
from typing import Any

import pytest

from app.core.limits import InputLimits
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

FIRST, SECOND = "content/posts/first.md", "content/posts/second.md"


def base_of(console: ConsoleScene) -> str:
    return f"/console/projects/{console.ids['project_id']}"


def act(console: ConsoleScene, action: str, *paths: str, **fields: str) -> Any:
    """Send the form of the selected files with a button of the page."""
    page = console.site.owner.client.get(f"{base_of(console)}/content/content/posts")
    assert f'formaction="{base_of(console)}/{action}"' in page.text
    sent = form_of(page, 'id="bulk"') | fields | {"select": list(paths)}
    return submit(console.site.owner, f"{base_of(console)}/{action}", **sent)


@pytest.mark.parametrize(
    ("state", "names"), [("draft", ["first.md"]), ("published", ["second.md"]), ("all", ["first.md", "second.md"])]
)
def test_folder_is_filtered_by_state(console: ConsoleScene, state: str, names: list[str]) -> None:
    shown = console.site.owner.client.get(f"{base_of(console)}/content/content/posts?state={state}&sort=changed").text
    assert [name for name in ("first.md", "second.md") if f"/edit/content/posts/{name}" in shown] == names


def test_selected_files_are_moved_as_one_change(console: ConsoleScene) -> None:
    before = console.site.repo.head()
    done = act(console, "bulk-move", FIRST, SECOND, target="/content/old/")
    assert done.location == f"{base_of(console)}/content/content/posts?done=moved&undo={console.site.repo.head()}"
    assert console.site.repo.text("rev-list", "--count", f"{before}..main") == "1"
    assert {"content/old/first.md", "content/old/second.md"} <= set(console.site.repo.entries())


def test_more_files_than_fields_of_a_form_are_sent_as_one_field(console: ConsoleScene) -> None:
    names = [f"content/many/{number}.md" for number in range(InputLimits.form_fields + 1)]
    console.site.repo.commit(dict.fromkeys(names, b"---\ndraft: true\n---\n"))
    fields = {"base_sha": console.site.repo.head(), "folder": "content/many", "select[]": json.dumps(names)}
    assert "?done=deleted" in submit(console.site.owner, f"{base_of(console)}/bulk-delete", **fields).location
    assert set(names).isdisjoint(console.site.repo.entries())


@pytest.mark.parametrize("value", ["[", "{}", "[1]", "1", r'["\ud800"]', "[" * 100_000])
def test_selection_that_is_no_array_of_paths_selects_nothing(console: ConsoleScene, value: str) -> None:
    fields = {"base_sha": console.site.repo.head(), "folder": "", "select[]": value}
    refused = submit(console.site.owner, f"{base_of(console)}/bulk-delete", **fields)
    assert (refused.status_code, "Select at least one file." in refused.text) == (400, True)


def test_move_to_the_same_folder_changes_nothing(console: ConsoleScene) -> None:
    before = console.site.repo.head()
    assert act(console, "bulk-move", FIRST, target="content/posts").location.endswith("?done=unchanged")
    assert console.site.repo.head() == before


def test_move_to_an_invalid_folder_is_refused_at_the_field(console: ConsoleScene) -> None:
    refused = act(console, "bulk-move", FIRST, target="../up")
    assert refused.status_code == 400
    assert 'id="target-error"' in refused.text


def test_state_of_selected_pages_changes_one_line(console: ConsoleScene) -> None:
    original = console.site.repo.show(FIRST)
    assert "?done=saved" in act(console, "bulk-state", FIRST, SECOND, state="published").location
    assert console.site.repo.show(FIRST) == original.replace(b"draft: true", b"draft: false")
    assert console.site.repo.show(SECOND) == b"Second.\n"
    assert act(console, "bulk-state", FIRST, state="published").location.endswith("?done=unchanged")
    assert "?done=saved" in act(console, "bulk-state", FIRST, state="draft").location
    assert console.site.repo.show(FIRST) == original


def test_state_of_a_missing_file_is_refused(console: ConsoleScene) -> None:
    assert act(console, "bulk-state", "content/none.md", state="draft").status_code == 404


@pytest.mark.parametrize("action", ["bulk-move", "bulk-state", "bulk-delete"])
def test_form_without_a_selection_is_refused(console: ConsoleScene, action: str) -> None:
    refused = submit(console.site.owner, f"{base_of(console)}/{action}", target="a", state="draft", folder="")
    assert refused.status_code == 400
    assert "Select at least one file." in refused.text


def test_failed_form_keeps_the_selection_and_the_filter(console: ConsoleScene) -> None:
    url = f"{base_of(console)}/content/content/posts?q=first&sort=title"
    page = console.site.owner.client.get(url)
    [action] = re.findall(r'formaction="([^"]*bulk-move[^"]*)"', page.text)
    sent = form_of(page, 'id="bulk"') | {"target": "../up", "select": [FIRST, SECOND]}
    refused = submit(console.site.owner, html.unescape(action), **sent)
    boxes = re.findall(r'<input class="table__select"[^>]*>', refused.text)
    assert [re.findall(r'value="([^"]+)"', box) for box in boxes] == [[SECOND], [FIRST]]
    assert all(" checked" in box for box in boxes)
    assert 'value="first"' in refused.text
    assert f'action="{base_of(console)}/content/content/posts"' in refused.text
    moved = submit(console.site.owner, html.unescape(action), **sent | {"target": "content/old"})
    assert (
        moved.location
        == f"{base_of(console)}/content/content/posts?q=first&sort=title&done=moved&undo={console.site.repo.head()}"
    )
