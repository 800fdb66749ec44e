"""Pages of Eleventy that have the name of their folder: each action acts on the folder, and both names change."""

import html

import pytest
import sqlalchemy as sa

from app.extensions import db
from app.models.project import Project
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_entry_folders import PNG, Blog
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

PIER = "content/blog/pier/pier.md"
PICTURES = ("content/blog/pier/a.png", "content/blog/pier/img/b.png")
GUIDE, PART = "content/blog/guide/guide.md", "content/blog/guide/part.md"
FILES = {
    PIER: b"---\ntitle: The pier\n---\n![A](a.png)\n",
    PICTURES[0]: PNG + b"a",
    PICTURES[1]: PNG + b"b",
    "content/blog/pier/pier.11tydata.js": b"module.exports = {};\n",
    GUIDE: b"---\ntitle: Guide\n---\n",
    PART: b"---\ntitle: Part\n---\n",
    "content/blog/boats/boats.md": b"---\ntitle: Boats\n---\n",
}


def renamed(new: str) -> set[str]:
    return {path.replace("/pier/", f"/{new}/").replace("/pier.", f"/{new}.") for path in FILES}


@pytest.fixture
def blog(console: ConsoleScene) -> Blog:
    console.site.repo.commit(FILES)
    with console.app.app_context():
        db.session.execute(sa.update(Project).values(generator="eleventy"))
        db.session.commit()
    return Blog(console)


def test_address_names_the_folder_once(blog: Blog) -> None:
    form = form_of(blog.page(f"/edit/{PIER}"), f"{blog.base}/rename/")
    assert tuple(form[name] for name in ("path_start", "new_path", "path_end")) == ("content/blog", "pier", "/*.md")


def test_rename_changes_both_names(blog: Blog) -> None:
    form = form_of(blog.page(f"/edit/{PIER}"), f"{blog.base}/rename/")
    done = blog.send("rename", PIER, **form | {"new_path": "old harbour"})
    assert done.location.startswith(f"{blog.base}/edit/content/blog/old-harbour/old-harbour.md?done=renamed&undo=")
    assert blog.files == renamed("old-harbour")
    again = blog.send("rename", "content/blog/old-harbour/old-harbour.md", new_path="content/blog/pier")
    assert again.location.startswith(f"{blog.base}/edit/{PIER}?done=renamed")
    assert {path: blog.console.site.repo.show(path) for path in FILES} == FILES


@pytest.mark.parametrize("new", ["content/blog/boats", "content/blog/boats/boats.md", "content/blog/pier.md"])
def test_name_that_exists_or_has_no_folder_is_refused(blog: Blog, new: str) -> None:
    assert blog.send("rename", PIER, new_path=new).status_code == 400
    assert blog.files == set(FILES)


def test_page_is_deleted_with_its_pictures_and_restored(blog: Blog) -> None:
    before = blog.console.site.repo.head()
    text = html.unescape(blog.page(f"/edit/{PIER}").text)
    assert "This deletes “The pier” with the other files of its folder" in text
    assert "done=deleted" in blog.send("delete", PIER).location
    assert blog.files == {path for path in FILES if "/pier/" not in path}
    sent = {"commit_sha": before, "base_sha": blog.console.site.repo.head()}
    submit(blog.console.site.owner, f"{blog.base}/restore/{PIER}", **sent)
    assert blog.files == set(FILES)


def test_selected_page_is_moved_with_its_folder(blog: Blog) -> None:
    assert "done=moved" in blog.select("bulk-move", PIER, target="content/blog/2025").location
    assert blog.files == {path.replace("/pier/", "/2025/pier/") for path in FILES}


def test_copy_has_both_names_and_the_pictures(blog: Blog) -> None:
    made = submit(blog.console.site.owner, f"{blog.base}/duplicate/{PIER}")
    copy = "content/blog/pier-2/pier-2.md"
    assert made.location.startswith(f"{blog.base}/edit/{copy}")
    sent = form_of(blog.page(f"/edit/{copy}"), f"{blog.base}/edit/")
    assert submit(blog.console.site.owner, f"{blog.base}/edit/{copy}", **sent).status_code == 303
    assert blog.files == {*FILES, *renamed("pier-2")}


def test_page_with_others_in_its_folder_stays_alone(blog: Blog) -> None:
    form = form_of(blog.page(f"/edit/{GUIDE}"), f"{blog.base}/rename/")
    assert tuple(form[name] for name in ("path_start", "new_path", "path_end")) == (
        "content/blog/guide",
        "guide",
        ".md",
    )
    made = submit(blog.console.site.owner, f"{blog.base}/duplicate/{GUIDE}")
    assert made.location.startswith(f"{blog.base}/edit/content/blog/guide/guide-2.md")
    blog.send("delete", GUIDE)
    assert blog.files == set(FILES) - {GUIDE}


def test_picture_of_the_folder_is_used_and_its_folder_is_no_choice(blog: Blog) -> None:
    site = blog.console.site
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    shown = html.unescape(blog.page(f"/edit/{PICTURES[1]}").text)
    assert f"/edit/{PIER}" in shown
    folders = blog.page(f"/edit/{PIER}").text
    assert '<option value="content/blog/pier"' not in folders
    assert '<option value="content/blog/guide"' in folders


def test_new_entry_has_the_form_of_the_others(blog: Blog) -> None:
    site = blog.console.site
    site.repo.commit({f"content/news/{name}/{name}.md": b"---\ntitle: N\n---\n" for name in "abc"})
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    made = submit(site.owner, f"{blog.base}/new/content-news", title="High tide", folder="content/news")
    assert made.location.startswith(f"{blog.base}/edit/content/news/high-tide/high-tide.md")
