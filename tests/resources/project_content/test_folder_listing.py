"""Folders of the console, read from the index."""

import sqlalchemy as sa
from flask import Flask

from app.extensions import db
from app.models.content_search import ContentText
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.resources.project_content.folder_listing import ListedFile, ListedFolder, list_folder
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
