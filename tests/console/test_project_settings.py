"""Settings of a project: its label, its connection, its move, and the menu of the other projects."""

import pytest

from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database


def url_of(console: ConsoleScene, path: str) -> str:
    return f"/console/projects/{console.ids['project_id']}/{path}"


def test_branch_is_changed_and_an_unknown_one_is_refused_at_the_field(console: ConsoleScene) -> None:
    owner, repo = console.site.owner, console.site.repo
    repo.commit({"a.md": b"A\n"}, branch="next", start=repo.head())
    done = submit(owner, url_of(console, "connection"), repository=console.site.name, branch="next")
    assert done.location == url_of(console, "settings?done=saved")
    assert owner.get(f"/project/{console.site.project}").ok()["branch"] == "next"
    refused = submit(owner, url_of(console, "connection"), repository=console.site.name, branch="none")
    assert refused.status_code == 422
    assert 'id="branch-error"' in refused.text
    assert 'value="none"' in refused.text


def test_project_moves_to_another_organization_of_the_owner(console: ConsoleScene) -> None:
    owner = console.site.owner
    assert url_of(console, "move-project") not in owner.client.get(url_of(console, "settings")).text
    other = owner.new_organization("Pier")
    assert f'<option value="{other}">Pier</option>' in owner.client.get(url_of(console, "settings")).text
    assert url_of(console, "move-project") not in console.people["admin"].client.get(url_of(console, "settings")).text
    moved = submit(owner, url_of(console, "move-project"), destination=other)
    assert moved.location == url_of(console, "settings?done=moved")
    assert owner.get(f"/project/{console.site.project}").ok()["org_id"] == other


def test_move_to_a_foreign_organization_is_refused(console: ConsoleScene) -> None:
    foreign = console.people["owner_other"].new_organization()  # type: ignore[attr-defined]
    refused = submit(console.site.owner, url_of(console, "move-project"), destination=foreign)
    assert refused.status_code in (403, 404)
    assert console.site.owner.get(f"/project/{console.site.project}").ok()["org_id"] == console.ids["org_id"]


def test_members_page_shows_the_link_for_invited_people(console: ConsoleScene) -> None:
    url = f"/console/organizations/{console.ids['org_id']}/members"
    assert "invitation-link" not in console.site.owner.client.get(url).text
    submit(console.site.owner, f"{url}/invite", email="new@mail.example.org", role="editor")
    assert 'value="http://127.0.0.1:8000/console/invitation"' in console.site.owner.client.get(url).text
    assert "invitation-link" not in console.people["editor"].client.get(url).text


def test_visibility_of_the_site_is_a_setting(console: ConsoleScene) -> None:
    owner = console.site.owner
    sent = form_of(owner.client.get(url_of(console, "settings")), url_of(console, "settings"))
    assert '<option value="private" selected>' in owner.client.get(url_of(console, "settings")).text
    done = submit(owner, url_of(console, "settings"), **sent | {"visibility": "public"})
    assert done.location == url_of(console, "settings?done=saved")
    assert '<option value="public" selected>' in owner.client.get(url_of(console, "settings")).text
    assert submit(owner, url_of(console, "settings"), **sent | {"visibility": "other"}).status_code == 400


def test_menu_leads_to_the_other_projects_of_the_organization(console: ConsoleScene) -> None:
    owner, org_id = console.site.owner, console.ids["org_id"]
    made = submit(owner, f"/console/organizations/{org_id}/connect", repository="new", new_name="docs")
    other = made.location.partition("?")[0]
    shown = console.people["editor"].client.get(url_of(console, "settings")).text
    assert f'<a href="{other}">docs</a>' in shown
    assert f'<a href="/console/organizations/{org_id}">' in shown
    assert f'<a href="{other}">docs</a>' not in owner.client.get(other).text


def test_network_access_of_previews_is_permitted_and_withdrawn(console: ConsoleScene) -> None:
    owner, url = console.site.owner, url_of(console, "settings")
    for sent, permitted in (({"preview_network": "1"}, True), ({}, False)):
        assert submit(owner, url, name="Site", visibility="private", **sent).location == f"{url}?done=saved"
        assert owner.get(f"/project/{console.site.project}").ok()["preview_network"] is permitted
        assert ('name="preview_network" value="1" checked' in owner.client.get(url).text) is permitted
