"""Pages that are folders: each action of the console acts on the page with its pictures."""

import html
import io
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa

from app.core.limits import CommitLimits, DraftLimits
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Capabilities
from app.extensions import db
from app.models.project import Project
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import WHOLE_PATH, form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

POST, PICTURES = "content/blog/pier/index.md", ("content/blog/pier/a.png", "content/blog/pier/img/b.png")
PNG = b"\x89PNG\r\n\x1a\n"
FILES = {
    POST: b"---\ntitle: The pier\n---\n![A](a.png)\n",
    PICTURES[0]: PNG + b"a",
    PICTURES[1]: PNG + b"b",
    "content/blog/_index.md": b"---\ntitle: Blog\n---\n",
    "content/blog/2025/one.md": b"---\ntitle: One\n---\n",
    "content/blog/2025/two.md": b"---\ntitle: Two\n---\n",
    "content/blog/boats/index.md": b"---\ntitle: Boats\n---\n",
    "content/blog/boats/index.de.md": b"---\ntitle: Boote\n---\n",
    "content/blog/boats/c.png": PNG + b"c",
}


@dataclass
class Blog:
    """The owner of a Hugo site with pages that are folders."""

    console: ConsoleScene

    @property
    def base(self) -> str:
        return f"/console/projects/{self.console.ids['project_id']}"

    @property
    def files(self) -> set[str]:
        return {path for path in self.console.site.repo.entries() if path.startswith("content/blog/")}

    def page(self, path: str) -> Any:
        return self.console.site.owner.client.get(f"{self.base}{path}")

    def send(self, action: str, path: str, **fields: str) -> Any:
        """Send a form of the editor of a page."""
        sent = form_of(self.page(f"/edit/{path}"), f"{self.base}/{action}/")
        return submit(self.console.site.owner, f"{self.base}/{action}/{path}", **sent | WHOLE_PATH | fields)

    def select(self, action: str, *paths: str, **fields: str | list[str]) -> Any:
        """Send the form of a folder with selected files."""
        sent = {"base_sha": self.console.site.repo.head(), "folder": "content/blog", "select": list(paths)}
        return submit(self.console.site.owner, f"{self.base}/{action}", **sent | fields)


@pytest.fixture
def blog(console: ConsoleScene) -> Blog:
    console.site.repo.commit(FILES)
    with console.app.app_context():
        db.session.execute(sa.update(Project).values(generator="hugo"))
        db.session.commit()
    return Blog(console)


def changed(path: str) -> set[str]:
    return {file for file in FILES if not file.startswith(f"{path}/")}


def test_editor_names_the_page_and_its_files_before_a_deletion(blog: Blog) -> None:
    page = html.unescape(blog.page(f"/edit/{POST}").text)
    assert "This deletes “The pier” with the other files of its folder: 2 pictures." in page
    section = html.unescape(blog.page("/edit/content/blog/_index.md").text)
    assert "This deletes the section “Blog” with all files of its folder: 5 pages, 3 pictures." in section
    assert "“One” will be deleted." in html.unescape(blog.page("/edit/content/blog/2025/one.md").text)


def test_page_is_deleted_with_its_pictures(blog: Blog) -> None:
    assert "done=deleted" in blog.send("delete", POST).location
    assert blog.files == changed("content/blog/pier")


def test_deleted_page_is_restored_with_its_pictures(blog: Blog) -> None:
    before = blog.console.site.repo.head()
    blog.send("delete", POST)
    sent = {"commit_sha": before, "base_sha": blog.console.site.repo.head()}
    done = submit(blog.console.site.owner, f"{blog.base}/restore/{POST}", **sent)
    assert "?done=restored" in done.location
    assert blog.files == set(FILES)
    assert blog.console.site.repo.show(PICTURES[1]) == FILES[PICTURES[1]]


def test_deletion_of_one_language_keeps_the_others_and_the_pictures(blog: Blog) -> None:
    blog.send("delete", "content/blog/boats/index.de.md")
    assert blog.files == set(FILES) - {"content/blog/boats/index.de.md"}
    blog.send("delete", "content/blog/boats/index.md")
    assert blog.files == changed("content/blog/boats")


def test_page_is_renamed_with_its_pictures(blog: Blog) -> None:
    form = form_of(blog.page(f"/edit/{POST}"), f"{blog.base}/rename/")
    parts = ("content/blog", "pier", "/index.md")
    assert tuple(form[name] for name in ("path_start", "new_path", "path_end")) == parts
    done = blog.send("rename", POST, **form | {"new_path": "harbour"})
    assert done.location.startswith(f"{blog.base}/edit/content/blog/harbour/index.md?done=renamed&undo=")
    assert blog.files == {path.replace("/pier/", "/harbour/") for path in FILES}
    assert blog.console.site.repo.show("content/blog/harbour/img/b.png") == FILES[PICTURES[1]]


def test_page_is_moved_to_a_folder_that_is_chosen_by_its_label(blog: Blog) -> None:
    site = blog.console.site
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    shown = blog.page(f"/edit/{POST}")
    [choices] = re.findall(r'<select[^>]*name="path_start".*?</select>', shown.text, re.DOTALL)
    labels = dict(re.findall(r'value="([^"]*)"[^>]*>([^<]*)<', choices))
    assert labels["content/blog/2025"] == "Blog / 2025"
    assert "content/blog/pier" not in labels
    form = form_of(shown, f"{blog.base}/rename/") | {"path_start": "content/blog/2025"}
    done = blog.send("rename", POST, **form)
    assert done.location.startswith(f"{blog.base}/edit/content/blog/2025/pier/index.md?done=renamed")


@pytest.mark.parametrize(
    ("path", "new", "text"),
    [
        (POST, "content/blog/2025", "There is a folder with this name."),
        (POST, "content/blog/2025/index.md", "There is a folder with this name."),
        (POST, "content/blog/pier/deep", "This folder belongs to one page."),
        (POST, "content/blog/pier.md", "This page is a folder with other files."),
        ("content/blog/2025/one.md", "content/blog/2025/index.md", "would no longer show the other pages"),
        ("content/blog/2025/one.md", "content/blog/pier/one.md", "This folder belongs to one page."),
        ("content/blog/2025/one.md", "data/one.md", "The site does not show pages of this folder"),
    ],
)
def test_rename_that_would_hide_pages_is_refused_at_the_field(blog: Blog, path: str, new: str, text: str) -> None:
    before = blog.console.site.repo.head()
    refused = blog.send("rename", path, new_path=new)
    assert refused.status_code == 400
    assert text in html.unescape(refused.text)
    assert f'value="{new}"' in refused.text
    assert blog.console.site.repo.head() == before


def test_rename_to_the_present_folder_changes_nothing(blog: Blog) -> None:
    before = blog.console.site.repo.head()
    assert blog.send("rename", POST, new_path="content/blog/pier").location.endswith("done=unchanged")
    assert blog.console.site.repo.head() == before


@pytest.mark.parametrize(
    ("folder", "name", "text"),
    [
        ("content/blog/pier", "more.md", "This folder belongs to one page."),
        ("content/blog/2025", "index.md", "would no longer show the other pages"),
        ("content/blog/pier", "index.fr.md", ""),
        ("content/blog/2025", "more.md", ""),
    ],
)
def test_new_page_that_the_site_would_not_show_is_refused(blog: Blog, folder: str, name: str, text: str) -> None:
    made = submit(blog.console.site.owner, f"{blog.base}/new", folder=folder, title="More", name=name, collection="")
    assert made.status_code == (400 if text else 303)
    assert text in html.unescape(made.text)


def test_selected_page_is_moved_as_a_folder(blog: Blog) -> None:
    assert "done=moved" in blog.select("bulk-move", POST, PICTURES[0], target="content/blog/2025").location
    assert blog.files == {path.replace("blog/pier/", "blog/2025/pier/") for path in FILES}


def test_selected_pages_are_deleted_with_their_pictures(blog: Blog) -> None:
    languages = ("content/blog/boats/index.md", "content/blog/boats/index.de.md")
    refused = blog.select("bulk-delete", POST, *languages)
    assert (refused.status_code, blog.files) == (400, set(FILES))
    assert "The selected pages have other files in their folders: 3." in refused.text
    assert "done=deleted" in blog.select("bulk-delete", POST, *languages, confirmed="1").location
    assert blog.files == changed("content/blog/pier") & changed("content/blog/boats")


def test_deletion_in_a_collection_is_confirmed(blog: Blog) -> None:
    blog.console.site.owner.again().post(blog.console.site.path("/reindex")).ok(202)
    blog.console.site.world.work_off()
    sent = {"base_sha": blog.console.site.repo.head(), "select": [POST], "action": "delete"}
    url = f"{blog.base}/collections/content-blog"
    refused = submit(blog.console.site.owner, url, **sent)
    assert refused.status_code == 400
    assert "The selected pages have other files in their folders: 2." in refused.text
    assert 'name="confirmed"' in refused.text
    assert submit(blog.console.site.owner, url, **sent | {"confirmed": "1"}).status_code == 303
    assert blog.files == changed("content/blog/pier")


def test_section_that_would_hide_its_pages_is_no_draft_with_a_selection(blog: Blog) -> None:
    section = "content/blog/_index.md"
    blog.console.site.repo.commit({section: b"---\ntitle: Blog\ndraft: false\n---\n"})
    text = "“Blog” is a section. As a draft it hides all its pages: 5 pages."
    assert text in html.unescape(blog.page(f"/edit/{section}").text)
    refused = blog.select("bulk-state", section, state="draft")
    assert (refused.status_code, text in html.unescape(refused.text)) == (400, True)
    pages = [path for path in FILES if path.endswith(".md") and path != section]
    assert "done=saved" in blog.select("bulk-state", section, *pages, state="draft").location
    assert text not in html.unescape(blog.page("/edit/content/blog/2025/one.md").text)


def test_selected_picture_is_deleted_alone(blog: Blog) -> None:
    assert "done=deleted" in blog.select("bulk-delete", PICTURES[0]).location
    assert blog.files == set(FILES) - {PICTURES[0]}


@pytest.mark.parametrize("path", ["content/blog/2025/one.md", "content/blog/2025/two.md"])
def test_selected_page_is_not_moved_into_a_page(blog: Blog, path: str) -> None:
    refused = blog.select("bulk-move", path, target="content/blog/pier")
    assert refused.status_code == 400
    assert "This folder belongs to one page." in refused.text
    assert blog.files == set(FILES)


def test_folder_with_a_new_file_is_not_deleted(blog: Blog) -> None:
    sent = form_of(blog.page(f"/edit/{POST}"), f"{blog.base}/delete/")
    blog.console.site.repo.commit({"content/blog/pier/new.png": PNG})
    refused = submit(blog.console.site.owner, f"{blog.base}/delete/{POST}", **sent)
    assert refused.status_code == 409
    assert "have changed. Load the page again" in refused.text
    assert POST in blog.files


def test_many_pages_are_deleted_without_a_divided_page(blog: Blog) -> None:
    names = [f"content/blog/many/{number}/index.md" for number in range(CommitLimits.files // 2 + 1)]
    blog.console.site.repo.commit({path: b"x" for name in names for path in (name, name.replace("index.md", "p.png"))})
    before = blog.console.site.repo.head()
    done = blog.select("bulk-delete", **{"select": [], "select[]": json.dumps(names), "confirmed": "1"})
    assert "done=deleted" in done.location
    assert blog.files == set(FILES)
    assert blog.console.site.repo.text("rev-list", "--count", f"{before}..main") == "2"


def test_section_with_too_many_files_is_refused(blog: Blog) -> None:
    many = {f"content/blog/many/{number}.md": b"x" for number in range(CommitLimits.files + 1)}
    blog.console.site.repo.commit(many)
    refused = blog.send("delete", "content/blog/_index.md")
    assert refused.status_code == 413
    assert "“content/blog” has more than 300 files." in html.unescape(refused.text)
    assert set(many) <= blog.files


def test_language_of_a_large_section_is_deleted(blog: Blog) -> None:
    german = "content/blog/_index.de.md"
    blog.console.site.repo.commit(
        {german: b"x"} | {f"content/blog/many/{number}.md": b"x" for number in range(CommitLimits.files + 1)}
    )
    before = blog.files
    text = html.unescape(blog.page(f"/edit/{german}").text)
    assert "This deletes the section" not in text
    assert "done=deleted" in blog.send("delete", german).location
    assert blog.files == before - {german}


def test_files_that_are_selected_with_a_language_are_deleted(blog: Blog) -> None:
    selected = ("content/blog/boats/index.de.md", "content/blog/boats/c.png")
    blog.select("bulk-delete", *selected)
    assert blog.files == set(FILES) - set(selected)


@pytest.mark.parametrize("new", ["content/blog/pier/index.mdx", "content/blog/pier/index.fr.md"])
def test_page_of_a_folder_is_renamed_in_its_folder(blog: Blog, new: str) -> None:
    assert "done=renamed" in blog.send("rename", POST, new_path=new).location
    assert blog.files == {*FILES, new} - {POST}


def test_page_is_not_moved_to_the_path_of_its_translation(blog: Blog) -> None:
    refused = blog.send("rename", "content/blog/boats/index.md", new_path="content/blog/ships/index.de.md")
    assert refused.status_code in (400, 409)
    assert blog.files == set(FILES)


def test_name_of_a_folder_changes_its_case(blog: Blog) -> None:
    assert "done=renamed" in blog.send("rename", POST, new_path="content/blog/Pier").location
    assert blog.files == {path.replace("/pier/", "/Pier/") for path in FILES}


def test_page_is_restored_without_a_folder_that_a_commit_cannot_contain(blog: Blog) -> None:
    many = {f"content/blog/pier/{number}.png": PNG for number in range(CommitLimits.files + 1)}
    blog.console.site.repo.commit(many)
    before = blog.console.site.repo.head()
    blog.console.site.repo.commit(dict.fromkeys((POST, *PICTURES, *many)))
    sent = {"commit_sha": before, "base_sha": blog.console.site.repo.head()}
    done = submit(blog.console.site.owner, f"{blog.base}/restore/{POST}", **sent)
    assert "?done=restored" in done.location
    assert blog.files == changed("content/blog/pier") | {POST}


def test_page_is_restored_from_the_time_before_its_rename(blog: Blog) -> None:
    before, new = blog.console.site.repo.head(), "content/blog/harbour/index.md"
    blog.send("rename", POST, new_path="content/blog/harbour")
    blog.send("delete", new)
    sent = {"commit_sha": before, "base_sha": blog.console.site.repo.head()}
    done = submit(blog.console.site.owner, f"{blog.base}/restore/{new}", **sent)
    assert "?done=restored" in done.location
    assert blog.console.site.repo.show(new) == FILES[POST]


def test_other_pages_of_a_folder_are_not_restored(blog: Blog) -> None:
    with blog.console.app.app_context():
        db.session.execute(sa.update(Project).values(generator="astro"))
        db.session.commit()
    guide = {f"content/blog/guide/{name}.md": b"x" for name in ("index", "part")}
    blog.console.site.repo.commit(guide)
    before = blog.console.site.repo.head()
    blog.console.site.repo.commit(dict.fromkeys(guide))
    sent = {"commit_sha": before, "base_sha": blog.console.site.repo.head()}
    submit(blog.console.site.owner, f"{blog.base}/restore/content/blog/guide/index.md", **sent)
    assert blog.files == {*FILES, "content/blog/guide/index.md"}


class TestProposals:
    @pytest.fixture(autouse=True)
    def required(self, blog: Blog) -> None:
        with blog.console.app.app_context():
            blog.console.site.owner.again().patch(
                f"/project/{blog.console.ids['project_id']}", {"require_change_sets": True}
            )

    def proposed(self, blog: Blog) -> list[str]:
        """Return the changed paths of the only change set."""
        [listed] = blog.console.site.owner.again().get(f"/project/{blog.console.ids['project_id']}/change-sets").ok()
        lines = blog.console.site.repo.git(
            "diff", "--name-status", "--no-renames", f"main..{listed['branch']}"
        ).decode()
        return sorted(lines.replace("\t", " ").splitlines())

    def test_page_is_moved_with_its_pictures(self, blog: Blog) -> None:
        blog.select("bulk-move", POST, target="content/blog/2025")
        old = [f"D {path}" for path in (POST, *PICTURES)]
        new = [f"A {path.replace('blog/pier', 'blog/2025/pier')}" for path in (POST, *PICTURES)]
        assert self.proposed(blog) == sorted([*old, *new])

    def test_move_of_as_many_files_as_a_commit_takes(self, blog: Blog) -> None:
        more = {f"content/blog/pier/{number}.png": PNG + b"%d" % number for number in range(CommitLimits.files - 3)}
        blog.console.site.repo.commit(more)
        blog.select("bulk-move", POST, target="content/blog/2025")
        assert len(self.proposed(blog)) == 2 * CommitLimits.files

    def test_page_is_deleted_with_its_pictures(self, blog: Blog) -> None:
        blog.send("delete", POST, **{"save-to": "proposal", "change-set": "new"})
        assert self.proposed(blog) == sorted(f"D {path}" for path in (POST, *PICTURES))


def test_picture_of_a_page_without_a_link_is_not_unused(blog: Blog) -> None:
    blog.console.site.owner.again().post(blog.console.site.path("/reindex")).ok(202)
    blog.console.site.world.work_off()
    page = html.unescape(blog.page("/media?q=b.png").text)
    assert "1 page" in page
    assert "The pier" in html.unescape(blog.page(f"/edit/{PICTURES[1]}").text)


class TestRemovedPage:
    @pytest.fixture
    def shown(self, blog: Blog) -> str:
        """Save a text in the editor of a page that another person has deleted with its folder, and return the page."""
        sent = form_of(blog.page(f"/edit/{POST}"), "editor-form") | {"body": "My line.\r\n"}
        blog.console.site.repo.commit(dict.fromkeys((POST, *PICTURES)))
        stopped = submit(blog.console.site.owner, f"{blog.base}/edit/{POST}", **sent)
        assert stopped.location == f"{blog.base}/conflict/{POST}"
        return html.unescape(blog.page(f"/conflict/{POST}").text)

    def choose(self, blog: Blog, action: str) -> None:
        sent = form_of(blog.page(f"/conflict/{POST}"), "removed-form") | {"action": action}
        assert "done=saved" in submit(blog.console.site.owner, f"{blog.base}/removed/{POST}", **sent).location

    def test_text_is_restored_with_the_pictures(self, blog: Blog, shown: str) -> None:
        self.choose(blog, "restore")
        assert blog.files == set(FILES)
        assert b"My line." in blog.console.site.repo.show(POST)
        assert blog.console.site.repo.show(PICTURES[0]) == FILES[PICTURES[0]]

    def test_text_is_saved_as_another_page_with_the_pictures(self, blog: Blog, shown: str) -> None:
        assert 'name="new_path" value="pier-2"' in shown
        self.choose(blog, "create")
        assert blog.files == {path.replace("/pier/", "/pier-2/") for path in FILES}


def test_other_pages_of_a_removed_folder_stay_removed(blog: Blog) -> None:
    folder = ("content/blog/guide/index.md", "content/blog/guide/part.md", "content/blog/guide/a.png")
    blog.console.site.repo.commit(dict.fromkeys(folder, b"Text.\n"))
    with blog.console.app.app_context():
        db.session.execute(sa.update(Project).values(generator="astro"))
        db.session.commit()
    sent = form_of(blog.page(f"/edit/{folder[0]}"), "editor-form") | {"body": "My line.\r\n"}
    blog.console.site.repo.commit(dict.fromkeys(folder))
    submit(blog.console.site.owner, f"{blog.base}/edit/{folder[0]}", **sent)
    sent = form_of(blog.page(f"/conflict/{folder[0]}"), "removed-form") | {"action": "restore"}
    submit(blog.console.site.owner, f"{blog.base}/removed/{folder[0]}", **sent)
    assert blog.files == {*FILES, folder[0]}


class TestCopies:
    def test_page_is_duplicated_with_the_files_of_its_folder(self, blog: Blog) -> None:
        files = {"content/blog/pier/featured.jpg": PNG + b"f", "content/blog/pier/doc/plan.pdf": b"%PDF-1.4"}
        blog.console.site.repo.commit(files)
        page = html.unescape(blog.page(f"/edit/{POST}").text)
        assert "The copy is a draft with the other files of the folder: 4 files." in page
        before = blog.console.site.repo.head()
        location = submit(blog.console.site.owner, f"{blog.base}/duplicate/{POST}").location
        assert location == f"{blog.base}/edit/content/blog/pier-2/index.md"
        assert blog.console.site.repo.head() == before
        sent = form_of(blog.console.site.owner.client.get(location), "editor-form")
        assert "done=saved" in submit(blog.console.site.owner, location, **sent).location
        files |= {path: FILES[path] for path in (POST, *PICTURES)}
        copies = {path: path.replace("/pier/", "/pier-2/") for path in files}
        assert blog.files == {*FILES, *files, *copies.values()}
        assert all(blog.console.site.repo.show(new) == files[old] for old, new in copies.items())

    def test_files_of_a_copy_are_shown_and_do_not_count_as_uploads(self, blog: Blog) -> None:
        names = [f"{number}.png" for number in range(DraftLimits.images + 1)]
        blog.console.site.repo.commit({f"content/blog/pier/{name}": PNG + name.encode() for name in names})
        location = submit(blog.console.site.owner, f"{blog.base}/duplicate/{POST}").location
        path = "content/blog/pier-2/index.md"
        assert blog.page(f"/draft-image/{path}?url=7.png").data == PNG + b"7.png"
        upload = {"image": (io.BytesIO(PNG + b"new"), "new.png")}
        added = blog.console.site.owner.client.post(f"{blog.base}/images/{path}", data=upload)
        assert added.status_code == 201, added.text
        sent = form_of(blog.console.site.owner.client.get(location), "editor-form")
        assert "done=saved" in submit(blog.console.site.owner, location, **sent | {"body": "![](new.png)"}).location
        copies = {f"content/blog/pier-2/{name}" for name in (*names, "a.png", "img/b.png", "new.png", "index.md")}
        assert {path for path in blog.files if "/pier-2/" in path} == copies

    def test_copy_is_proposed_with_its_files(self, blog: Blog) -> None:
        location = submit(blog.console.site.owner, f"{blog.base}/duplicate/{POST}").location
        sent = form_of(blog.console.site.owner.client.get(location), "editor-form")
        sent |= {"save-to": "proposal", "change-set": "new", "change-set-title": "Copy"}
        done = submit(blog.console.site.owner, location, **sent)
        assert "set=" in done.location, done.text
        branches = blog.console.site.repo.git("branch", "--list", "*copy*", "--format=%(refname:short)")
        copies = {path.replace("/pier/", "/pier-2/") for path in (POST, *PICTURES)}
        assert copies <= blog.console.site.repo.entries(branches.decode().strip()).keys()

    def test_section_is_duplicated_without_the_files_of_its_pages(self, blog: Blog) -> None:
        blog.console.site.repo.commit({"content/blog/cover.jpg": PNG})
        location = submit(blog.console.site.owner, f"{blog.base}/duplicate/content/blog/_index.md").location
        sent = form_of(blog.console.site.owner.client.get(location), "editor-form")
        assert "done=saved" in submit(blog.console.site.owner, location, **sent).location
        copies = {path for path in blog.console.site.repo.entries() if path.startswith("content/blog-2/")}
        assert copies == {"content/blog-2/_index.md", "content/blog-2/cover.jpg"}

    def test_files_of_a_copy_are_sent_to_a_host_without_blobs(
        self, blog: Blog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(GitHosts, "capabilities", lambda self, host: Capabilities(bulk_reads=True))
        location = submit(blog.console.site.owner, f"{blog.base}/duplicate/{POST}").location
        sent = form_of(blog.console.site.owner.client.get(location), "editor-form")
        assert "done=saved" in submit(blog.console.site.owner, location, **sent).location
        assert blog.console.site.repo.show("content/blog/pier-2/img/b.png") == FILES[PICTURES[1]]

    def test_page_with_more_files_than_a_commit_is_not_duplicated(self, blog: Blog) -> None:
        blog.console.site.repo.commit({f"content/blog/pier/{n}.pdf": b"%PDF" for n in range(CommitLimits.files)})
        assert submit(blog.console.site.owner, f"{blog.base}/duplicate/{POST}").status_code == 413

    def test_start_page_of_a_folder_with_other_pages_is_duplicated_with_its_pictures(self, blog: Blog) -> None:
        with blog.console.app.app_context():
            db.session.execute(sa.update(Project).values(generator="astro"))
            db.session.commit()
        start, picture, other = (f"content/blog/guide/{name}" for name in ("index.md", "img/a.png", "part.md"))
        files = {start: b"![A](./img/a.png)\n", picture: PNG, other: b"![B](b.png)\n", "content/blog/guide/b.png": PNG}
        blog.console.site.repo.commit(files)
        location = submit(blog.console.site.owner, f"{blog.base}/duplicate/{start}").location
        sent = form_of(blog.console.site.owner.client.get(location), "editor-form")
        assert "done=saved" in submit(blog.console.site.owner, location, **sent).location
        copies = {path.replace("/guide/", "/guide-2/") for path in (start, picture)}
        assert blog.files == {*FILES, *files, *copies}

    def test_copy_has_an_address_of_its_own(self, blog: Blog) -> None:
        blog.console.site.repo.commit({POST: b"---\ntitle: The pier\nslug: the-pier # short\n---\n![A](a.png)\n"})
        location = submit(blog.console.site.owner, f"{blog.base}/duplicate/{POST}").location
        sent = form_of(blog.console.site.owner.client.get(location), "editor-form")
        assert "done=saved" in submit(blog.console.site.owner, location, **sent).location
        text = b"---\ntitle: The pier\nslug: the-pier-2 # short\n---\n![A](a.png)\n"
        assert blog.console.site.repo.show("content/blog/pier-2/index.md") == text

    def test_page_is_duplicated_without_pictures_that_a_draft_cannot_contain(self, blog: Blog) -> None:
        names = [f"{number}.png" for number in range(DraftLimits.images + 1)]
        text = b"".join(b"![](%s)\n" % name.encode() for name in names)
        blog.console.site.repo.commit({f"content/blog/pier/{name}": PNG for name in names} | {POST: text})
        done = submit(blog.console.site.owner, f"{blog.base}/duplicate/{POST}")
        assert done.location == f"{blog.base}/edit/content/blog/pier-2/index.md"

    def test_page_is_duplicated_without_a_picture_that_is_too_large(
        self, blog: Blog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(DraftLimits, "image_bytes", 4)
        done = submit(blog.console.site.owner, f"{blog.base}/duplicate/{POST}")
        assert done.location == f"{blog.base}/edit/content/blog/pier-2/index.md"

    def test_copies_have_different_names(self, blog: Blog) -> None:
        paths = [POST, POST, "content/blog/2025/one.md"]
        locations = [submit(blog.console.site.owner, f"{blog.base}/duplicate/{path}").location for path in paths]
        names = ["pier-2/index.md", "pier-3/index.md", "2025/one-2.md"]
        assert locations == [f"{blog.base}/edit/content/blog/{name}" for name in names]

    def test_folder_without_a_page_is_not_the_name_of_a_copy(self, blog: Blog) -> None:
        blog.console.site.repo.commit({"content/blog/pier-2/a.png": PNG})
        location = submit(blog.console.site.owner, f"{blog.base}/duplicate/{POST}").location
        assert location == f"{blog.base}/edit/content/blog/pier-3/index.md"

    def test_file_that_is_not_text_is_not_duplicated(self, blog: Blog) -> None:
        refused = submit(blog.console.site.owner, f"{blog.base}/duplicate/{PICTURES[0]}")
        assert refused.status_code == 422
        assert "/duplicate/" not in blog.page(f"/edit/{PICTURES[0]}").text

    def test_translation_in_another_folder_has_the_pictures(self, blog: Blog) -> None:
        site = blog.console.site
        entries = {
            f"content/{language}/news/a{number}/index.md": FILES[POST]
            for language in ("en", "de")
            for number in range(3)
        }
        site.repo.commit(
            entries | {"content/en/news/sea/index.md": FILES[POST], "content/en/news/sea/a.png": PNG + b"sea"}
        )
        site.owner.again().post(site.path("/reindex")).ok(202)
        site.world.work_off()
        path = "/translate/content/en/news/sea/index.md"
        location = submit(site.owner, f"{blog.base}{path}", language="de").location
        assert location == f"{blog.base}/edit/content/de/news/sea/index.md?panel=translation"
        sent = form_of(site.owner.client.get(location), "editor-form")
        assert "done=saved" in submit(site.owner, location, **sent).location
        assert site.repo.show("content/de/news/sea/a.png") == PNG + b"sea"
