"""The pictures of a site that is not in the root of its repository, as in the starter "Kaldi" of Decap with Hugo."""

import html
import re
from io import BytesIO

import pytest

from tests.console.conftest import ConsoleScene
from tests.support.samples.gitrepo import Content
from tests.support.samples.pictures import picture

SCHEMA = b"""backend: {name: git-gateway, branch: main}
media_folder: "site/static/img"
public_folder: "img"
collections:
  - name: post
    folder: site/content/post
    path: "{{slug}}/index"
    create: true
    fields:
      - {label: Title, name: title, widget: string}
      - {label: Image, name: image, widget: image, required: false}
      - {label: Body, name: body, widget: markdown}
  - name: pages
    files:
      - file: site/content/values/_index.md
        name: values
        fields:
          - {label: Image, name: image, widget: image}
          - {label: Values, name: values, widget: list, fields: [{label: Image, name: imageUrl, widget: image}]}
"""
VALUES = b"""---
title: Values
image: /img/jumbotron.jpg
values:
  - imageUrl: "img/shade.jpg"
  - imageUrl: "/img/profits.jpg"
---
"""
FILES: dict[str, Content] = {
    "package.json": b"{}",
    "site/hugo.toml": b'baseurl = "/"\n',
    "site/static/admin/config.yml": SCHEMA,
    "site/content/values/_index.md": VALUES,
    "site/content/post/chemex/index.md": b"---\ntitle: Chemex\nimage: chemex.jpg\n---\n",
    "site/content/post/chemex/chemex.jpg": picture("JPEG", 40, 30),
    "site/content/post/gear/index.md": b"---\ntitle: Gear\nimage: img/gear.jpg\n---\n",
    "site/content/post/wheel/index.md": b"---\ntitle: Wheel\n---\n",
    "site/content/post/wheel/a.jpg": picture("JPEG", 41, 30),
    "site/content/post/wheel/featured-wheel.png": picture("PNG", 42, 30),
    "site/content/post/plain/index.md": b"---\ntitle: Plain\n---\nText\n",
    **{
        f"site/static/img/{name}.jpg": picture("JPEG", 50 + number, 30)
        for number, name in enumerate(("jumbotron", "shade", "profits", "gear", "unused"))
    },
}


@pytest.fixture
def kaldi(console: ConsoleScene) -> ConsoleScene:
    """Replace the files of the project by those of the starter, and detect its generator."""
    site = console.site
    site.repo.commit(dict.fromkeys(site.repo.entries()) | FILES)
    site.owner.patch(f"/project/{site.project}", {"generator": "hugo"}).ok()
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    return console


def text_of(console: ConsoleScene, path: str) -> str:
    return html.unescape(console.site.owner.client.get(f"/console/projects/{console.site.project}{path}").text)


def test_list_shows_pictures_of_fields_and_of_bundles(kaldi: ConsoleScene) -> None:
    blobs = kaldi.site.oracle()
    rows = re.findall(r"<tr>(?:(?!</tr>).)*?/edit/.*?</tr>", text_of(kaldi, "/collections/post"), re.DOTALL)
    matches = (re.search(r"/thumbnail/(\w+).*?/edit/([^\"?]*)\"", row, re.DOTALL) for row in rows)
    shown = {match[2]: match[1] for match in matches if match is not None}
    assert len(rows) == 4
    assert shown == {
        f"site/content/post/{name}/index.md": blobs[image][1]
        for name, image in (
            ("chemex", "site/content/post/chemex/chemex.jpg"),
            ("gear", "site/static/img/gear.jpg"),
            ("wheel", "site/content/post/wheel/featured-wheel.png"),
        )
    }


def test_fields_show_the_pictures_of_the_site(kaldi: ConsoleScene) -> None:
    shown = text_of(kaldi, "/edit/site/content/values/_index.md")
    for name in ("jumbotron", "shade", "profits"):
        assert f"/raw?file=site/static/img/{name}.jpg" in shown
    assert 'value="/img/unused.jpg"' in shown


def test_pictures_that_a_page_uses_have_its_number(kaldi: ConsoleScene) -> None:
    cards = re.findall(r'media-card">.*?<a href="[^"]*/([^/"]+)">.*?(\d+) pages?', text_of(kaldi, "/media"), re.DOTALL)
    used = {"chemex.jpg", "a.jpg", "featured-wheel.png", "jumbotron.jpg", "shade.jpg", "profits.jpg", "gear.jpg"}
    assert dict(cards) == dict.fromkeys(used, "1") | {"unused.jpg": "0"}
    assert "/edit/site/content/values/_index.md" in text_of(kaldi, "/edit/site/static/img/shade.jpg")


def test_new_picture_is_in_the_media_folder_of_decap_with_an_address_of_the_site(kaldi: ConsoleScene) -> None:
    assert 'value="site/static/img"' in text_of(kaldi, "/media")
    response = kaldi.site.owner.client.post(
        f"/console/projects/{kaldi.site.project}/images/site/content/post/plain/index.md",
        data={"image": (BytesIO(picture("PNG", 20, 20)), "new.png"), "field": "image"},
    )
    assert response.status_code == 201
    data = response.get_json()
    assert (data["path"], data["url"]) == ("site/static/img/new.png", "/img/new.png")
