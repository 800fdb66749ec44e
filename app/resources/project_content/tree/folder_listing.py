"""A page of one folder of a branch: subfolders with their number of files, and files with title, date and draft state.

The database counts, sorts and pages, so that a page reads the texts of the shown files only. A file whose values for
lists are not stored yet is sorted by its name and has no date.
"""

import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter

import sqlalchemy as sa

from app.content.draft_state import is_draft
from app.content.entry_files import ELEVENTY, folder_of_index, folders_above
from app.content.schema.collection_groups import DATA_ENDINGS, FolderCount
from app.core import clock
from app.database import inserts
from app.extensions import db
from app.models.base import Row
from app.models.content_search import ContentText
from app.models.project import Project
from app.models.project_content import FOLDER_OF_FILE, IS_IMAGE, ContentFile, ContentIndex
from app.models.project_log import ProjectLogEntry
from app.resources.project_content.conditions import contains, literal_number, name_contains, name_of

BLOBS_PER_STATEMENT = 500
DEPENDENCY_FOLDERS = ("node_modules", "bower_components", "vendor", "__pycache__")
LOG_ENTRIES = MAX_IMAGES = 2_000
PER_PAGE, MAX_DATA_FILES, MAX_LANGUAGE_CODE, PATHS_PER_STEP = 100, 1_000, 8, 5_000
_folder_of_file = sa.literal_column(FOLDER_OF_FILE, sa.Text())
_FEATURED = re.compile("feature|cover|thumb", re.IGNORECASE)
_IS_BLOB = ContentFile.type == sa.literal_column("'blob'")
Conditions = Sequence[sa.ColumnElement[bool]]


class ListOrder(StrEnum):
    """The order of files. The newest dates and changes are first."""

    NAME = "name"
    TITLE = "title"
    DATE = "date"
    CHANGED = "changed"


@dataclass(frozen=True)
class HiddenFolders:
    """Folders that a list omits: those whose name starts with a dot, those of some names, and some paths."""

    names: tuple[str, ...] = DEPENDENCY_FOLDERS
    paths: tuple[str, ...] = ()

    def contains(self, folder: str) -> bool:
        """Return whether a folder is hidden, or is in a hidden one."""
        is_named = any(part.startswith(".") or part in self.names for part in folder.split("/"))
        return is_named or any(folder == path or folder.startswith(f"{path}/") for path in self.paths)


@dataclass(frozen=True)
class FolderView:
    """The files of a folder, or all files below it, in an order.

    `is_draft`, `term` and `hidden` restrict them. A hidden folder shows its own files.
    """

    folder: str = ""
    is_recursive: bool = False
    order: ListOrder = ListOrder.NAME
    is_draft: bool | None = None
    term: str = ""
    hidden: HiddenFolders | None = None


@dataclass(frozen=True)
class ListedFile:
    """A file of a folder. Title and date are None if the file has none, or its text is not indexed yet."""

    path: str
    size: int | None
    sha: str
    title: str | None
    date: str | None
    is_draft: bool
    changed_by: str | None
    changed_at: str | None

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class ListedFolder:
    """A folder with the number of files below it."""

    path: str
    files: int

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class FolderPage:
    """A page of subfolders and files.

    `total` is the number of files of all pages. `has_hidden` is true if the view omits folders.
    """

    folders: Sequence[ListedFolder]
    files: Sequence[ListedFile]
    total: int
    has_more: bool
    has_hidden: bool = False


def list_folder(
    project: Project, index: ContentIndex | None, view: FolderView, *, page: int = 1, selected: Collection[str] = ()
) -> FolderPage:
    """Return a page of subfolders and files. Selected files of other pages precede the files of the page."""
    if index is None:
        return FolderPage([], [], 0, has_more=False)
    offset = (page - 1) * PER_PAGE
    folders = [] if view.is_recursive or view.is_draft is not None else _folders(index, view, offset)
    total = _count(index, view)
    rows = _rows(project.id, index, view, offset) if total > offset else []
    others = set(selected).difference(row.path for row in rows)
    if others:
        rows = [*_rows_at(index, view, others), *rows]
    has_more = len(folders) > PER_PAGE or total > offset + PER_PAGE
    return FolderPage(folders[:PER_PAGE], _files(project.id, rows), total, has_more, _has_hidden(index, view))


def titles_of(project: Project, index: ContentIndex | None, paths: Collection[str]) -> dict[str, str]:
    """Return the titles of those of some paths that have one in the index."""
    if index is None or not paths:
        return {}
    file, text = ContentFile, ContentText
    statement = sa.select(file.path, text.title).join(text, text.sha == file.sha)
    statement = statement.where(text.project_id == project.id, text.title.is_not(None), text.title != "")
    here = (file.index_id == index.id, file.generation == index.generation, file.path.in_(set(paths)))
    return {row.path: row.title for row in db.session.execute(statement.where(*here))}


def titles_in_projects(files: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the titles of files of several projects by project id and path, from the working branches."""
    file, text, index = ContentFile, ContentText, ContentIndex
    statement = (
        sa.select(index.project_id, file.path, text.title)
        .join(Project, (Project.id == index.project_id) & (Project.branch == index.branch))
        .join(file, (file.index_id == index.id) & (file.generation == index.generation))
        .join(text, (text.project_id == index.project_id) & (text.sha == file.sha))
        .where(index.project_id.in_({project for project, _ in files}), file.path.in_({path for _, path in files}))
        .where(text.title.is_not(None), text.title != "")
    )
    return {(row.project_id, row.path): row.title for row in db.session.execute(statement)} if files else {}


def existing_files(index: ContentIndex | None, paths: Collection[str]) -> set[str]:
    """Return those of some paths that are files of the branch."""
    return set(blob_shas(index, paths))


def blob_shas(index: ContentIndex | None, paths: Collection[str]) -> dict[str, str]:
    """Return the shas of the blobs of those of some paths that are files of the branch."""
    if index is None or not paths:
        return {}
    statement = sa.select(ContentFile.path, ContentFile.sha).where(*_in(index), ContentFile.path.in_(paths))
    return dict(iter(db.session.execute(statement)))


def has_blob(index: ContentIndex | None, sha: str) -> bool:
    """Return whether a file of the branch has a blob."""
    if index is None:
        return False
    statement = sa.select(ContentFile.sha).where(*_in(index), ContentFile.sha == sha).limit(1)
    return db.session.scalar(statement) is not None


def names_in_folder(index: ContentIndex | None, folder: str) -> list[str]:
    """Return the names of the files of a folder of the branch."""
    if index is None:
        return []
    start = f"{folder}/" if folder else ""
    paths = db.session.scalars(sa.select(ContentFile.path).where(*_in(index), _folder_of_file == start))
    return [path[len(start) :] for path in paths]


def pages_with(index: ContentIndex | None, paths: Collection[str], generator: str | None) -> dict[str, str]:
    """Return the page whose folder contains a file, for those of some files that belong to such a page."""
    folders = {folder for path in paths for folder in folders_above(path)}
    if index is None or not folders:
        return {}
    # The folder of a page that has its name contains few files. Its parents can contain many pages.
    own = {f"{folder}/{folder.rpartition('/')[2]}.md" for folder in folders} if generator == ELEVENTY else set[str]()
    pages = {path.rpartition("/")[0]: path for path in existing_files(index, own) if folder_of_index(path, generator)}
    statement = sa.select(ContentFile.path).where(*_in(index), ContentFile.path.like("%/index.%"))
    for part in inserts.batches(sorted(f"{folder}/" for folder in folders), BLOBS_PER_STATEMENT):
        for path in db.session.scalars(
            statement.where(_folder_of_file.in_(part)).order_by(sa.func.length(ContentFile.path).desc())
        ):
            folder = folder_of_index(path)
            if folder is not None:
                pages[folder] = path
    nearest = {path: next((pages[f] for f in folders_above(path) if f in pages), None) for path in paths}
    return {path: page for path, page in nearest.items() if page is not None and page != path}


def images_of_folders(
    index: ContentIndex | None, pages: Collection[str], generator: str | None = None
) -> dict[str, str]:
    """Return an image in the folder of those of some pages that are folders: the featured one, else the first."""
    own = {page: folder_of_index(page, generator) for page in pages}
    folders = {page: f"{folder}/" for page, folder in own.items() if folder is not None}
    if index is None or not folders:
        return {}
    statement = sa.select(ContentFile.path).where(*_in(index), _folder_of_file.in_(set(folders.values())))
    paths = db.session.scalars(statement.where(sa.text(IS_IMAGE)).limit(MAX_IMAGES))
    images = dict[str, str]()
    for path in sorted(paths, key=lambda path: (not _FEATURED.search(path.rpartition("/")[2]), path)):
        images.setdefault(f"{path.rpartition('/')[0]}/", path)
    return {page: images[folder] for page, folder in folders.items() if folder in images}


def folder_counts(index: ContentIndex, *, only_images: bool = False) -> Sequence[tuple[str, int]]:
    """Return the folders of a branch with their last slash and the number of files in each, not below it."""
    statement = sa.select(_folder_of_file, sa.func.count()).where(*_in(index)).group_by(_folder_of_file)
    if only_images:
        statement = statement.where(_IS_BLOB, sa.text(IS_IMAGE))
    return [(folder, files) for folder, files in db.session.execute(statement)]


def file_counts(index: ContentIndex, generator: str | None) -> list[FolderCount]:
    """Return the numbers of files of a branch by folder, ending, and the text before the ending (`de` of `a.de.md`)."""
    counts, index_pages = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for part in db.session.scalars(sa.select(ContentFile.path).where(*_in(index))).partitions(PATHS_PER_STEP):
        time.sleep(0)  # yields to other requests
        for path in part:
            folder, _, name = path.rpartition("/")
            stem, _, ending = name.rpartition(".")
            mark = stem.rpartition(".")[2] if "." in stem else ""
            key = (folder, mark if len(mark) <= MAX_LANGUAGE_CODE else "", ending.lower() if stem else "")
            counts[key] += 1
            is_own = generator == ELEVENTY and name.startswith(f"{folder.rpartition('/')[2]}.")
            index_pages[key] += is_own or name.startswith("index.")
    return [FolderCount(*key, files, index_pages[key]) for key, files in counts.items()]


def data_files(index: ContentIndex, folders: Sequence[str]) -> list[str]:
    """Return the data files of some folders by path, at most 1,000."""
    paths, name = list[str](), sa.func.lower(ContentFile.path)
    is_data = sa.or_(*(name.endswith(f".{ending}") for ending in DATA_ENDINGS))
    for part in inserts.batches([f"{folder}/" for folder in folders], BLOBS_PER_STATEMENT):
        statement = sa.select(ContentFile.path).where(*_in(index), _folder_of_file.in_(part), is_data)
        paths += db.session.scalars(statement.order_by(ContentFile.path).limit(MAX_DATA_FILES))
    return sorted(paths)[:MAX_DATA_FILES]


def title_key(path: str, title: str | None) -> str:
    """Return the text by which a file is sorted: its title, else its name, case ignored."""
    return (title or path.rpartition("/")[2]).casefold()


def date_of(values: dict[str, object]) -> str | None:
    """Return the date of front matter as it is written."""
    date = values.get("date")
    return str(date) if isinstance(date, str | int) else None


def _in(index: ContentIndex) -> list[sa.ColumnElement[bool]]:
    return [ContentFile.index_id == index.id, ContentFile.generation == index.generation, _IS_BLOB]


def _prefix(view: FolderView) -> str:
    return f"{view.folder}/" if view.folder else ""


def _folders(index: ContentIndex, view: FolderView, offset: int) -> list[ListedFolder]:
    """Return a page of subfolders and one more. The index of folders contains all that is counted."""
    prefix, folder = _prefix(view), _folder_of_file
    conditions = [*_in(index), *_below(folder, view), folder != prefix, *_shown(view)]
    counts = sa.select(folder.label("folder"), sa.func.count().label("files")).where(*conditions).group_by(folder)
    counted = counts.subquery().c
    below = sa.func.substr(counted.folder, literal_number(len(prefix) + 1))
    name = sa.func.substr(below, literal_number(1), _position(below, "/") - literal_number(1)).label("name")
    statement = sa.select(name, sa.func.sum(counted.files)).group_by(name).order_by(name)
    if not view.term:
        statement = statement.limit(PER_PAGE + 1).offset(offset)
    folders = [ListedFolder(f"{prefix}{name}", int(files)) for name, files in db.session.execute(statement)]
    if view.term:
        term = view.term.casefold()
        folders = [folder for folder in folders if term in folder.name.casefold()][offset : offset + PER_PAGE + 1]
    return folders


def _count(index: ContentIndex, view: FolderView) -> int:
    filters = _filters(view)
    if view.is_recursive and not view.folder and not filters and not _hidden(view):
        return index.files
    # The index of folders contains all that is counted.
    within = [*_below(_folder_of_file, view), *_shown(view)] if view.is_recursive else _within(view)
    statement = sa.select(sa.func.count()).select_from(ContentFile).where(*_in(index), *within, *filters)
    return db.session.scalar(statement) or 0


def _rows(project_id: str, index: ContentIndex, view: FolderView, offset: int) -> Sequence[Row]:
    if view.order is ListOrder.CHANGED:
        return _newest_rows(project_id, index, view, offset)
    path = ContentFile.path
    orders: dict[ListOrder, list[sa.SQLColumnExpression[str]]] = {
        ListOrder.NAME: [path],
        ListOrder.TITLE: [_title(), path],
        ListOrder.DATE: [sa.func.coalesce(ContentFile.date_key, "").desc(), path.desc()],
    }
    statement = _select(index, view).where(*_filters(view)).order_by(*orders[view.order])
    return db.session.execute(statement.limit(literal_number(PER_PAGE)).offset(offset)).all()


def _newest_rows(project_id: str, index: ContentIndex, view: FolderView, offset: int) -> Sequence[Row]:
    """Return the rows of a page in the order of their last changes.

    The changes of a few files are in the log only. Their rows are merged into those that the database has sorted.
    """
    times, file = logged_times(project_id), ContentFile
    commit_date = sa.func.coalesce(file.last_commit["date"].as_string(), "").label("date")
    statement = _select(index, view).add_columns(commit_date).where(*_filters(view))
    logged = list[tuple[tuple[str, str], Row]]()
    for part in inserts.batches(sorted(times), BLOBS_PER_STATEMENT):
        rows = db.session.execute(statement.where(file.last_commit.is_(sa.null()), file.path.in_(part)))
        logged += [((times[row.path], row.path), row) for row in rows]
    if logged:
        statement = statement.where(file.path.not_in([row.path for _, row in logged]))
    # At most all logged files precede the page, so that this row and those before it are not on the page.
    start = max(0, offset - len(logged))
    ordered = statement.order_by(commit_date.desc(), file.path.desc()).limit(offset - start + PER_PAGE).offset(start)
    dated = [((row.date, row.path), row) for row in db.session.execute(ordered)]
    merged = [row for _, row in sorted([*dated, *logged], key=itemgetter(0), reverse=True)]
    return merged[offset - start : offset - start + PER_PAGE]


def _select(index: ContentIndex, view: FolderView) -> sa.Select[*tuple[object, ...]]:
    file = ContentFile
    columns = (file.path, file.size, file.sha, file.last_commit, file.is_draft)
    return sa.select(*columns).where(*_in(index), *_within(view))


def _rows_at(index: ContentIndex, view: FolderView, paths: Collection[str]) -> list[Row]:
    """Return the rows of some paths of a folder by path."""
    rows = list[Row]()
    for part in inserts.batches(sorted(paths), BLOBS_PER_STATEMENT):
        statement = _select(index, view).where(ContentFile.path.in_(part)).order_by(ContentFile.path)
        rows += db.session.execute(statement).all()
    return rows


def _within(view: FolderView) -> Conditions:
    """Return the conditions that files are in the folder, or below it."""
    if view.is_recursive:
        return [*_below(ContentFile.path, view), *_shown(view)]
    return [_folder_of_file == _prefix(view)]


def _shown(view: FolderView) -> Conditions:
    hidden = _hidden(view)
    return [~sa.or_(*hidden)] if hidden else []


def _hidden(view: FolderView) -> Conditions:
    """Return the conditions of which hidden folders fulfil one. Without a condition no folder is hidden."""
    if view.hidden is None or view.hidden.contains(view.folder):
        return []
    path = sa.literal("/") + ContentFile.path
    # The folder is an expensive expression: it is compared only where a name in the path starts with a point.
    is_dot_folder = sa.and_(contains(path, "/."), contains(sa.literal("/") + _folder_of_file, "/."))
    paths = [_below(ContentFile.path, FolderView(folder)) for folder in view.hidden.paths]
    names = [contains(path, f"/{name}/") for name in view.hidden.names]
    return [is_dot_folder, *names, *(sa.and_(*terms) for terms in paths)]


def _has_hidden(index: ContentIndex, view: FolderView) -> bool:
    hidden = _hidden(view)
    if not hidden:
        return False
    folders = sa.select(ContentFile.path).where(*_in(index), *_below(_folder_of_file, view), sa.or_(*hidden))
    return db.session.scalar(folders.limit(literal_number(1))) is not None


def _below(path: sa.SQLColumnExpression[str], view: FolderView) -> Conditions:
    """Return the conditions that paths, or folders with their last slash, are below the folder of a view."""
    # "0" follows "/" in ASCII, so this range contains all paths below the folder.
    return [path >= _prefix(view), path < f"{view.folder}0"] if view.folder else []


def _filters(view: FolderView) -> Conditions:
    filters: list[sa.ColumnElement[bool]] = []
    if view.term:
        name = name_contains(view.term, folder=None if view.is_recursive else _prefix(view))
        filters.append(sa.or_(name, contains(_title(), view.term.casefold())))
    if view.is_draft is not None:
        marked = sa.func.coalesce(ContentFile.is_draft, sa.false())
        filters.append(marked if view.is_draft else ~marked)
    return filters


def _title() -> sa.ColumnElement[str]:
    return sa.func.coalesce(ContentFile.title_key, sa.func.lower(name_of(ContentFile.path)))


def _position(text: object, part: str) -> object:
    """Return the position of a part in a text, from 1."""
    name = "strpos" if db.engine.dialect.name == "postgresql" else "instr"
    return getattr(sa.func, name)(text, part, type_=sa.Integer())


def _files(project_id: str, rows: Sequence[Row]) -> list[ListedFile]:
    texts = _texts(project_id, {row.sha for row in rows})
    unknown = [row.path for row in rows if row.last_commit is None]
    changes = logged_changes(project_id, unknown) if unknown else {}
    return [_file(row, texts.get(row.sha), changes.get(row.path)) for row in rows]


def _texts(project_id: str, shas: Iterable[str]) -> dict[str, Row]:
    """Return title and front matter of the indexed texts by blob."""
    text, rows = ContentText, dict[str, Row]()
    for part in inserts.batches(sorted(shas), BLOBS_PER_STATEMENT):
        statement = sa.select(text.sha, text.title, text.front_matter)
        statement = statement.where(text.project_id == project_id, text.sha.in_(part))
        rows |= {row.sha: row for row in db.session.execute(statement)}
    return rows


def _newest_entries(project_id: str) -> sa.Subquery:
    """Return the newest entries of the project log.

    The index does not know the commit of a file that was just saved.
    """
    entry = ProjectLogEntry
    columns = (entry.id, entry.file, entry.user_name, entry.created_at)
    statement = sa.select(*columns).where(entry.project_id == project_id).order_by(entry.id.desc())
    return statement.limit(literal_number(LOG_ENTRIES)).subquery()


def logged_changes(project_id: str, paths: Collection[str]) -> dict[str, dict[str, str | None]]:
    """Return author and time of the last change of each of some files in the newest entries of the project log."""
    entry = _newest_entries(project_id).c
    statement = sa.select(entry.file, entry.user_name, entry.created_at).where(entry.file.in_(paths))
    rows = db.session.execute(statement.order_by(entry.id))
    return {row.file: {"author": row.user_name, "date": clock.iso(row.created_at)} for row in rows}


def logged_times(project_id: str) -> dict[str, str]:
    """Return the time of the last change of each file in the newest entries of the project log."""
    entry = _newest_entries(project_id).c
    rows = db.session.execute(sa.select(entry.file, sa.func.max(entry.created_at)).group_by(entry.file))
    return {file: clock.iso(created_at) for file, created_at in rows}


def _file(row: Row, text: Row | None, logged: dict[str, str | None] | None) -> ListedFile:
    values, commit = (text.front_matter if text is not None else None) or {}, row.last_commit or logged or {}
    return ListedFile(
        row.path,
        row.size,
        row.sha,
        text.title if text is not None else None,
        date_of(values),
        is_draft(values) if row.is_draft is None else row.is_draft,
        commit.get("author"),
        commit.get("date"),
    )
