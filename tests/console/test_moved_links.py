"""Pages that move to another folder continue to show their pictures: relative links are part of the move."""

import pytest
import sqlalchemy as sa

from app.extensions import db
from app.models.project import Project
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_entry_folders import PNG, Blog
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

POST = "content/blog/pier.md"
FILES = {
    POST: b"---\r\ntitle: The pier\r\ncover: './a.png'\r\n---\r\n![A](a.png) [B](boats.md) [C](/boats/)\r\n",
    "content/blog/boats.md": b"+++\ntitle = 'Boats'\n+++\n![B](../shared/b.png)\n[A](pier.md)\n",
    "content/blog/a.png": PNG + b"a",
    "content/shared/b.png": PNG + b"b",
    "content/blog/harbour/index.md": b"![h](h.png) ![b](../../shared/b.png)\n",
    "content/blog/harbour/h.png": PNG + b"h",
}


@pytest.fixture
def blog(console: ConsoleScene) -> Blog:
    console.site.repo.commit(FILES)
    with console.app.app_context():
        db.session.execute(sa.update(Project).values(generator="astro"))
        db.session.commit()
    return Blog(console)


def test_renamed_page_names_the_same_files_and_returns(blog: Blog) -> None:
    new = "content/archive/2025/pier.md"
    assert "done=renamed" in blog.send("rename", POST, new_path=new).location
    repo = blog.console.site.repo
    moved = FILES[POST].replace(b"./a.png", b"../../blog/a.png").replace(b"(a.png", b"(../../blog/a.png")
    assert repo.show(new) == moved.replace(b"boats.md", b"../../blog/boats.md")
    assert repo.text("rev-list", "--count", "main~1..main") == "1"
    assert "done=renamed" in blog.send("rename", new, new_path=POST).location
    assert repo.show(POST) == FILES[POST].replace(b"(a.png", b"(./a.png").replace(b"(boats", b"(./boats")


def test_new_name_in_the_folder_keeps_every_byte(blog: Blog) -> None:
    blog.send("rename", POST, new_path="content/blog/quay.md")
    assert blog.console.site.repo.show("content/blog/quay.md") == FILES[POST]


def test_selected_pages_that_move_together_link_to_each_other(blog: Blog) -> None:
    done = blog.select(
        "bulk-move", POST, "content/blog/boats.md", "content/blog/harbour/index.md", target="content/new/x"
    )
    assert "done=moved" in done.location
    repo = blog.console.site.repo
    assert b"![A](../../blog/a.png) [B](boats.md) [C](/boats/)\r\n" in repo.show("content/new/x/pier.md")
    assert b"![B](../../shared/b.png)\n[A](pier.md)\n" in repo.show("content/new/x/boats.md")
    assert repo.show("content/new/x/harbour/index.md") == b"![h](h.png) ![b](../../../shared/b.png)\n"
    assert repo.show("content/new/x/harbour/h.png") == FILES["content/blog/harbour/h.png"]


def test_proposed_move_names_the_same_files(blog: Blog) -> None:
    sent = {"save-to": "proposal", "change-set": "new", "change-set-title": "Moves"}
    done = blog.send("rename", POST, new_path="content/archive/pier.md", **sent)
    assert done.status_code == 303
    head = blog.console.site.repo.text("for-each-ref", "--format=%(refname)", "refs/heads").split()
    [branch] = [name for name in head if "main" not in name]
    assert "![A](../blog/a.png)" in blog.console.site.repo.text("show", f"{branch}:content/archive/pier.md")


def test_path_that_exists_is_refused_without_a_change(blog: Blog) -> None:
    blog.console.site.repo.commit({"content/archive/pier.md": b"x"})
    refused = blog.send("rename", POST, new_path="content/archive/pier.md")
    assert refused.status_code in (400, 409)
    assert blog.console.site.repo.show(POST) == FILES[POST]


def test_translation_names_own_files_and_those_of_the_original(blog: Blog) -> None:
    site, text = blog.console.site, b"---\ntitle: P\n---\n![a](./a.png) ![x](../x.png) ![y](../y.png) [b](b.md)\n"
    pages = {
        f"content/{code}/news/n{number}.md": FILES["content/blog/boats.md"]
        for code in ("en", "de")
        for number in range(3)
    }
    pictures = {f"content/{path}.png": PNG + path.encode() for path in ("en/news/a", "en/x", "en/y", "de/y")}
    site.repo.commit({**pages, **pictures, "content/en/news/p.md": text, "content/en/news/b.md": text})
    site.owner.again().post(site.path("/reindex")).ok(202)
    site.world.work_off()
    location = submit(site.owner, f"{blog.base}/translate/content/en/news/p.md", language="de").location
    sent = form_of(site.owner.client.get(location), "editor-form")
    assert "done=saved" in submit(site.owner, location, **sent).location
    assert site.repo.show("content/de/news/p.md") == text.replace(b"../x.png", b"../../en/x.png")
    assert site.repo.show("content/de/news/a.png") == pictures["content/en/news/a.png"]
