"""Folders of the console, read from the index."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
import sqlalchemy as sa
from flask import Flask

from app.database import transactions
from app.drivers.errors import UpstreamTimeout
from app.drivers.git.port import CommitInfo, Repository
from app.extensions import db, drivers
from app.models.content_search import ContentText
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.models.user import User
from app.resources.project_content.index import indexing
from app.resources.project_content.source import source_of
from app.resources.project_content.tree.folder_listing import (
    MAX_DATA_FILES,
    PER_PAGE,
    FolderView,
    HiddenFolders,
    ListedFile,
    ListedFolder,
    ListOrder,
    data_files,
    list_folder,
)
from tests.resources.project_content.conftest import Site, make_site
from tests.support.assertions.statements import Executed, executed, plan_of
from tests.support.samples.gitrepo import SUBMODULE, Content
from tests.support.world import World

FILES = 230
VIEWS = [
    FolderView(folder, is_recursive=is_recursive, order=order, is_draft=is_draft, term=term)
    for order in ListOrder
    for folder, is_recursive, is_draft, term in (
        ("content", False, None, ""),
        ("content", True, None, ""),
        ("", True, None, "É"),
        ("content", True, True, ""),
        ("content", False, False, "PAGE 1"),
        ("", True, None, "100%_"),
    )
]


def listed(site: Site, folder: str, *, is_recursive: bool = False) -> tuple[list[ListedFolder], dict[str, ListedFile]]:
    project = db.session.get_one(Project, site.project)
    index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == project.id)).one()
    page = list_folder(project, index, FolderView(folder, is_recursive=is_recursive))
    return list(page.folders), {file.path: file for file in page.files}


def page_of(n: int) -> bytes:
    titles = [f"Page {n}", f"PAGE {n}", f"É {n}", f"ß100%_{n}", ""]
    date = ("", f"date: 2024-01-{n % 28 + 1:02}\n", "date: 2024\n", "date: [a]\n")[n % 4]
    return f"---\ntitle: {titles[n % 5]!r}\n{date}draft: {str(n % 3 == 0).lower()}\n---\n".encode()


@pytest.fixture
def many(world: World) -> Site:
    """Return a site with three pages of files in one folder. Some files were saved, so that the log contains their change."""
    files: dict[str, Content] = {f"content/{n:03}-{'Añ'[n % 2]}.md": page_of(n) for n in range(FILES)}
    files |= {f"content/sub-{n:03}/x.md": page_of(n) for n in range(PER_PAGE + 3)}
    files |= {
        "content/a-b/deep/y.md": b"y",
        "content/theme": (SUBMODULE, "5a1e" * 10),
        "top.png": b"x",
        "content.md": b"",
    }
    site = make_site(world, files)
    site.commit(*({"path": f"content/{n:03}-A.md", "action": "update", "content": "# Z\n"} for n in (4, 8))).ok(201)
    site.commit({"path": "content/new.md", "action": "create", "content": "---\ntitle: 7\n---\n"}).ok(201)
    world.work_off()
    return site


def pages_of(site: Site, view: FolderView) -> tuple[list[ListedFolder], list[ListedFile], set[int]]:
    """Return folders and files of all pages, and the totals."""
    project = db.session.get_one(Project, site.project)
    index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == project.id)).one()
    folders, files, totals, number, has_more = list[ListedFolder](), list[ListedFile](), set[int](), 0, True
    while has_more:
        number += 1
        page = list_folder(project, index, view, page=number)
        assert max(len(page.files), len(page.folders)) <= PER_PAGE
        folders, files, has_more = [*folders, *page.folders], [*files, *page.files], page.has_more
        totals.add(page.total)
    return folders, files, totals


def sort_key(file: ListedFile, order: ListOrder) -> tuple[str, str]:
    keys = {
        ListOrder.NAME: "",
        ListOrder.TITLE: (file.title or file.name).casefold(),
        ListOrder.DATE: file.date or "",
        ListOrder.CHANGED: file.changed_at or "",
    }
    return keys[order], file.path


def expected(site: Site, view: FolderView) -> list[ListedFile]:
    """Return the files of a view, filtered and sorted one by one."""
    files = pages_of(site, FolderView(view.folder, is_recursive=view.is_recursive))[1]
    if view.term:
        term = view.term.casefold()
        files = [file for file in files if term in file.name.casefold() or term in (file.title or "").casefold()]
    if view.is_draft is not None:
        files = [file for file in files if file.is_draft == view.is_draft]
    is_descending = view.order in (ListOrder.DATE, ListOrder.CHANGED)
    return sorted(files, key=lambda file: sort_key(file, view.order), reverse=is_descending)


def test_pages_contain_the_files_that_match_in_order(app: Flask, many: Site) -> None:
    with app.app_context():
        transactions.start_reading()
        for view in VIEWS:
            with executed(app) as statements:
                _, files, totals = pages_of(many, view)
            assert files == expected(many, view), view
            assert totals == {len(files)}, view
            assert len(files) > 10, view
            check_plans(app, view, statements)


def check_plans(app: Flask, view: FolderView, statements: list[Executed]) -> None:
    """Check that statements read files with an index, and those of one folder with the index of folders."""
    for statement, parameters in statements:
        plan = plan_of(app, statement, parameters)
        assert not [line for line in plan if "Seq Scan" in line or line.startswith("SCAN content_")], plan
        if "rtrim(path" in statement.partition("WHERE")[2] and not view.is_recursive:
            assert any("ix_content_files_folder" in line for line in plan), plan


def test_folder_by_name_contains_its_files_and_the_counts_of_its_subfolders(app: Flask, many: Site) -> None:
    paths = sorted(path for path in many.oracle() if path.startswith("content/"))
    with app.app_context():
        transactions.start_reading()
        folders, files, _ = pages_of(many, FolderView("content"))
        assert [file.path for file in files] == [path for path in paths if path.count("/") == 1]
        subfolders = sorted({"/".join(path.split("/")[:2]) for path in paths if path.count("/") > 1})
        assert folders == [ListedFolder(name, sum(p.startswith(f"{name}/") for p in paths)) for name in subfolders]
        assert pages_of(many, FolderView(term="CONT"))[0] == [ListedFolder("content", len(paths))]
        assert [file.path for file in pages_of(many, FolderView())[1]] == ["content.md", "top.png"]
        project = db.session.get_one(Project, many.project)
        index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == project.id)).one()
        selected = ["content/229-ñ.md", "content/000-A.md", "top.png", "none.md"]
        listed = list_folder(project, index, FolderView("content"), selected=selected).files
        assert [file.path for file in listed[:2]] == ["content/229-ñ.md", "content/000-A.md"]
        assert len(listed) == PER_PAGE + 1


def test_new_generation_has_the_values_after_its_texts_are_indexed(app: Flask, many: Site) -> None:
    view = FolderView("content", order=ListOrder.TITLE)
    with app.app_context():
        before = pages_of(many, view)[1]
        with transactions.write_transaction():
            here = ContentIndex.project_id == many.project
            db.session.execute(sa.update(ContentIndex).where(here).values(commit_sha=None, described_sha=None))
    many.owner.post(many.path("/reindex")).ok(202)
    many.world.work_off()
    with app.app_context():
        transactions.start_reading()
        index = db.session.scalars(sa.select(ContentIndex).where(here)).one()
        assert (index.generation, index.listed_sha) == (2, many.repo.head())
        assert [file.path for file in pages_of(many, view)[1]] == [file.path for file in before]
        unlisted = sa.select(sa.func.count()).where(ContentFile.type == "blob", ContentFile.title_key.is_(None))
        assert db.session.scalar(unlisted.where(ContentFile.index_id == index.id)) == 0
        with transactions.write_transaction():
            db.session.execute(sa.update(ContentFile).where(ContentFile.index_id == index.id).values(title_key=None))
        transactions.start_reading()
        files = pages_of(many, view)[1]
        assert [file.path for file in files] == sorted(file.path for file in before)
        assert {file.path: file.title for file in files} == {file.path: file.title for file in before}
        db.session.rollback()


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
        assert list_folder(db.session.get_one(Project, site.project), None, FolderView()).total == 0


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
        def __init__(self, repository: Repository) -> None:
            self.repository = repository

        def __getattr__(self, name: str) -> Any:
            return getattr(self.repository, name)

        def history(self, *_arguments: object, **_options: object) -> Iterator[CommitInfo]:
            raise UpstreamTimeout("git log")

    with app.app_context():
        with transactions.write_transaction():
            clear = sa.update(ContentIndex).where(ContentIndex.project_id == site.project).values(commit_sha=None)
            db.session.execute(clear)
        transactions.start_reading()
        project = db.session.get_one(Project, site.project)
        index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == project.id)).one()
        source = source_of(project, drivers.git)
        broken = replace(source, repository=cast(Repository, BrokenHistory(source.repository)))
        indexing.update_index(index, broken, lambda _done, _total: None, is_local=True)
        db.session.rollback()
        assert {file.changed_by for file in listed(site, "content", is_recursive=True)[1].values()} == {None}


def test_hidden_folders_are_omitted_from_lists_and_counts(world: World) -> None:
    paths = (
        *("a.md", ".env", ".github/b.md", "x/.cache/c.md", "node_modules/d.md", "x/vendor/e/f.md"),
        *("generated/g.md", "x/h.md", "x/vendors/i.md"),
    )
    site = make_site(world, dict.fromkeys(paths, b"# Text\n"))
    hidden = HiddenFolders(paths=("generated",))
    with world.app.app_context():
        transactions.start_reading()
        project = db.session.get_one(Project, site.project)
        index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == project.id)).one()

        def shown(view: FolderView) -> tuple[list[str], list[str], int, bool]:
            page = list_folder(project, index, view)
            folders = [folder.path for folder in page.folders]
            return folders, [file.path for file in page.files], page.total, page.has_hidden

        assert shown(FolderView(hidden=hidden)) == (["x"], [".env", "a.md"], 2, True)
        assert shown(FolderView("x", hidden=hidden)) == (["x/vendors"], ["x/h.md"], 1, True)
        below = [".env", "a.md", "x/h.md", "x/vendors/i.md"]
        assert shown(FolderView(is_recursive=True, hidden=hidden)) == ([], below, 4, True)
        assert shown(FolderView("node_modules", hidden=hidden)) == ([], ["node_modules/d.md"], 1, False)
        assert shown(FolderView("generated", hidden=hidden))[1:] == (["generated/g.md"], 1, False)
        folders, _, _, has_hidden = shown(FolderView())
        assert (folders, has_hidden) == ([".github", "generated", "node_modules", "x"], False)


def test_data_files_of_a_folder_with_many_other_files_are_listed(world: World) -> None:
    files: dict[str, Content] = {f"data/{n:04}.md": b"" for n in range(MAX_DATA_FILES)}
    site = make_site(world, files | {"data/z.JSON": b"{}", "data/z.yml": b"", "data/zjson": b"", "other/a.json": b"{}"})
    with transactions.reading_context(world.app):
        index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()
        assert data_files(index, ["data"]) == ["data/z.JSON", "data/z.yml"]
