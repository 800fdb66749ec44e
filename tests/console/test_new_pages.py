"""New pages with the template of their collection, with plain forms."""

import re

import pytest

from app.core import clock
from app.extensions import db
from app.models.user_preference import UserPreference
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

SCHEMA = b"""collections:
  - name: posts
    folder: content/posts
    fields:
      - {name: title, type: string, required: true}
      - {name: kind, type: select, options: [note, essay], default: note}
      - {name: at, type: datetime}
    template:
      path: "{{year}}/{{slug}}.md"
      values: {layout: post, at: "{{date}}"}
      body: "Write here.\\n"
"""


def test_new_page_has_the_template_of_its_collection(console: ConsoleScene) -> None:
    console.site.repo.commit({".galley.yml": SCHEMA})
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    owner, base = console.site.owner, f"/console/projects/{console.ids['project_id']}"
    with console.app.app_context():
        row = db.session.get(UserPreference, owner.id) or UserPreference(user_id=owner.id)
        row.timezone = "Asia/Tokyo"
        db.session.add(row)
        db.session.commit()
    fields = form_of(owner.client.get(f"{base}/content/content/posts"), 'class="form form--inline"')
    made = submit(owner, f"{base}/content/content/posts", **fields | {"title": "Fog & tide", "name": ""})
    path = f"content/posts/{clock.now():%Y}/fog-tide.md"
    assert made.location == f"{base}/edit/{path}?done=created"
    text = console.site.repo.show(path).decode()
    assert text.startswith("---\ntitle: Fog & tide\nkind: note\nat: ")
    assert '+09:00"\nlayout' in text
    assert text.endswith("layout: post\n---\n\nWrite here.\n")
    shown = owner.client.get(made.location).text
    assert 'value="Fog &amp; tide"' in shown


def test_new_page_needs_a_title_or_a_name(console: ConsoleScene) -> None:
    base = f"/console/projects/{console.ids['project_id']}"
    refused = submit(console.site.owner, f"{base}/content/content/posts", title=" ", name="", base_sha="0" * 40)
    assert refused.status_code == 400
    assert 'id="title-error"' in refused.text


COLLECTIONS = b"""collections:
  - {name: posts, label: Blog posts, folder: content/posts, fields: [{name: title, type: string}]}
  - name: notes
    folder: content/posts
    fields: [{name: title, type: string}]
    template: {path: "note-{{slug}}.md"}
"""


@pytest.mark.parametrize(
    ("folder", "choices", "chosen", "path"),
    [
        ("content/posts", ["posts", "notes"], "notes", "content/posts/note-fog.md"),
        ("content/posts", ["posts", "notes"], "posts", "content/posts/fog.md"),
        ("content", ["", "posts", "notes"], "notes", "content/posts/note-fog.md"),
        ("content", ["", "posts", "notes"], "", "content/fog.md"),
    ],
)
def test_new_page_has_the_chosen_collection(
    console: ConsoleScene, folder: str, choices: list[str], chosen: str, path: str
) -> None:
    console.site.repo.commit({".galley.yml": COLLECTIONS})
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    base = f"/console/projects/{console.ids['project_id']}"
    page = console.site.owner.client.get(f"{base}/content/{folder}")
    [select] = re.findall(r'<select[^>]*name="collection".*?</select>', page.text, re.DOTALL)
    assert re.findall(r'value="([^"]*)"', select) == choices
    assert "Blog posts" in console.site.owner.client.get(f"{base}/content/").text
    fields = form_of(page, 'class="form form--inline"') | {"title": "Fog", "collection": chosen}
    made = submit(console.site.owner, f"{base}/content/{folder}", **fields)
    assert made.location == f"{base}/edit/{path}?done=created"
    assert console.site.repo.show(path).startswith(b"---\ntitle: Fog\n")
