"""Error pages: a form whose page cannot be shown again leads to an error page."""

import pytest

from app.extensions import db
from app.models.organization import Organization
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


def test_failed_form_leaves_the_session_usable(console: ConsoleScene) -> None:
    owner, url = console.site.owner, f"/console/organizations/{console.ids['org_id']}"
    assert submit(owner, f"{url}/settings", name="").status_code == 400
    assert submit(owner, f"{url}/settings", name="Renamed").status_code == 303
    assert "Renamed" in owner.client.get(url).text
