"""Folders of the console, read from the index."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import sqlalchemy as sa
from flask import Flask

from app.database import session
from app.drivers.errors import UpstreamTimeout
from app.drivers.git.port import CommitInfo, GitProvider
from app.extensions import db, drivers
from app.models.content_search import ContentText
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.user import User
from app.resources.project_content import indexing
from app.resources.project_content.folder_listing import ListedFile, ListedFolder, list_folder
from app.resources.project_content.source import source_of
from tests.resources.project_content.conftest import Site


def listed(site: Site, folder: str, *, is_recursive: bool = False) -> tuple[list[ListedFolder], dict[str, ListedFile]]:
    project = db.session.get_one(Project, site.project)
    index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == project.id)).one()
    folders, files = list_folder(project, index, folder, is_recursive=is_recursive)
    return folders, {file.path: file for file in files}


def test_files_have_the_title_of_front_matter_or_heading(app: Flask, site: Site) -> None:
    with app.app_context():
        folders, files = listed(site, "content")
        assert folders == [ListedFolder("content/posts", 1)]
        assert {path: file.title for path, file in files.items()} == {"content/about.md": "About"}
        _, files = listed(site, "content", is_recursive=True)
        assert {path: file.title for path, file in files.items()} == {
            "content/about.md": "About",
            "content/posts/hello.md": "Hello",
        }


def test_file_without_indexed_text_has_no_title(app: Flask, site: Site) -> None:
    with app.app_context():
        db.session.execute(sa.delete(ContentText).where(ContentText.project_id == site.project))
        _, files = listed(site, "content/posts")
        file = files["content/posts/hello.md"]
        assert (file.name, file.title, file.date, file.is_draft) == ("hello.md", None, None, False)
        db.session.rollback()


def test_project_without_index_has_no_files(app: Flask, site: Site) -> None:
    with app.app_context():
        assert list_folder(db.session.get_one(Project, site.project), None, "") == ([], [])


def test_files_have_author_and_time_of_their_last_change(app: Flask, site: Site) -> None:
    author, moment = "Ada Author", "2023-11-14T22:13:20"
    with app.app_context():
        _, files = listed(site, "content", is_recursive=True)
        assert {(file.changed_by, str(file.changed_at)[:19]) for file in files.values()} == {(author, moment)}
    base = site.repo.head()
    site.commit({"path": "content/about.md", "action": "update", "content": "# About\n"}, base=base).ok(201)
    with app.app_context():
        _, files = listed(site, "content", is_recursive=True)
        about, hello = files["content/about.md"], files["content/posts/hello.md"]
        assert about.changed_by == db.session.get_one(User, site.owner.id).name
        assert str(about.changed_at) > str(hello.changed_at)
        assert hello.changed_by == author


def test_unreadable_history_leaves_the_last_changes_unknown(app: Flask, site: Site) -> None:
    class BrokenHistory:
        def __init__(self, git: GitProvider) -> None:
            self.git = git

        def __getattr__(self, name: str) -> Any:
            return getattr(self.git, name)

        def history(self, *_arguments: object, **_options: object) -> Iterator[CommitInfo]:
            raise UpstreamTimeout("git log")

    with app.app_context():
        with session.write_transaction():
            clear = sa.update(ContentIndex).where(ContentIndex.project_id == site.project).values(commit_sha=None)
            db.session.execute(clear)
        session.start_reading()
        project = db.session.get_one(Project, site.project)
        index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == project.id)).one()
        source = source_of(project, drivers.git)
        broken = replace(source, git=cast(GitProvider, BrokenHistory(source.git)))
        indexing.update_index(index, broken, lambda _done, _total: None, is_local=True)
        db.session.rollback()
        assert {file.changed_by for file in listed(site, "content", is_recursive=True)[1].values()} == {None}
