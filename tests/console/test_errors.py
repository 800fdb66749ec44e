"""Error pages: a form whose page cannot be shown again leads to an error page."""

import pytest
import sqlalchemy as sa

from app.extensions import db
from app.models.organization import Organization
from app.resources.user_preference import service as preferences
from tests.console.conftest import ConsoleScene
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database


def test_form_of_a_deleted_organization_returns_the_error_page(console: ConsoleScene) -> None:
    owner, url = console.site.owner, f"/console/organizations/{console.ids['org_id']}"
    with console.app.app_context():
        db.session.delete(db.session.get_one(Organization, console.ids["org_id"]))
        db.session.commit()
    response = submit(owner, f"{url}/settings", name="New")
    assert response.status_code == 404
    assert "<h1" in response.text


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_error_page_needs_no_database(console: ConsoleScene, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    def fail(*_: object) -> None:
        raise sa.exc.TimeoutError("the pool is used up")

    owner, url = console.site.owner, f"/console/organizations/{console.ids['org_id']}/settings"
    monkeypatch.setattr(preferences, "read", fail)
    response = owner.client.get(url) if method == "GET" else submit(owner, url, name="")
    assert (response.status_code, "Retry-After" in response.headers) == (503, True)
    assert "<h1" in response.text
    monkeypatch.undo()
    assert owner.client.get(url).status_code == 200


def test_failed_form_leaves_the_session_usable(console: ConsoleScene) -> None:
    owner, url = console.site.owner, f"/console/organizations/{console.ids['org_id']}"
    assert submit(owner, f"{url}/settings", name="").status_code == 400
    assert submit(owner, f"{url}/settings", name="Renamed").status_code == 303
    assert "Renamed" in owner.client.get(url).text
